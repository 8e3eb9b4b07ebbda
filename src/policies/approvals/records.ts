/** Folds decisions into records. One server and fingerprint have one record; the latest decision counts. */

import type { ApprovalDecision, ApprovalRecord, ToolPin } from '../../domain/host/approval.ts';

/** A decision, or facts to keep with one. */
export type ApprovalEntry =
  | { readonly kind: 'decision'; readonly record: ApprovalRecord }
  /** Counts only as long as the server is granted as it was then. */
  | {
      readonly kind: 'pins';
      readonly server: string;
      readonly fingerprint: string;
      readonly pins: readonly ToolPin[];
    }
  /** A server was admitted by this grant. */
  | {
      readonly kind: 'use';
      readonly server: string;
      readonly fingerprint: string;
      readonly usedAt: number;
    };

type Subject = Pick<ApprovalRecord, 'server' | 'fingerprint'>;

/** Applies one entry; other records are unchanged. */
export function withEntry(
  records: readonly ApprovalRecord[],
  entry: ApprovalEntry,
): readonly ApprovalRecord[] {
  if (entry.kind === 'decision') {
    const { record } = entry;
    return [...records.filter((other) => !isAbout(other, record)), record];
  }
  return records.map((record) => {
    if (!isAbout(record, entry) || record.decision !== 'granted') return record;
    return entry.kind === 'use'
      ? { ...record, usedAt: entry.usedAt }
      : { ...record, pins: withPins(record.pins, entry.pins) };
  });
}

/** Drops entries that an added one supersedes: a decision replaces all entries about its subject. */
export function withoutSuperseded(
  entries: readonly ApprovalEntry[],
  added: ApprovalEntry,
): readonly ApprovalEntry[] {
  if (added.kind !== 'decision') return entries;
  return entries.filter(
    (entry) => !isAbout(entry.kind === 'decision' ? entry.record : entry, added.record),
  );
}

/** Returns the decisions that admission reads, without revoked ones. */
export function decisionsOf(records: readonly ApprovalRecord[]): readonly ApprovalDecision[] {
  return records.flatMap(({ server, fingerprint, decision }) =>
    decision === 'revoked' ? [] : [{ server, fingerprint, decision }],
  );
}

/** The decision that each command of the user makes. */
export const decisionBy = {
  'approval.grant': 'granted',
  'approval.reject': 'rejected',
  'approval.revoke': 'revoked',
} as const;

/** Adds or revokes a decision. */
export function withDecision(
  decisions: readonly ApprovalDecision[],
  { server, fingerprint, decision }: Subject & Pick<ApprovalRecord, 'decision'>,
): readonly ApprovalDecision[] {
  const others = decisions.filter((other) => !isAbout(other, { server, fingerprint }));
  return decision === 'revoked' ? others : [...others, { server, fingerprint, decision }];
}

/** Returns the decision about a server in its present form. */
export function recordOf(
  records: readonly ApprovalRecord[],
  subject: Subject,
): ApprovalRecord | undefined {
  let index = indexes.get(records);
  if (index === undefined) {
    index = new Map(records.map((record) => [keyOf(record), record]));
    indexes.set(records, index);
  }
  return index.get(keyOf(subject));
}

// Every pass looks up every gated server; a list of records is never changed in place.
const indexes = new WeakMap<readonly ApprovalRecord[], ReadonlyMap<string, ApprovalRecord>>();

function keyOf({ server, fingerprint }: Subject): string {
  return `${fingerprint}:${server}`;
}

/** Returns the servers whose records differ between two lists. */
export function serversThatDiffer(
  before: readonly ApprovalRecord[],
  now: readonly ApprovalRecord[],
): ReadonlySet<string> {
  const [earlier, present] = [new Set(before), new Set(now)];
  const added = now.filter((record) => !earlier.has(record));
  const gone = before.filter((record) => !present.has(record));
  return new Set([...added, ...gone].map(({ server }) => server));
}

/** Returns the user's last grant under this name, also if it was superseded. */
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
  const pinned = new Set(more.map((pin) => pinKey(pin)));
  return [...before.filter((pin) => !pinned.has(pinKey(pin))), ...more];
}

/** Returns a key for a pin's subject; the kind is included because a prompt may share a tool's name. */
export function pinKey({ kind, tool }: Pick<ToolPin, 'kind' | 'tool'>): string {
  return `${kind ?? 'tool'}:${tool}`;
}
