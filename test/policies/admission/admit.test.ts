import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApprovalDecision } from '../../../src/domain/host/approval.ts';
import type { Verdict } from '../../../src/domain/server-state.ts';
import type { DesiredServer, Problem, Settings } from '../../../src/domain/settings.ts';
import { admit, admitAll, type Gates } from '../../../src/policies/admission/admit.ts';
import { byServer } from '../../../src/policies/approvals/records.ts';
import { approvalFingerprint } from '../../../src/policies/fingerprint.ts';
import { desiredServer } from '../desired-server.ts';

const open: Gates = { trusted: true, excluded: [], hostAllowed: null, decisions: byServer([]) };
const problem: Problem = { file: 'a.json', message: 'Give a command.' };
const fromFolder = desiredServer({ gated: true, source: { key: 'db', scope: 'project' } });

function decided(
  decision: ApprovalDecision['decision'],
  about: DesiredServer = fromFolder,
): ApprovalDecision {
  return { server: about.name, fingerprint: approvalFingerprint(about), decision };
}

function settings(change: Partial<Settings> = {}): Settings {
  return {
    servers: [],
    excluded: [],
    slots: { local: 3, remote: 20 },
    startupGateMs: 250,
    problems: [],
    ...change,
  };
}

describe('admission', () => {
  it("admits the user's own servers without asking", () => {
    expect(admit(desiredServer(), open)).toBe('admitted');
  });

  it("asks about the user's own server once per set of files that decide what it runs", () => {
    const own = (digest: string) => desiredServer({ folderFiles: [{ path: '.npmrc', digest }] });
    expect(admit(own('a'), open)).toBe('pendingApproval');
    const gates = { ...open, decisions: byServer([decided('granted', own('a'))]) };
    expect(admit(own('a'), gates)).toBe('admitted');
    expect(admit(own('b'), gates)).toBe('pendingApproval');
    expect(admit(desiredServer(), gates)).toBe('admitted');
  });

  it('reports only the first of several reasons, in a fixed order', () => {
    let server: DesiredServer = { ...fromFolder, enabled: false, invalid: problem };
    let gates: Gates = { ...open, trusted: false, excluded: ['db'], allowed: [] };
    const verdicts: Verdict[] = [admit(server, gates)];
    const then = (next: DesiredServer, nextGates: Gates) => {
      [server, gates] = [next, nextGates];
      verdicts.push(admit(server, gates));
    };
    then({ ...server, enabled: true }, gates);
    then(server, { ...gates, trusted: true });
    then(server, { ...gates, excluded: [] });
    then(server, { ...gates, allowed: ['db'] });
    then(fromFolder, gates);
    then(server, { ...gates, decisions: byServer([decided('rejected')]) });
    then(server, { ...gates, decisions: byServer([decided('granted')]) });
    expect(verdicts).toEqual([
      'disabled',
      'untrusted',
      'excluded',
      'notAllowed',
      'invalidConfig',
      'pendingApproval',
      'rejected',
      'admitted',
    ]);
  });

  it('admits servers from elsewhere in an untrusted folder', () => {
    expect(admit(desiredServer(), { ...open, trusted: false })).toBe('admitted');
  });

  it("requires approval only for the folder's servers", () => {
    const gates: Gates = { ...open, decisions: byServer([decided('rejected', desiredServer())]) };
    expect(admit(desiredServer(), gates)).toBe('admitted');
  });

  it.each([
    ['the settings', { allowed: [] }],
    ['the host', { hostAllowed: [] }],
    ['the launch', { launchBound: [] }],
  ])('admits no server under an empty allow list from %s', (_, list) => {
    expect(admit(desiredServer(), { ...open, ...list })).toBe('notAllowed');
  });

  it('does not let the host or the settings widen the launch bound', () => {
    const gates: Gates = { ...open, allowed: ['db'], hostAllowed: ['db'], launchBound: ['api'] };
    expect(admit(desiredServer(), gates)).toBe('notAllowed');
  });

  it('applies a decision only to the same server, scope and generation', () => {
    const others = [
      { ...fromFolder, generation: 'g2' },
      { ...fromFolder, name: 'other' },
      { ...fromFolder, source: { key: 'db', scope: 'workspace' } as const },
    ];
    const decisions = others.map((other) => decided('granted', other));
    const renamed = { ...decided('granted'), server: 'other' };
    expect(admit(fromFolder, { ...open, decisions: byServer([...decisions, renamed]) })).toBe(
      'pendingApproval',
    );
  });

  it('applies the last of several decisions', () => {
    const [yes, no] = [decided('granted'), decided('rejected')];
    expect(admit(fromFolder, { ...open, decisions: byServer([yes, no]) })).toBe('rejected');
    expect(admit(fromFolder, { ...open, decisions: byServer([no, yes]) })).toBe('admitted');
  });

  it('handles names that exist on object prototypes', () => {
    const proto = desiredServer({ name: '__proto__' });
    expect(admit(proto, open)).toBe('admitted');
    expect(admit(proto, { ...open, excluded: ['__proto__'] })).toBe('excluded');
    expect(admit(desiredServer({ name: 'constructor' }), { ...open, allowed: ['db'] })).toBe(
      'notAllowed',
    );
  });
});

describe('admission of all servers', () => {
  it('keeps the settings order and isolates a bad entry from its neighbours', () => {
    const servers = [
      desiredServer({ name: 'z' }),
      desiredServer({ name: 'bad', invalid: problem }),
      desiredServer({ name: 'a' }),
    ];
    const verdicts = admitAll(settings({ servers }), open).map(
      ({ desired, verdict }) => `${desired.name} ${verdict}`,
    );
    expect(verdicts).toEqual(['z admitted', 'bad invalidConfig', 'a admitted']);
  });

  it('applies the lists from both the settings and the gates', () => {
    const servers = ['a', 'b', 'c', 'd'].map((name) => desiredServer({ name }));
    const gates: Gates = { ...open, allowed: ['a', 'b', 'c'], excluded: ['b'] };
    const admitted = admitAll(settings({ servers, allowed: ['a', 'b', 'd'], excluded: [] }), gates);
    expect(admitted.map(({ verdict }) => verdict)).toEqual([
      'admitted',
      'excluded',
      'notAllowed',
      'notAllowed',
    ]);
  });
});

const name = fc.constantFrom('a', 'b', 'c');
const names = fc.array(name, { maxLength: 3 });
const anyServer = fc
  .record({
    name,
    generation: fc.constantFrom('g1', 'g2'),
    enabled: fc.boolean(),
    gated: fc.boolean(),
    scope: fc.constantFrom('project', 'user'),
    broken: fc.boolean(),
  })
  .map(({ scope, broken, ...rest }) =>
    desiredServer({
      ...rest,
      source: { key: rest.name, scope },
      ...(broken ? { invalid: problem } : {}),
    }),
  );
const anyDecision = fc
  .tuple(anyServer, fc.constantFrom('granted', 'rejected'))
  .map(([about, decision]) => decided(decision, about));
const anyGates: fc.Arbitrary<Gates> = fc.record(
  {
    trusted: fc.boolean(),
    excluded: names,
    hostAllowed: fc.option(names),
    decisions: fc.array(anyDecision).map(byServer),
    allowed: names,
    launchBound: names,
  },
  { requiredKeys: ['trusted', 'excluded', 'hostAllowed', 'decisions'] },
);

describe('admission of any server', () => {
  it('agrees with a naive implementation', () => {
    fc.assert(
      fc.property(anyServer, anyGates, (server, gates) => {
        expect(admit(server, gates)).toBe(naiveVerdict(server, gates));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same for a server alone or among others', () => {
    fc.assert(
      fc.property(fc.array(anyServer), anyGates, (servers, gates) => {
        expect(admitAll(settings({ servers }), gates)).toEqual(
          servers.map((desired) => ({ desired, verdict: admit(desired, gates) })),
        );
      }),
    );
  });

  it('admits no additional server when a list narrows', () => {
    fc.assert(
      fc.property(anyServer, anyGates, names, names, (server, gates, fewer, more) => {
        fc.pre(admit(server, gates) !== 'admitted');
        const bound = (list: readonly string[] | null | undefined) =>
          list ? list.filter((each) => fewer.some((other) => other === each)) : fewer;
        const narrower: Gates = {
          ...gates,
          allowed: bound(gates.allowed),
          hostAllowed: bound(gates.hostAllowed),
          launchBound: bound(gates.launchBound),
          excluded: [...gates.excluded, ...more],
        };
        expect(admit(server, narrower)).not.toBe('admitted');
      }),
    );
  });
});

describe('the launch bound', () => {
  const all = ['a', 'b', 'c'] as const;
  const admittedUnder = (lists: Partial<Gates>): readonly string[] =>
    admitAll(settings({ servers: all.map((each) => desiredServer({ name: each })) }), {
      ...open,
      ...lists,
    }).flatMap(({ desired, verdict }) => (verdict === 'admitted' ? desired.name : []));
  const absentOr = fc.option(names, { nil: undefined });
  const given = (
    key: 'launchBound' | 'allowed',
    list: readonly string[] | undefined,
  ): Partial<Gates> => (list === undefined ? {} : { [key]: list });

  it("applies on its own, as do the settings' lists", () => {
    fc.assert(
      fc.property(names, (list) => {
        const expected = all.filter((each) => list.includes(each));
        expect(admittedUnder({ launchBound: list })).toEqual(expected);
        expect(admittedUnder({ allowed: list })).toEqual(expected);
      }),
    );
  });

  it('admits only servers that it and every other list contain, minus excluded ones', () => {
    fc.assert(
      fc.property(absentOr, absentOr, absentOr, names, (bound, allowed, host, excluded) => {
        const lists = [bound, allowed, host].filter((list) => list !== undefined);
        const expected = all.filter(
          (each) => lists.every((list) => list.includes(each)) && !excluded.includes(each),
        );
        const gates = { ...given('launchBound', bound), ...given('allowed', allowed), excluded };
        expect(admittedUnder({ ...gates, hostAllowed: host ?? null })).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not widened by later edits', () => {
    fc.assert(
      fc.property(names, fc.array(anyGates, { maxLength: 10 }), (bound, edits) => {
        for (const edit of edits) {
          const admitted = admittedUnder({ ...edit, launchBound: bound });
          expect(bound).toEqual(expect.arrayContaining([...admitted]));
        }
      }),
    );
  });
});

function naiveVerdict(server: DesiredServer, gates: Gates): Verdict {
  const listed = (list: readonly string[] | null | undefined) =>
    list === null || list === undefined || list.some((each) => each === server.name);
  let verdict: Verdict = 'admitted';
  if (server.gated) {
    verdict = 'pendingApproval';
    for (const made of [...gates.decisions.values()].flat()) {
      if (made.server !== server.name || made.fingerprint !== approvalFingerprint(server)) continue;
      verdict = made.decision === 'granted' ? 'admitted' : 'rejected';
    }
  }
  // From the last gate to the first, each one overruling those behind it.
  if (server.invalid) verdict = 'invalidConfig';
  if (!listed(gates.allowed)) verdict = 'notAllowed';
  if (!listed(gates.hostAllowed)) verdict = 'notAllowed';
  if (!listed(gates.launchBound)) verdict = 'notAllowed';
  if (gates.excluded.some((each) => each === server.name)) verdict = 'excluded';
  if (server.source.scope === 'project' && !gates.trusted) verdict = 'untrusted';
  if (!server.enabled) verdict = 'disabled';
  return verdict;
}
