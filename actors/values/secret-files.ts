/** Reads the files with a client's key or a workload's token. Tokens are rotated, so no text is kept. */

import { printableLine } from '../../src/domain/data/printable.ts';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import {
  expandVariables,
  type FoundValues,
  type Variables,
} from '../../src/policies/expand-variables.ts';
import { readTextFile } from '../files/text-file.ts';
import { SettingError, unexpandable } from './setting-error.ts';

// A key of 16,384 bits in PEM has 13 KB; a token is shorter.
const maxBytes = 64 * 1024;
// Enough to recognize a path in a message.
const maxShownLength = 200;

/** @throws SettingError that names the file as written */
export async function readSecretFiles(
  spec: ServerSpec,
  env: Variables,
  found: FoundValues,
): Promise<ReadonlyMap<string, string>> {
  if (spec.type === 'stdio' || spec.type === 'memory' || !spec.oauth) return new Map();
  const { keyFile, assertionFile } = spec.oauth;
  const isLiteral = spec.values?.literal === true;
  const files = Object.entries({ 'oauth.keyFile': keyFile, 'oauth.assertionFile': assertionFile });
  const texts = files.map(async ([key, file]) => {
    if (file === undefined) return [];
    const place = isLiteral ? { value: file.path } : expandVariables(file.path, env, { found });
    if (!('value' in place)) throw unexpandable(place, key);
    const rule = { key, within: file.within, maxBytes, content: 'the value' };
    const reading = await readTextFile(place.value, rule);
    if ('text' in reading) return [[key, reading.text] as const];
    const shown = printableLine(file.path, maxShownLength);
    throw new SettingError(`The file "${shown}", which "${key}" names, ${reading.failure}.`);
  });
  return new Map((await Promise.all(texts)).flat());
}
