/** Prints an approval request in full, with control characters spelled out. */

import type { ApprovalReason, ApprovalRequest } from '../../domain/host/approval.ts';
import { approvalValueLine } from '../../policies/approvals/values.ts';
import { nameWord, quotedWord, spelledOut } from '../../policies/text/printable.ts';

const titleWidth = 12;

const why: Readonly<Record<ApprovalReason, string>> = {
  new: 'it was never approved',
  changed: 'it differs from what was approved',
  executableMoved: 'its command now runs a different program than the approved one',
  revoked: 'its approval was revoked',
  toolsChanged: 'some of its definitions differ from the approved ones and are held back',
};

/** Lines are never cut, however long. */
export function approvalLines(request: ApprovalRequest): string[] {
  const { source, because, command, args = [], executable, cwd, url } = request;
  const { envFile, envFileNames = [], warnings = [], changes = [] } = request;
  const line = source.line === undefined ? '' : `:${source.line}`;
  const words = command === undefined ? [] : [command, ...args];
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['server', request.server],
    ['from', `${source.file ?? source.scope}${line}`],
    ['asked', because === undefined ? undefined : why[because]],
    ['runs', words.map(quotedWord).join(' ')],
    ['program', executable],
    ['in', cwd],
    ['connects to', url],
    ['at host', request.host],
    ...(request.values ?? []).map(approvalValueLine),
    ['and those of', envFile],
    ['which sets', envFileNames.map(nameWord).join(', ')],
    ...changes.map(({ field, before, now }) => ['changed', changed(field, before, now)] as const),
    ...warnings.map((warning) => ['warning', warning] as const),
    ['fingerprint', request.fingerprint],
  ];
  return [
    ...facts.flatMap(([title, value]) =>
      value === undefined || value === ''
        ? []
        : [`${title.padEnd(titleWidth)} ${spelledOut(value)}`],
    ),
    ...toolLines(request),
  ];
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
