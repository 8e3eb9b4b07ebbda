/**
 * Codes, outcomes and failure kinds in words. Names, exit codes and which failures
 * last come from the domain; a code that nothing gives yet is found by looking.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallerCode, exitCodeOf, type Outcome } from '../../src/domain/caller-code.ts';
import {
  type FailureKind,
  failureKinds,
  isPermanent,
  isTransient,
} from '../../src/domain/failure.ts';
import { code, table } from './markdown.ts';

const meanings: Readonly<Record<CallerCode, string>> = {
  USAGE: 'The command line is wrong: an unknown flag, or two that exclude each other.',
  INVALID_CONFIG: 'The entry of this server in the settings cannot be used.',
  SERVER_UNKNOWN: 'No server has this name.',
  TOOL_UNKNOWN: 'No tool has this name, or a filter hides it.',
  SERVER_REMOVED: 'The server was there and has been taken out of the settings.',
  INVALID_ARGUMENTS: 'What was passed is not of the shape that is taken.',
  NOT_RUNNING:
    'The command needs a running troupe, and there is none for this project and state folder.',
  CONNECTING: 'The server was still starting when the deadline of the call came.',
  TIMEOUT_WAITING: 'A state that was waited for did not come in time.',
  BACKING_OFF:
    'The server waits for its next attempt, which comes after the deadline of the call; `retryAfterMs` says when.',
  UNAVAILABLE: 'The server could not be reached, or the request could not be written.',
  CIRCUIT_OPEN: 'The last calls to the server failed, so it rests for a moment.',
  SUSPENDED: 'The server came and went too often and waits for a person.',
  OVERLOADED: 'Too many calls to this server are at work and in line.',
  RATE_LIMITED: 'The server said that it gets too many requests.',
  NOT_ALLOWED: 'A list of allowed servers leaves this one out.',
  EXCLUDED: 'The settings exclude this server.',
  REJECTED: 'A person rejected this server.',
  UNTRUSTED: 'Files of this project folder do not count.',
  DISABLED: 'The server is switched off in the settings.',
  OVER_BUDGET: 'The budget for servers has no place for it.',
  PERMISSION_DENIED: 'Something on this machine belongs to somebody else.',
  STOPPED: 'A person stopped the server.',
  FAILED: 'The server gave up and is not tried again by itself.',
  CAPABILITY_MISSING: 'The server lacks, or demands, a capability without which it cannot be used.',
  VERSION_UNSUPPORTED: 'The server speaks no version of the protocol that we speak.',
  PENDING_APPROVAL: 'A project folder brought the server, and nobody has decided about it yet.',
  AUTH_REQUIRED: 'The server wants a log-in.',
  TOOL_CHANGED:
    'The definition of the tool is not the one that was approved, or not the one that the catalog of this call shows.',
  CRASHED: 'The process of the server ended while the call was under way.',
  STREAM_LOST: 'The connection broke while the call was under way.',
  TIMEOUT: 'The server did not answer within the deadline.',
  CANCELLED:
    'The caller gave the call up, or its server was stopped or its session closed meanwhile.',
  SERVER_ERROR: 'The server answered with a JSON-RPC error.',
  INPUT_REQUIRED: 'The server asks a question before it answers, and nobody was there to ask.',
  RESULT_TOO_LARGE: 'The answer is larger than is taken.',
  BAD_RESPONSE: 'The server answered with something that is no answer.',
  REDIRECT_BLOCKED: 'The server redirected to another origin, which is not followed.',
  ADDRESS_BLOCKED: 'The address of the server may not be connected to.',
  SHUTTING_DOWN: 'The troupe is stopping.',
  INTERNAL: 'A fault of ours; please report it.',
}; // prettier-ignore

const outcomes: Readonly<Record<Outcome, string>> = {
  not_executed:
    'It did not run: no byte of it left us, or the HTTP status of the answer is defined to mean that. It may be called again.',
  executed: 'It ran, and the server said so.',
  unknown: 'The request left us and nothing proves what became of it. Look before you call again.',
}; // prettier-ignore

const failures: Readonly<Record<FailureKind, string>> = {
  transport: 'The connection broke, or a request over it was not answered in time.',
  unavailable: 'The program or the address could not be reached, or the server answered 5xx.',
  crashed:
    'The process ended by a signal or with an exit code, other than a clean exit of a ready server.',
  cleanExit: 'The process of a ready server ended with exit code 0.',
  initTimeout: 'The handshake or the tool list was not done in time.',
  initNotification: 'The last message of the handshake could not be delivered.',
  capabilityMissing: 'A capability without which the server cannot be used is missing.',
  versionUnsupported: 'There is no common version of the protocol.',
  authRequired: 'The server answered 401 or 403, or a log-in failed.',
  sessionMissing: 'The server no longer knows the session; a new one is opened.',
  rateLimited: 'The server answered 429; its `Retry-After` is honoured within bounds.',
  protocol: 'The answer breaks the protocol.',
  notStarted:
    'Nothing was tried, and no attempt is counted: no start permit came, this process or machine ran out of file descriptors or processes, or the entry cannot be used.',
  unknown: 'None of the rules fits.',
}; // prettier-ignore

export async function codeTable(root: string): Promise<string> {
  const used = await usedCodes(root);
  const entries = Object.entries(exitCodeOf) as [CallerCode, number][];
  return table(
    ['exit', 'code', 'means'],
    entries.map(([name, exitCode]) => [
      String(exitCode),
      code(name),
      used.has(name) ? meanings[name] : `${meanings[name]} *Reserved: nothing gives it yet.*`,
    ]),
  );
}

export function outcomeTable(): string {
  return table(
    ['outcome', 'means'],
    Object.entries(outcomes).map(([name, meaning]) => [code(name), meaning]),
  );
}

export function failureKindTable(): string {
  return table(
    ['kind', 'lasts', 'means'],
    failureKinds.map((kind) => [code(kind), lastingOf(kind), failures[kind]]),
  );
}

function lastingOf(kind: FailureKind): string {
  if (isPermanent(kind)) return 'permanent';
  return isTransient(kind) ? 'transient' : 'neither';
}

/** The codes that the shipped source names anywhere but in their list. */
async function usedCodes(root: string): Promise<ReadonlySet<string>> {
  const sources = await Promise.all(
    ['src', 'actors', 'machines'].map((folder) => sourcesIn(join(root, folder))),
  );
  const words = sources.flat().flatMap((source) => source.match(/'[A-Z_]+'/g) ?? []);
  return new Set(words.map((word) => word.slice(1, -1)));
}

async function sourcesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(({ name }) => name.endsWith('.ts') && name !== 'caller-code.ts');
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}
