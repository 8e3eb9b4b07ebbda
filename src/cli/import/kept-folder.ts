/** Keeps what an entry of the project means when it is written to a file outside it. */

import path from 'node:path';
import { dependsOnFolder } from '../../settings/entry/folder-words.ts';
import type { ParsedServer } from '../../settings/entry/server-entry.ts';

type Entry = Readonly<Record<string, unknown>>;

/** An entry with the folder that it leaves, where that decides what it means. */
export function withFolder(
  entry: Entry,
  { spec, isPlaced }: ParsedServer,
  { from, to }: { readonly from: string; readonly to: string },
): Entry {
  if (spec?.type !== 'stdio' || from === to) return entry;
  const isLiteral = spec.values?.literal === true;
  const paths = (['command', 'cwd', 'envFile'] as const).flatMap((key) => {
    const text = entry[key];
    const isRelative = typeof text === 'string' && (key !== 'command' || /^\.\.?[\\/]/u.test(text));
    return isRelative && (isLiteral || !text.startsWith('${'))
      ? [[key, path.resolve(from, text)]]
      : [];
  });
  const isBound = isPlaced === false && dependsOnFolder(spec);
  return { ...entry, ...Object.fromEntries(paths), ...(isBound && { cwd: from }) };
}
