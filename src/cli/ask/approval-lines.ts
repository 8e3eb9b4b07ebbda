/** Prints approval requests, with control characters spelled out. */

import { nameWord, quotedWord, spelledOut } from '../../domain/data/printable.ts';
import type { ApprovalReason, ApprovalRequest, ApprovalValue } from '../../domain/host/approval.ts';
import { decidesWhatRuns } from '../../policies/approvals/decides-what-runs.ts';
import { approvalValueLine } from '../../policies/approvals/values.ts';

const titleWidth = 12;

const why: Readonly<Record<ApprovalReason, string>> = {
  new: 'it was never approved',
  changed: 'it differs from what was approved',
  executableMoved: 'its command now runs a different program than the approved one',
  folderFiles: 'files of its folder that decide what it runs differ from the approved ones',
  revoked: 'its approval was revoked',
  toolsChanged: 'some of its definitions differ from the approved ones and are withheld',
};

type Fact = readonly [title: string, value: string | undefined];

/** Everything that the decision covers. Lines are never cut, however long. */
export function approvalLines(request: ApprovalRequest): string[] {
  const { because, executable, cwd, envFile, envFileNames = [] } = request;
  return [
    ...factLines([
      ['server', request.server],
      ['from', placeOf(request)],
      ['asked', because === undefined ? undefined : why[because]],
      ['runs', wordsOf(request)],
      ['program', executable],
      ['in', cwd],
      ['reads there', readsOf(request)],
      ['connects to', request.url],
      ['at host', request.host],
      ['logs in with', accountOf(request)],
      ...(request.values ?? []).map(approvalValueLine),
      ['and those of', envFile],
      ['which sets', envFileNames.map(nameWord).join(', ')],
      ...concerns(request),
      ['fingerprint', request.fingerprint],
    ]),
    ...toolLines(request),
  ];
}

/**
 * What to know before a decision, in few lines: what runs, in whole, the names of the values that it gets and
 * their sources, and every warning and every difference from an earlier approval.
 *
 * @param projectRoot - a server that runs there needs no line for its folder
 */
export function shortApprovalLines(request: ApprovalRequest, projectRoot: string): string[] {
  const { because, cwd, envFile, values = [] } = request;
  const names = [
    ...values.filter((value) => !isDecisive(value)).map(valueName),
    ...(envFile === undefined ? [] : [`all variables in ${envFile}`]),
  ];
  const reason = because === undefined ? '' : `; ${why[because]}`;
  return [
    ...factLines([
      ['server', request.server],
      ['from', `${placeOf(request)}${reason}`],
      ['runs', wordsOf(request)],
      ['in', cwd === projectRoot ? undefined : cwd],
      ['reads there', readsOf(request)],
      ['connects to', request.url],
      ['at host', request.host],
      ['logs in with', accountOf(request)],
      ...values.filter(isDecisive).map(approvalValueLine),
      ['gets', names.join(', ')],
      ...concerns(request),
    ]),
    ...toolLines(request),
  ];
}

/** Shown whatever else is left out. */
function concerns({ warnings = [], changes = [] }: ApprovalRequest): readonly Fact[] {
  return [
    ...changes.map(({ field, before, now }): Fact => ['changed', changed(field, before, now)]),
    ...warnings.map((warning): Fact => ['warning', warning]),
  ];
}

function factLines(facts: readonly Fact[]): string[] {
  return facts.flatMap(([title, value]) =>
    value === undefined || value === '' ? [] : [`${title.padEnd(titleWidth)} ${spelledOut(value)}`],
  );
}

function placeOf({ source }: ApprovalRequest): string {
  const line = source.line === undefined ? '' : `:${source.line}`;
  return `${source.file ?? source.scope}${line}`;
}

/** Files that decide what runs. */
function readsOf({ folderFiles = [] }: ApprovalRequest): string {
  return folderFiles.map(nameWord).join(', ');
}

function wordsOf({ command, args = [] }: ApprovalRequest): string {
  const words = command === undefined ? [] : [command, ...args];
  return words.map(quotedWord).join(' ');
}

/** Returns whether a value decides what runs, which client logs in, or where tokens and secrets are sent. */
function isDecisive({ field }: ApprovalValue): boolean {
  if (field.startsWith('env.')) return decidesWhatRuns(field.slice('env.'.length));
  return /^oauth\.(?:clientId|\w*Ur[li]|(?:identity\.)?issuer)$/u.test(field);
}

/** The account whose login the server may use, also one from before the approval. */
function accountOf({ account }: ApprovalRequest): string | undefined {
  if (account === undefined) return undefined;
  return account === null ? 'your only account there, if you have one' : `your account ${account}`;
}

/** A value's name, and where its text comes from if not from the settings. */
function valueName({ field, from = [] }: ApprovalValue): string {
  const name = nameWord(field.replace(/^(?:env|headers)\./u, ''));
  return from.length === 0
    ? name
    : `${name} from ${from.map(({ reference }) => reference).join(' and ')}`;
}

function changed(field: string, before: string | undefined, now: string | undefined): string {
  if (before === undefined)
    return `${field} is new${now === '' ? '' : `: ${quotedWord(now ?? '')}`}`;
  if (now === undefined) return `${field} is gone${before === '' ? '' : `: ${quotedWord(before)}`}`;
  // Both look the same because secrets are not shown.
  if (before === now) return `${field} has another value`;
  return `${field}: ${quotedWord(before)} became ${quotedWord(now)}`;
}

function toolLines({ toolChanges = [] }: ApprovalRequest): string[] {
  return toolChanges.flatMap(({ kind = 'tool', tool, diff }) => [
    `${kind.padEnd(titleWidth)} ${tool === '' ? 'for the model' : quotedWord(tool)}`,
    ...diff.map((line) => `  ${spelledOut(line)}`),
  ]);
}
