/**
 * Reads a local server's file of variables, in dotenv format. Only a plain file is read, and one
 * that is confined to a folder must be in it after all links are followed.
 */

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { parseEnv, TextDecoder } from 'node:util';

import type { StdioSpec, ValueRules } from '../../src/domain/server-spec.ts';
import {
  decidesWhatRuns,
  isPlainVariable,
} from '../../src/policies/approvals/decides-what-runs.ts';
import { expandVariables, type Variables } from '../../src/policies/expand-variables.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import { codeOf, readPlain } from '../files/file-system.ts';
import { isWithin, wayWithin } from '../files/way-within.ts';

export type EnvFileReading =
  | { readonly env: Readonly<Record<string, string>> }
  /** Why there are no variables, phrased as the end of a sentence about the file. */
  | { readonly failure: string };

// On Linux, a process's variables may take about two megabytes in total; a variables file has a few
// lines, and this leaves room for some certificates.
const maxBytes = 256 * 1024;

/** Reads the variables. Never rejects. */
export async function readEnvFile(
  rule: NonNullable<ValueRules['envFile']>,
): Promise<EnvFileReading> {
  const { path: file, within } = rule;
  try {
    const text = await (within === undefined ? readText(file, true) : readWithin(file, within));
    return typeof text === 'string' ? variablesOf(text, within) : text;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return { failure: 'does not exist; create it, or fix "envFile"' };
    return { failure: `cannot be read (${code}); let this user read it` };
  }
}

/**
 * Reads the names that an approval binds to, sorted. Resolves with undefined if the file does not
 * exist or currently cannot be used. Never rejects.
 */
export async function envFileNamesOf(
  { values }: StdioSpec,
  variables: Variables,
): Promise<readonly string[] | undefined> {
  const rule = values?.envFile;
  if (rule === undefined) return undefined;
  const place =
    values?.literal === true ? { value: rule.path } : expandVariables(rule.path, variables);
  if (!('value' in place)) return undefined;
  const reading = await readEnvFile({ ...rule, path: place.value });
  return 'env' in reading ? Object.keys(reading.env).sort() : undefined;
}

/**
 * Describes how a file's names differ from the approved ones; returns undefined if they are the
 * same.
 */
export function nameNotApproved(
  env: Readonly<Record<string, string>>,
  approved: readonly string[] | null,
): string | undefined {
  const known = new Set(approved);
  const added = Object.keys(env).find((name) => !known.delete(name));
  if (added !== undefined) return `sets ${printableLine(added, 100)}, which was not approved`;
  const [gone] = known;
  if (gone !== undefined) return `no longer sets ${printableLine(gone, 100)}, as it was approved`;
  return approved === null ? 'could not be read when the server was approved' : undefined;
}

type TextReading = string | { readonly failure: string };

/** Follows links, but only within the folder. */
async function readWithin(file: string, folder: string): Promise<TextReading> {
  const root = await realpath(folder);
  const below = isWithin(file, folder) ? path.join(root, path.relative(folder, file)) : file;
  const { place, isInside } = await wayWithin(below, root);
  if (!isInside || place === root)
    return { failure: 'leads out of the project folder; put it into the folder' };
  const text = await readText(place, false);
  // A folder on the path may have been replaced by a link since.
  if ((await realpath(place)) !== place)
    return { failure: 'was exchanged while it was read; try again' };
  return text;
}

async function readText(file: string, followsLink: boolean): Promise<TextReading> {
  const found = await readPlain(file, maxBytes, { followsLink });
  if (found === undefined) return { failure: 'is not a file' };
  try {
    if (found.bytes.length <= maxBytes)
      return new TextDecoder('utf-8', { fatal: true }).decode(found.bytes);
  } catch {
    // Not UTF-8.
  }
  return {
    failure: `is larger than ${maxBytes / 1024} KB or not UTF-8 text; put only variables into it`,
  };
}

/**
 * Parses the file's variables. A folder's file may change after its server is approved, so it may
 * set only values; a variable that decides what runs belongs in the entry. This is a second line of
 * defence: the names are approved with the server, the values are not.
 */
function variablesOf(text: string, within: string | undefined): EnvFileReading {
  const env = { ...parseEnv(text) } as Record<string, string>;
  const foreign =
    within === undefined ? undefined : Object.keys(env).find((name) => decidesWhatRuns(name));
  if (foreign === undefined) return { env };
  const shown = printableLine(foreign, 100);
  return {
    failure: isPlainVariable(foreign)
      ? `sets ${shown}, which decides what runs; write it into "env", where it is approved with the server`
      : `sets "${shown}", which is not a plain variable name; use only letters, digits and "_"`,
  };
}
