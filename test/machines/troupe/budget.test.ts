/** What the root knows of servers that halt, and what that means for an enforced budget. */

import { describe, expect, it } from 'vitest';
import { type TroupeEvent, troupeMachine } from '../../../machines/troupe/troupe.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import { entry, settingsOf } from '../story.ts';
import { type TroupeSnapshot, troupeInput } from './ways.ts';

const inert = createInertScope();

/** The root after these events; none of its servers ever answers. */
function after(...events: readonly TroupeEvent[]): TroupeSnapshot {
  inert.begin(undefined);
  const start = troupeMachine.getInitialSnapshot(inert.scope, troupeInput);
  return events.reduce(
    (snapshot, event) => troupeMachine.transition(snapshot, event, inert.scope),
    start,
  );
}

const verdictsOf = ({ context }: TroupeSnapshot) =>
  [...context.live].map(([name, { verdict }]) => `${name} ${verdict}`);

const budget = { max: 1, mode: 'enforce' } as const;
const loaded: TroupeEvent = {
  type: 'settings.loaded',
  settings: settingsOf([entry('a'), entry('b'), entry('c')], { budget }),
  at: 0,
};
const halted = (actorId: string): TroupeEvent => ({ type: 'server.halted', actorId });
const resumed = (actorId: string): TroupeEvent => ({ type: 'server.resumed', actorId });
const ended = (actorId: string): TroupeEvent => ({
  type: `xstate.done.actor.${actorId}`,
  actorId,
});
const lookAgain: TroupeEvent = { type: 'troupe.lookAgain' };

describe('a budget slot', () => {
  it('goes to the next server only once its server has halted', () => {
    // Spawned alternately with both suffixes: a.0, b.1, c.0. The last two start blocked.
    expect(verdictsOf(after(loaded, lookAgain))).toEqual([
      'a admitted',
      'b overBudget',
      'c overBudget',
    ]);
    expect(verdictsOf(after(loaded, halted('a.0'), lookAgain))).toEqual([
      'a admitted',
      'b admitted',
      'c overBudget',
    ]);
    const back = [halted('a.0'), resumed('a.0'), lookAgain];
    expect(verdictsOf(after(loaded, ...back))).toEqual([
      'a admitted',
      'b overBudget',
      'c overBudget',
    ]);
  });

  it('is granted to only one of two servers that start in the same turn', () => {
    const both: readonly TroupeEvent[] = [
      loaded,
      halted('a.0'),
      { type: 'server.start', server: 'a' },
      { type: 'server.start', server: 'b' },
    ];
    expect(verdictsOf(after(...both))).toEqual(['a admitted', 'b overBudget', 'c overBudget']);
  });

  it('is taken by a blocked server in the pass that admits it', () => {
    const events = [loaded, halted('a.0'), lookAgain, lookAgain];
    expect(verdictsOf(after(...events))).toEqual(['a admitted', 'b admitted', 'c overBudget']);
  });

  it.each([
    ['a stop of a server that has halted', 'server.stop', 'a'],
    ['a start that the budget refuses', 'server.start', 'a'],
  ] as const)('stays with the server that runs after %s', (_, type, server) => {
    const running = [loaded, halted('a.0'), lookAgain, resumed('b.1')];
    expect(verdictsOf(after(...running, { type, server }, lookAgain))).toContain('b admitted');
  });

  it("stays with a server's name after its actor ends", () => {
    const edited = settingsOf([entry('a'), entry('b', { generation: 'b-2' }), entry('c')], {
      budget: { ...budget, max: 2 },
    });
    const snapshot = after(
      {
        ...loaded,
        settings: settingsOf([entry('b'), entry('c')], { budget: { ...budget, max: 2 } }),
      },
      { ...loaded, settings: edited },
      ended('b.0'),
    );
    expect(verdictsOf(snapshot)).toEqual(['c admitted', 'a overBudget', 'b admitted']);
  });

  it('is freed when its server is gone', () => {
    const { halted: left } = after(loaded, halted('a.0'), ended('a.0')).context;
    expect([...left.keys()]).toEqual(['b.1', 'c.0']);
  });
});
