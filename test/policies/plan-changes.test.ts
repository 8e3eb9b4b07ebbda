import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AdmittedServer, LiveServer, Step } from '../../src/domain/plan.ts';
import type { Verdict } from '../../src/domain/server-state.ts';
import type { DesiredServer } from '../../src/domain/settings.ts';
import { changesNothing, planChanges } from '../../src/policies/plan-changes.ts';
import { desiredServer } from './desired-server.ts';

const digestOf = (desired: DesiredServer) => `${desired.description}`;

function wanted(
  name: string,
  verdict: Verdict = 'admitted',
  generation = 'g1',
  description = 'd1',
) {
  return { desired: desiredServer({ name, generation, description }), verdict };
}

function living(verdict: Verdict = 'admitted', change: Partial<LiveServer> = {}): LiveServer {
  return {
    actorId: 'db.0',
    generation: 'g1',
    settingsDigest: 'd1',
    verdict,
    leaving: false,
    ...change,
  };
}

function planOf(
  desired: readonly AdmittedServer[],
  live: ReadonlyMap<string, LiveServer>,
  serving: readonly string[] = [],
): readonly Step[] {
  return planChanges(desired, { live, serving: new Set(serving), digestOf });
}

function planOne(
  desired: AdmittedServer | undefined,
  live: LiveServer | undefined,
  serving?: readonly string[],
  dueWhy?: string,
) {
  const dueLive =
    dueWhy !== undefined && live?.beside !== undefined
      ? { ...live, beside: { ...live.beside, due: dueWhy } }
      : live;
  const map = new Map(dueLive === undefined ? [] : [['db', dueLive]]);
  const steps = planOf(desired === undefined ? [] : [desired], map, serving);
  return steps.map(({ step, why }) => `${step}: ${why}`);
}

const verdicts = fc.constantFrom<Verdict>('admitted', 'disabled', 'pendingApproval', 'excluded');
const few = (letter: string) => fc.constantFrom(`${letter}1`, `${letter}2`);
const names = fc.constantFrom('a', 'b', 'c', 'd', 'e');

const anyDesired = fc.uniqueArray(
  fc.tuple(names, verdicts, few('g'), few('d')).map((parts) => wanted(...parts)),
  { selector: (server) => server.desired.name },
);
const anyLive = fc
  .uniqueArray(
    fc
      .tuple(
        names,
        verdicts,
        few('g'),
        few('d'),
        fc.constantFrom<LiveServer['leaving']>(false, 'now'),
      )
      .map(([name, verdict, generation, settingsDigest, leaving]): [string, LiveServer] => [
        name,
        { actorId: `${name}.0`, generation, settingsDigest, verdict, leaving },
      ]),
    { selector: ([name]) => name },
  )
  .map((entries): ReadonlyMap<string, LiveServer> => new Map(entries));

describe('a plan', () => {
  it('names the settings key that requests a server without an entry', () => {
    const source = { key: 'mcp.dockerGateway', scope: 'config' } as const;
    const server = { desired: desiredServer({ source }), verdict: 'admitted' } as const;
    expect(planOne(server, undefined)).toEqual([
      'spawn: wanted by mcp.dockerGateway, not running yet',
    ]);
  });

  it('spawns a desired server that is not live, even if it may not connect', () => {
    expect(planOne(wanted('db', 'disabled'), undefined)).toEqual([
      'spawn: in the settings, not running yet, but disabled',
    ]);
  });

  it('retires a server that is no longer desired', () => {
    expect(planOne(undefined, living())).toEqual(['retire: no longer in the settings']);
  });

  it('keeps a leaving server, desired or not', () => {
    const leaving = living('admitted', { leaving: 'now' });
    expect(planOne(undefined, leaving)).toEqual(['keep: leaving']);
    expect(planOne(wanted('db', 'disabled', 'g2', 'd2'), leaving)).toEqual(['keep: leaving']);
  });

  it('replaces only a server whose connection settings differ', () => {
    expect(planOne(wanted('db', 'disabled', 'g2', 'd2'), living())).toEqual([
      'replace: connection settings changed',
    ]);
  });

  it('updates settings that apply in place', () => {
    expect(planOne(wanted('db', 'admitted', 'g1', 'd2'), living())).toEqual([
      'update: settings changed',
    ]);
  });

  it('states the reason for a block', () => {
    expect(planOne(wanted('db', 'excluded'), living())).toEqual(['block: excluded']);
  });

  it('updates a blocked server when its reason changes', () => {
    expect(planOne(wanted('db', 'rejected'), living('pendingApproval'))).toEqual([
      'block: rejected',
    ]);
  });

  it('admits a blocked server', () => {
    expect(planOne(wanted('db'), living('pendingApproval'))).toEqual(['admit: now admitted']);
  });

  it('blocks before it updates', () => {
    expect(planOne(wanted('db', 'excluded', 'g1', 'd2'), living())).toEqual([
      'block: excluded',
      'update: settings changed',
    ]);
  });

  it('updates before it admits', () => {
    expect(planOne(wanted('db', 'admitted', 'g1', 'd2'), living('excluded'))).toEqual([
      'update: settings changed',
      'admit: now admitted',
    ]);
  });

  it('keeps a server that matches its desired state', () => {
    expect(planOne(wanted('db'), living())).toEqual(['keep: unchanged']);
  });

  describe('for a seamless handover', () => {
    const seamless = (generation: string, verdict: Verdict = 'admitted', description = 'd1') => ({
      desired: desiredServer({ name: 'db', generation, description, handover: 'seamless' }),
      verdict,
    });
    const next = { ...living('admitted', { actorId: 'db.1', generation: 'g2' }) };
    const withNext = (change: Partial<LiveServer> = {}) =>
      living('admitted', { beside: { ...next, ...change } });
    const both = ['db.0', 'db.1'];
    const isReady = 'its successor is ready';

    it('starts a successor alongside a ready server', () => {
      expect(planOne(seamless('g2'), living(), ['db.0'])).toEqual([
        'handover: connection settings changed; its successor starts beside it',
      ]);
    });

    it.each([
      ['is not ready', seamless('g2'), []],
      ['may not run with its new settings', seamless('g2', 'pendingApproval'), ['db.0']],
      ['must leave first', wanted('db', 'admitted', 'g2'), ['db.0']],
    ])('replaces a server that %s', (_, desired, serving) => {
      expect(planOne(desired, living(), serving)).toEqual(['replace: connection settings changed']);
    });

    it('waits for the successor and applies in-place edits to it', () => {
      expect(planOne(seamless('g2'), withNext(), ['db.0'])).toEqual([
        'keep: its successor is not ready yet',
      ]);
      expect(planOne(seamless('g2', 'admitted', 'd2'), withNext(), ['db.0'])).toEqual([
        'update: settings changed',
      ]);
    });

    it('completes a due handover with the current settings', () => {
      expect(planOne(seamless('g2'), withNext(), both, isReady)).toEqual([`handover: ${isReady}`]);
      expect(planOne(seamless('g2', 'admitted', 'd2'), withNext(), both, isReady)).toEqual([
        'update: settings changed',
        `handover: ${isReady}`,
      ]);
    });

    it('follows the settings rather than a due handover', () => {
      expect(planOne(seamless('g3'), withNext(), both, isReady)).toEqual([
        'handover: connection settings changed; its successor makes way for another',
      ]);
      expect(planOne(seamless('g1'), withNext(), both, isReady)).toEqual([
        'handover: settings as before; its successor leaves',
      ]);
      expect(planOne(seamless('g2', 'rejected'), withNext(), both, isReady)).toEqual([
        'replace: rejected',
      ]);
    });

    it('stops the successor when the edit is reverted', () => {
      expect(planOne(seamless('g1'), withNext(), ['db.0'])).toEqual([
        'handover: settings as before; its successor leaves',
      ]);
      expect(planOne(seamless('g1', 'admitted', 'd2'), withNext(), ['db.0'])).toEqual([
        'update: settings changed',
        'handover: settings as before; its successor leaves',
      ]);
      expect(planOne(seamless('g1'), withNext({ leaving: 'now' }), ['db.0'])).toEqual([
        'keep: unchanged',
      ]);
    });

    it('replaces the successor after another edit', () => {
      expect(planOne(seamless('g3'), withNext(), ['db.0'])).toEqual([
        'handover: connection settings changed; its successor makes way for another',
      ]);
      for (const generation of ['g2', 'g3']) {
        expect(planOne(seamless(generation), withNext({ leaving: 'now' }), ['db.0'])).toEqual([
          'keep: its successor makes way for another',
        ]);
      }
      expect(planOne(seamless('g3'), withNext({ leaving: 'now' }), [])).toEqual([
        'replace: connection settings changed',
      ]);
      expect(planOne(wanted('db', 'admitted', 'g3'), withNext(), ['db.0'])).toEqual([
        'replace: connection settings changed',
      ]);
    });

    it('ends both servers when they are no longer admitted', () => {
      for (const generation of ['g1', 'g2', 'g3']) {
        expect(planOne(seamless(generation, 'rejected'), withNext(), ['db.0'])).toEqual([
          'replace: rejected',
        ]);
      }
      expect(planOne(undefined, withNext(), ['db.0'])).toEqual([
        'retire: no longer in the settings',
      ]);
    });

    it('starts the next successor after the predecessor has finished its calls', () => {
      const after = living('admitted', {
        beside: living('admitted', { actorId: 'db.1', generation: 'g0', leaving: 'afterCalls' }),
      });
      expect(planOne(seamless('g2'), after, both)).toEqual([
        'keep: its predecessor still finishes its calls',
      ]);
      expect(planOne(seamless('g1'), after, both)).toEqual(['keep: unchanged']);
      expect(planOne(wanted('db', 'admitted', 'g2'), after, both)).toEqual([
        'replace: connection settings changed',
      ]);
    });
  });

  it('lists leaving servers first, by name, and the rest in settings order', () => {
    const live = new Map([
      ['y', living()],
      ['c', living()],
      ['x', living('admitted', { leaving: 'now' })],
    ]);
    const steps = planOf([wanted('d'), wanted('c')], live);
    expect(steps.map(({ server, step }) => `${step} ${server}`)).toEqual([
      'keep x',
      'retire y',
      'spawn d',
      'keep c',
    ]);
  });

  it('is settled only if every step is a keep', () => {
    const keep: Step = { server: 'a', step: 'keep', why: 'unchanged' };
    expect(changesNothing([])).toBe(true);
    expect(changesNothing([keep, keep])).toBe(true);
    expect(changesNothing([keep, { ...keep, step: 'update' }])).toBe(false);
  });

  it('agrees with a naive implementation', () => {
    fc.assert(
      fc.property(anyDesired, anyLive, (desired, live) => {
        const steps = planOf(desired, live);
        expect(steps.map(({ server, step }) => `${step} ${server}`)).toEqual(
          naivePlan(desired, live),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it('is settled once it is applied', () => {
    fc.assert(
      fc.property(anyDesired, anyLive, (desired, live) => {
        const applied = applyPlan(planOf(desired, live), desired, live);
        expect(changesNothing(planOf(desired, applied))).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('reaches the desired state once all leaving servers are gone', () => {
    fc.assert(
      fc.property(anyDesired, anyLive, (desired, live) => {
        const first = applyPlan(planOf(desired, live), desired, live);
        const gone = new Map([...first].filter(([, server]) => !server.leaving));
        const last = applyPlan(planOf(desired, gone), desired, gone);
        const aim = desired.map((server): [string, LiveServer] => [
          server.desired.name,
          spawned(server),
        ]);
        expect(last).toEqual(new Map(aim));
      }),
      { numRuns: 1_000 },
    );
  });

  it('contains only a keep step for an unchanged server', () => {
    fc.assert(
      fc.property(anyDesired, anyLive, (desired, others) => {
        const unchanged = wanted('same');
        const live = new Map([...others, ['same', living()] as const]);
        const steps = planOf([unchanged, ...desired], live);
        expect(steps.filter(({ server }) => server === 'same')).toEqual([
          { server: 'same', step: 'keep', why: 'unchanged' },
        ]);
      }),
    );
  });

  it('ignores server start order', () => {
    fc.assert(
      fc.property(anyDesired, anyLive, (desired, live) => {
        const reversed = new Map([...live].reverse());
        expect(planOf(desired, reversed)).toEqual(planOf(desired, live));
      }),
    );
  });
});

/** A model of what the reconciler does with a plan, one step after the other. */
function applyPlan(
  steps: readonly Step[],
  desired: readonly AdmittedServer[],
  live: ReadonlyMap<string, LiveServer>,
): ReadonlyMap<string, LiveServer> {
  const next = new Map(live);
  for (const { server, step } of steps) {
    const aim = desired.find((candidate) => candidate.desired.name === server);
    const now = next.get(server);
    if (step === 'spawn' && aim !== undefined && now === undefined) {
      next.set(server, spawned(aim));
    } else if (step === 'keep') {
      // Nothing at all.
    } else if (now === undefined) {
      throw new Error(`${step} of ${server}, which is not live`);
    } else if (step === 'retire' || step === 'replace') {
      next.set(server, { ...now, leaving: 'now' });
    } else if (aim === undefined) {
      throw new Error(`${step} of ${server}, which is not desired`);
    } else if (step === 'update') {
      next.set(server, { ...now, settingsDigest: digestOf(aim.desired) });
    } else {
      next.set(server, { ...now, verdict: aim.verdict });
    }
  }
  return next;
}

function spawned({ desired, verdict }: AdmittedServer): LiveServer {
  const { name, generation } = desired;
  const settingsDigest = digestOf(desired);
  return { actorId: `${name}.0`, generation, settingsDigest, verdict, leaving: false };
}

/** The naive twin: a table of cases for every name there is, then an order. */
function naivePlan(
  desired: readonly AdmittedServer[],
  live: ReadonlyMap<string, LiveServer>,
): readonly string[] {
  const order = desired.map((server) => server.desired.name);
  const steps: { readonly server: string; readonly kinds: readonly string[] }[] = [];
  for (const server of new Set([...order, ...live.keys()])) {
    const aim = desired[order.indexOf(server)];
    const now = live.get(server);
    steps.push({ server, kinds: stepsOfCase[caseOf(aim, now)] ?? ['?'] });
  }
  const rank = (server: string) => order.indexOf(server);
  steps.sort((a, b) => rank(a.server) - rank(b.server) || (a.server < b.server ? -1 : 1));
  return steps.flatMap(({ server, kinds }) => kinds.map((kind) => `${kind} ${server}`));
}

function caseOf(aim: AdmittedServer | undefined, now: LiveServer | undefined): string {
  if (now === undefined) return 'desired';
  if (now.leaving) return 'leaving';
  if (aim === undefined) return 'unwanted';
  const { desired, verdict } = aim;
  if (now.generation !== desired.generation) return 'other generation';
  const direction = verdict === 'admitted' ? 'in' : 'out';
  const digest = now.settingsDigest === digestOf(desired) ? 'same' : 'digest';
  return `${digest} ${now.verdict === verdict ? 'same' : direction}`;
}

const stepsOfCase: Readonly<Record<string, readonly string[]>> = {
  desired: ['spawn'],
  leaving: ['keep'],
  unwanted: ['retire'],
  'other generation': ['replace'],
  'same same': ['keep'],
  'digest same': ['update'],
  'same in': ['admit'],
  'same out': ['block'],
  'digest in': ['update', 'admit'],
  'digest out': ['block', 'update'],
};
