/** A pass reads only what may differ since the last one, and finds what reading all would find. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ended, reconciled } from '../../../machines/troupe/pass.ts';
import { type TroupeEvent, troupeMachine } from '../../../machines/troupe/troupe.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import type { DesiredServer, Settings } from '../../../src/domain/settings.ts';
import { withDecision } from '../../../src/policies/approvals/records.ts';
import { approvalFingerprint } from '../../../src/policies/fingerprint.ts';
import { entry, settingsOf } from '../story.ts';
import { type TroupeSnapshot, troupeInput } from './ways.ts';

const inert = createInertScope();
const begun = (): TroupeSnapshot => {
  inert.begin(undefined);
  return troupeMachine.getInitialSnapshot(inert.scope, troupeInput);
};
const next = (snapshot: TroupeSnapshot, event: TroupeEvent): TroupeSnapshot =>
  troupeMachine.transition(snapshot, event, inert.scope);
const loaded = (servers: readonly DesiredServer[], given?: Partial<Settings>): TroupeEvent => ({
  type: 'settings.loaded',
  settings: settingsOf(servers, given),
  at: 0,
});
const lookAgain: TroupeEvent = { type: 'troupe.lookAgain' };

/** What a pass does after an event, after reading all servers or only some. */
function passFor({ context }: TroupeSnapshot, event: TroupeEvent, reads: 'all' | 'some') {
  const settings = event.type === 'settings.loaded' ? event.settings : context.settings;
  const lastPass = reads === 'all' ? null : context.lastPass;
  return passAfter({ ...context, settings, lastPass });
}

function passAfter(context: TroupeSnapshot['context'], concerned?: readonly string[]) {
  const { facts, ...outcome } = reconciled(context, concerned);
  return { ...outcome, live: new Map(facts?.live), spawnCount: facts?.spawnCount };
}

/** The steps that change something, and what follows from them. */
function changesOf({ news, ...outcome }: ReturnType<typeof passAfter>) {
  const plan = news?.type === 'reconciled' ? news.plan : [];
  return { ...outcome, steps: plan.filter(({ step }) => step !== 'keep') };
}

const serverNames = ['a', 'b', 'c', 'd'] as const;

/** Equal entries are one object, as they are when settings are read again. */
const variants = new Map(
  serverNames.flatMap((name) =>
    ['1', '2', '3'].map((edition) => {
      const server = entry(name, {
        generation: `${name}-${edition === '3' ? '2' : edition}`,
        ...(edition === '1' ? {} : { handover: 'seamless' }),
        enabled: name !== 'd' || edition !== '2',
        source: { key: name, scope: name === 'c' ? 'project' : 'user' },
      });
      return [`${name}${edition}`, server] as const;
    }),
  ),
);

const anySettings = fc
  .record({
    names: fc.shuffledSubarray([...serverNames], { minLength: 2 }),
    isSorted: fc.boolean(),
    editions: fc.array(fc.constantFrom('1', '2', '3'), { minLength: 4, maxLength: 4 }),
    excluded: fc.constantFrom<readonly string[]>([], [], ['b']),
    isLimited: fc.constantFrom(false, false, false, true),
  })
  .map(({ names, isSorted, editions, excluded, isLimited }): TroupeEvent => {
    const inOrder = isSorted ? names.toSorted() : names;
    const servers = inOrder.map((name, at) => variants.get(`${name}${editions[at]}`));
    return loaded(
      servers.filter((server) => server !== undefined),
      { excluded, ...(isLimited ? { budget: { max: 2, mode: 'enforce' } } : {}) },
    );
  });
const anyServer = fc.constantFrom(...serverNames);
const anyActorId = fc.tuple(anyServer, fc.constantFrom('0', '1')).map((parts) => parts.join('.'));
const anyEvent: fc.Arbitrary<TroupeEvent> = fc.oneof(
  { weight: 4, arbitrary: anySettings },
  fc.boolean().map((trusted): TroupeEvent => ({ type: 'trust.changed', trusted })),
  fc.constantFrom<TroupeEvent>(lookAgain, { type: 'allow.changed', allowed: ['a', 'c'] }),
  anyServer.map((server): TroupeEvent => ({ type: 'server.stop', server })),
  anyActorId.map((actorId): TroupeEvent => ({ type: 'server.readied', actorId })),
  anyActorId.map((actorId): TroupeEvent => ({ type: 'server.halted', actorId })),
  {
    weight: 4,
    arbitrary: anyActorId.map(
      (actorId): TroupeEvent => ({ type: `xstate.done.actor.${actorId}`, actorId }),
    ),
  },
  anyServer.map((server): TroupeEvent => ({ type: 'handover.due', server, why: 'it is ready' })),
);

describe('a pass', () => {
  it('does what one that reads all servers does, after any history', () => {
    let narrowCount = 0;
    fc.assert(
      fc.property(fc.array(anyEvent, { minLength: 3, maxLength: 12 }), (events) => {
        let present = begun();
        for (const event of events) {
          present = next(present, event);
          if (present.context.lastPass !== null) narrowCount += 1;
          for (const later of [event, lookAgain]) {
            expect(passFor(present, later, 'some')).toEqual(passFor(present, later, 'all'));
          }
        }
      }),
      { numRuns: 200 },
    );
    expect(narrowCount).toBeGreaterThan(300);
  });

  it('does the same for the servers that may have changed as for all, after any history', () => {
    let changeCount = 0;
    const script = fc.array(anyEvent, { minLength: 2, maxLength: 10 });
    fc.assert(
      fc.property(script, fc.subarray([...serverNames], { minLength: 1 }), (events, names) => {
        let present = begun();
        for (const event of events) present = next(present, event);
        // Their actors end, and the user decides about them, before anyone looks.
        let { context } = present;
        for (const name of names) {
          const { actorId } = context.live.get(name) ?? {};
          if (actorId !== undefined) context = { ...context, ...ended(context, { actorId }).facts };
          const decisions = withDecision(context.decisions, {
            server: name,
            fingerprint: approvalFingerprint(variants.get(`${name}1`) as DesiredServer),
            decision: 'granted',
          });
          context = { ...context, decisions };
        }
        const whole = changesOf(passAfter({ ...context, lastPass: null }));
        expect(changesOf(passAfter(context, names))).toEqual(whole);
        changeCount += whole.steps.length;
      }),
      { numRuns: 300 },
    );
    expect(changeCount).toBeGreaterThan(100);
  });

  it('reads nothing but the edited server after an edit', () => {
    const many = Array.from({ length: 20 }, (_, at) => entry(`s${at}`));
    const before = next(begun(), loaded(many));
    let readCount = 0;
    const watched = many.map((server) =>
      Object.defineProperty({ ...server }, 'enabled', {
        get: () => {
          readCount += 1;
          return true;
        },
      }),
    );
    const primed = next(before, loaded(watched));
    readCount = 0;
    const edited = watched.with(7, entry('s7', { generation: 's7-2' }));
    const after = next(primed, loaded(edited));
    expect(readCount).toBe(0);
    expect(after.context.live.get('s7')?.leaving).toBe('now');
  });

  it.each<TroupeEvent>([
    { type: 'handover.due', server: 's7', why: 'it is ready' },
    { type: 'xstate.error.actor.s7.handover', actorId: 's7.handover', error: 'a bug' },
  ])('reads nothing but the server of $type', (event) => {
    const read: string[] = [];
    const many = (generation: string) =>
      Array.from({ length: 20 }, (_, at) => {
        const name = `s${at}`;
        const server = entry(name, { generation: `${name}-${generation}`, handover: 'seamless' });
        return Object.defineProperty(server, 'enabled', {
          get: () => {
            read.push(name);
            return true;
          },
        });
      });
    const readied = (place: number): TroupeEvent => ({
      type: 'server.readied',
      actorId: `s${place}.${place % 2}`,
    });
    const serving = Array.from({ length: 20 }, (_, at) => readied(at)).reduce(
      next,
      next(begun(), loaded(many('1'))),
    );
    const both = next(serving, loaded(many('2')));
    read.length = 0;
    const { context } = next(both, event);
    expect(context.live.get('s7')?.generation).toBe('s7-2');
    expect(new Set(read)).toEqual(new Set(['s7']));
  });

  it('reads all servers when too many differ to be put into a plan one by one', () => {
    const many = Array.from({ length: 600 }, (_, at) => entry(`s${at}`));
    const before = next(begun(), loaded(many));
    const edited = many.map((server) => ({ ...server, trust: true }));
    const event = loaded(edited);
    expect(passFor(before, event, 'some')).toEqual(passFor(before, event, 'all'));
  });
});
