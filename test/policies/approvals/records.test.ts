import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  ApprovalDecision,
  ApprovalRecord,
  Decision,
} from '../../../src/domain/host/approval.ts';
import {
  byServer,
  decisionsOf,
  lastAgreed,
  recordOf,
  recordsIn,
  withDecision,
  withEntry,
  withoutSuperseded,
} from '../../../src/policies/approvals/records.ts';

function record(server: string, fingerprint: string, decision: Decision): ApprovalRecord {
  return { server, fingerprint, decision, decidedAt: 0, facts: [], pins: [] };
}

const anyRecord = fc.record({
  server: fc.constantFrom('a', 'b', '__proto__'),
  fingerprint: fc.constantFrom('f1', 'f2'),
  decision: fc.constantFrom<Decision>('granted', 'rejected', 'revoked'),
});

describe('approval records', () => {
  it('hold the last decision for each server and fingerprint', () => {
    fc.assert(
      fc.property(fc.array(anyRecord), (made) => {
        const entries = made.map((one) => record(one.server, one.fingerprint, one.decision));
        const records = entries.reduce(
          (before, one) => withEntry(before, { kind: 'decision', record: one }),
          byServer<ApprovalRecord>([]),
        );
        for (const subject of made) {
          const last = entries.findLast(
            ({ server, fingerprint }) =>
              server === subject.server && fingerprint === subject.fingerprint,
          );
          expect(recordOf(records, subject)).toBe(last);
        }
        const folded = made.reduce(withDecision, byServer<ApprovalDecision>([]));
        const decisions = [...byServer(decisionsOf(recordsIn(records)))];
        expect(new Map(folded)).toEqual(new Map(decisions));
      }),
    );
  });

  it("accept pins only for a server's granted version", () => {
    const before = byServer([record('a', 'f1', 'granted'), record('a', 'f2', 'revoked')]);
    const pins = (fingerprint: string, digest: string) => ({
      kind: 'pins' as const,
      server: 'a',
      fingerprint,
      pins: [{ tool: 'query', digest }],
    });
    const pinned = withEntry(withEntry(before, pins('f1', 'old')), pins('f1', 'new'));
    expect(pinned.get('a')?.[0]?.pins).toEqual([{ tool: 'query', digest: 'new' }]);
    expect(withEntry(before, pins('f2', 'x'))).toBe(before);
  });

  it('return the last grant for a name', () => {
    const records = byServer([
      record('a', 'f1', 'granted'),
      record('a', 'f2', 'rejected'),
      record('b', 'f3', 'granted'),
    ]);
    expect(lastAgreed(records, 'a')?.fingerprint).toBe('f1');
    expect(lastAgreed(records, 'c')).toBeUndefined();
  });
});

describe("a grant's last use", () => {
  const subject = { server: 'db', fingerprint: 'f' };
  const grant = { ...subject, decision: 'granted', decidedAt: 1, facts: [], pins: [] } as const;
  const use = { kind: 'use', ...subject, usedAt: 5 } as const;

  it('is recorded only on the grant', () => {
    expect(recordsIn(withEntry(byServer([grant]), use))).toEqual([{ ...grant, usedAt: 5 }]);
    const others = byServer<ApprovalRecord>([
      { ...grant, decision: 'rejected' },
      { ...grant, fingerprint: 'other' },
    ]);
    expect(withEntry(others, use)).toBe(others);
  });

  it('is superseded, like pins, by the next decision about the server', () => {
    const decision = { kind: 'decision', record: grant } as const;
    const pins = { kind: 'pins', server: 'other', fingerprint: 'f', pins: [] } as const;
    expect(withoutSuperseded([use, pins, decision], decision)).toEqual([pins]);
    expect(withoutSuperseded([decision], use)).toEqual([decision]);
  });
});
