/** Reads a local server's file of variables, in dotenv format. */

import { parseEnv } from 'node:util';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { StdioSpec, ValueRules } from '../../src/domain/server-spec.ts';
import {
  decidesWhatRuns,
  isPlainVariable,
} from '../../src/policies/approvals/decides-what-runs.ts';
import { expandVariables, type Variables } from '../../src/policies/expand-variables.ts';
import { homeFolder, realFolder } from '../files/file-system.ts';
import { isWithin } from '../files/path-within.ts';
import { readTextFile } from '../files/text-file.ts';

export type EnvFileReading =
  | { readonly env: Readonly<Record<string, string>> }
  /** Why there are no variables, phrased as the end of a sentence about the file. */
  | { readonly failure: string };

// On Linux, a process's variables may take about two megabytes in total; a variables file has a few
// lines, and this leaves room for some certificates.
const maxBytes = 256 * 1024;

/**
 * Reads the variables. Never rejects.
 *
 * @param projectRoot - absolute path; a file in this folder may set only values, unless it is the home folder
 */
export async function readEnvFile(
  rule: NonNullable<ValueRules['envFile']>,
  projectRoot: string,
  variables: Variables,
): Promise<EnvFileReading> {
  const { path: file, within } = rule;
  const reading = await readTextFile(file, {
    key: 'envFile',
    within,
    maxBytes,
    content: 'variables',
  });
  if ('failure' in reading) return reading;
  // The path may lead into the folder, or out of it, through links.
  const places = [file, realFolder(file)];
  // What is in the home folder is the user's own, even if that is the project.
  const home = homeFolder(variables);
  const isHome = home !== undefined && realFolder(home) === realFolder(projectRoot);
  const isInProject = !isHome && places.some((place) => isWithin(place, projectRoot));
  const isOfProject = within !== undefined || isInProject;
  return variablesOf(reading.text, isOfProject);
}

/**
 * Reads the names that an approval binds to, sorted. Resolves with undefined if the file does not
 * exist or currently cannot be used. Never rejects.
 */
export async function envFileNamesOf(
  { values }: StdioSpec,
  variables: Variables,
  projectRoot: string,
): Promise<readonly string[] | undefined> {
  const rule = values?.envFile;
  if (rule === undefined) return undefined;
  const place = expandVariables(rule.path, variables, { literal: values?.literal });
  if (!('value' in place)) return undefined;
  const reading = await readEnvFile({ ...rule, path: place.value }, projectRoot, variables);
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

/**
 * Parses the file's variables. A folder's file may change after its server is approved, so it may
 * set only values; a variable that decides what runs belongs in the entry. This is a second line of
 * defence: the names are approved with the server, the values are not.
 */
function variablesOf(text: string, isOfProject: boolean): EnvFileReading {
  const env = { ...parseEnv(text) } as Record<string, string>;
  const foreign = isOfProject ? Object.keys(env).find((name) => decidesWhatRuns(name)) : undefined;
  if (foreign === undefined) return { env };
  const shown = printableLine(foreign, 100);
  return {
    failure: isPlainVariable(foreign)
      ? `sets ${shown}, which decides what runs; write it into "env", where it is approved with the server`
      : `sets "${shown}", which is not a plain variable name; use only letters, digits and "_"`,
  };
}
