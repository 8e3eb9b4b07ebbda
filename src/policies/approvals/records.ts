/**
 * Folds decisions into records: one for each server and fingerprint, with the latest decision. The
 * cost of adding one does not grow with the number of servers.
 */

import type { ApprovalDecision, ApprovalRecord, ToolPin } from '../../domain/host/approval.ts';
import { GroupedMap } from '../grouped-map.ts';

/** A project's records by server, each server's oldest first. */
export type ApprovalRecords = GroupedMap<readonly ApprovalRecord[]>;

/** The decisions that admission reads, by server. */
export type ApprovalDecisions = GroupedMap<readonly ApprovalDecision[]>;

/** Groups records or decisions by server, in their order. */
export function byServer<Item extends { readonly server: string }>(
  items: readonly Item[],
): GroupedMap<readonly Item[]> {
  const lists = new Map<string, Item[]>();
  for (const item of items) {
    const list = lists.get(item.server);
    if (list === undefined) lists.set(item.server, [item]);
    else list.push(item);
  }
  return GroupedMap.of(lists);
}

/** Returns all records, grouped by server. */
export function recordsIn(records: ApprovalRecords): readonly ApprovalRecord[] {
  return [...records.values()].flat();
}

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

/** Applies one entry; other records are unchanged. Returns the same records if it changes nothing. */
export function withEntry(records: ApprovalRecords, entry: ApprovalEntry): ApprovalRecords {
  const { server, fingerprint } = subjectOf(entry);
  const before = records.get(server) ?? [];
  if (entry.kind === 'decision') {
    const others = before.filter((other) => other.fingerprint !== fingerprint);
    return records.with(server, [...others, entry.record]);
  }
  const index = before.findLastIndex((record) => record.fingerprint === fingerprint);
  const record = before[index];
  if (record?.decision !== 'granted') return records;
  const noted =
    entry.kind === 'use'
      ? { ...record, usedAt: entry.usedAt }
      : { ...record, pins: withPins(record.pins, entry.pins) };
  return records.with(server, before.with(index, noted));
}

/** Returns the server and fingerprint that an entry is about. */
export function subjectOf(entry: ApprovalEntry): Subject {
  return entry.kind === 'decision' ? entry.record : entry;
}

/** Drops entries that an added one supersedes: a decision replaces all entries about its subject. */
export function withoutSuperseded(
  entries: readonly ApprovalEntry[],
  added: ApprovalEntry,
): readonly ApprovalEntry[] {
  if (added.kind !== 'decision') return entries;
  return entries.filter((entry) => !isAbout(subjectOf(entry), added.record));
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
  decisions: ApprovalDecisions,
  { server, fingerprint, decision }: Subject & Pick<ApprovalRecord, 'decision'>,
): ApprovalDecisions {
  const before = decisions.get(server) ?? [];
  const others = before.filter((other) => other.fingerprint !== fingerprint);
  const more = decision === 'revoked' ? [] : [{ server, fingerprint, decision }];
  const list = [...others, ...more];
  return list.length === 0 ? decisions.without(server) : decisions.with(server, list);
}

/** Returns the decision about a server in its present form. */
export function recordOf(
  records: Pick<ApprovalRecords, 'get'>,
  { server, fingerprint }: Subject,
): ApprovalRecord | undefined {
  return records.get(server)?.findLast((record) => record.fingerprint === fingerprint);
}

/** Returns the user's last grant under this name, also if it was superseded. */
export function lastAgreed(
  records: Pick<ApprovalRecords, 'get'>,
  server: string,
): ApprovalRecord | undefined {
  return records.get(server)?.findLast(({ decision }) => decision === 'granted');
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
