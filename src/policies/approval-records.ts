/** Folds decisions into records. One server and fingerprint have one record; the latest decision counts. */

import type { ApprovalDecision, ApprovalRecord, ToolPin } from '../domain/approval.ts';

/** Something that was said and is to be kept. */
export type ApprovalEntry =
  | { readonly kind: 'decision'; readonly record: ApprovalRecord }
  /** Counts only as long as the server is granted as it was then. */
  | {
      readonly kind: 'pins';
      readonly server: string;
      readonly fingerprint: string;
      readonly pins: readonly ToolPin[];
    };

type Subject = Pick<ApprovalRecord, 'server' | 'fingerprint'>;

/** Adds one entry; what it says nothing about stays as it is. */
export function withEntry(
  records: readonly ApprovalRecord[],
  entry: ApprovalEntry,
): readonly ApprovalRecord[] {
  if (entry.kind === 'decision') {
    const { record } = entry;
    return [...records.filter((other) => !isAbout(other, record)), record];
  }
  return records.map((record) =>
    isAbout(record, entry) && record.decision === 'granted'
      ? { ...record, pins: withPins(record.pins, entry.pins) }
      : record,
  );
}

/** What admission reads: a revoked decision is none. */
export function decisionsOf(records: readonly ApprovalRecord[]): readonly ApprovalDecision[] {
  return records.flatMap(({ server, fingerprint, decision }) =>
    decision === 'revoked' ? [] : [{ server, fingerprint, decision }],
  );
}

/** What each order of a person makes of a server's approval. */
export const decisionBy = {
  'approval.grant': 'granted',
  'approval.reject': 'rejected',
  'approval.revoke': 'revoked',
} as const;

/** Adds a decision, or takes one back. */
export function withDecision(
  decisions: readonly ApprovalDecision[],
  { server, fingerprint, decision }: Subject & Pick<ApprovalRecord, 'decision'>,
): readonly ApprovalDecision[] {
  const others = decisions.filter((other) => !isAbout(other, { server, fingerprint }));
  return decision === 'revoked' ? others : [...others, { server, fingerprint, decision }];
}

/** What was decided about a server as it is now. */
export function recordOf(
  records: readonly ApprovalRecord[],
  subject: Subject,
): ApprovalRecord | undefined {
  return records.find((record) => isAbout(record, subject));
}

/** What a person last agreed to under this name, whatever became of it since. */
export function lastAgreed(
  records: readonly ApprovalRecord[],
  server: string,
): ApprovalRecord | undefined {
  return records.findLast((record) => record.server === server && record.decision === 'granted');
}

function isAbout(record: Subject, { server, fingerprint }: Subject): boolean {
  return record.server === server && record.fingerprint === fingerprint;
}

function withPins(before: readonly ToolPin[], more: readonly ToolPin[]): readonly ToolPin[] {
  const tools = new Set(more.map(({ tool }) => tool));
  return [...before.filter(({ tool }) => !tools.has(tool)), ...more];
}
