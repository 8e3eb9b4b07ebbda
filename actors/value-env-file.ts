/**
 * Reads a file of variables for a local server, in the format that is known as
 * dotenv. Nothing but a plain file is read, whatever stands in its place, and one
 * that must be in a folder is in it with all links followed.
 */

import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { parseEnv, TextDecoder } from 'node:util';

import type { ValueRules } from '../src/domain/server-spec.ts';
import { isWithin } from './way-within.ts';

export type EnvFileReading =
  | { readonly env: Readonly<Record<string, string>> }
  /** The end of a sentence about the file. */
  | { readonly failure: string };

// All the variables of a process together may take about two megabytes on Linux; a file of
// variables has a few lines, and this is room for some certificates.
const maxBytes = 256 * 1024;

/**
 * Variables that make programs load code, find other programs, or fetch packages
 * from elsewhere. What a folder brings may change after a person has approved of
 * the server, and the approval does not see into the file; so the file gives
 * values, and what runs is told by the entry. The list is a second line: a server
 * of the folder itself can always be changed along with the folder.
 */
const decidesWhatRuns = new RegExp(
  `^(?:${[
    'PATH|PATHEXT|COMSPEC|SHELL|ENV|BASH_ENV|IFS|HOME|XDG_.*|(?:LD|DYLD)_.*',
    'NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|REPL_.*)',
    '(?:NPM_CONFIG|YARN|PNPM|COREPACK|BUN|DENO)_.*',
    'PYTHON(?!(?:UNBUFFERED|IOENCODING|UTF8|DONTWRITEBYTECODE)$).*|(?:PIP|UV)_.*',
    'RUBY(?:OPT|LIB)|(?:GEM|BUNDLE)_.*|PERL5.*',
    'CLASSPATH|JAVA_HOME|(?:JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|DOTNET_.*',
    '(?:CARGO|RUSTC|GIT)_.*|GO(?:PROXY|FLAGS|SUMDB|PATH)|DOCKER_.*',
    '(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_.*',
  ].join('|')})$`,
  'iu',
);

/** Never rejects. */
export async function readEnvFile(
  rule: NonNullable<ValueRules['envFile']>,
): Promise<EnvFileReading> {
  const { path: file, within } = rule;
  try {
    const text = await (within === undefined ? readPlain(file) : readWithin(file, within));
    return typeof text === 'string' ? variablesOf(text, within) : text;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return { failure: 'does not exist; create it, or mend "envFile"' };
    return { failure: `cannot be read (${code}); let this user read it` };
  }
}

type TextReading = string | { readonly failure: string };

/** Follows links, but only to where the folder still is around the file. */
async function readWithin(file: string, folder: string): Promise<TextReading> {
  const place = await realpath(file);
  const root = await realpath(folder);
  if (place === root || !isWithin(place, root))
    return { failure: 'leads out of the project folder; put it into the folder' };
  const text = await readPlain(place, constants.O_NOFOLLOW ?? 0);
  // A folder on the way may have been exchanged for a link since.
  if ((await realpath(place)) !== place)
    return { failure: 'was exchanged while it was read; try again' };
  return text;
}

async function readPlain(file: string, flags = 0): Promise<TextReading> {
  let handle: FileHandle | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer that may never come.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags);
    if (!(await handle.stat()).isFile()) return { failure: 'is not a file' };
    return (await textOf(handle)) ?? { failure: unreadable };
  } finally {
    await handle?.close().catch(() => undefined);
  }
}

const unreadable = `is larger than ${maxBytes / 1024} KB or no text in UTF-8; put only variables into it`;

async function textOf(handle: FileHandle): Promise<string | undefined> {
  const bytes = Buffer.alloc(maxBytes + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  if (filled > maxBytes) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, filled));
  } catch {
    return undefined;
  }
}

function variablesOf(text: string, within: string | undefined): EnvFileReading {
  const env = { ...parseEnv(text) } as Record<string, string>;
  const foreign =
    within === undefined ? undefined : Object.keys(env).find((name) => decidesWhatRuns.test(name));
  if (foreign === undefined) return { env };
  return {
    failure: `sets ${foreign}, which decides what runs; write it into "env", where it is approved with the server`,
  };
}
