/** Searches the root chart through: one name, edited, gated, stopped, broken, in every order. */

import { describe, expect, it } from 'vitest';
import { actorsOf, childrenOf } from '../../../machines/troupe/context.ts';
import { handoverIdOf } from '../../../machines/troupe/handover.ts';
import { planOf, type TroupeEvent, troupeMachine } from '../../../machines/troupe/troupe.ts';
import type { LiveServer } from '../../../src/domain/plan.ts';
import { changesNothing } from '../../../src/policies/plan-changes.ts';
import { type EventChoices, type ExploredStep, explore } from '../../../src/testing/explore.ts';
import { inAll, problemsOf, reportOf, runOnce, type Searches } from '../exploration-report.ts';
import { entry, settingsOf } from '../story.ts';
import { comparing } from '../xstate/comparing.ts';
import { type TroupeSnapshot, troupeInput } from './ways.ts';

type Step = ExploredStep<typeof troupeMachine>;

const gated = { gated: true, source: { key: 'db', scope: 'project' } } as const;
const loaded = (servers: Parameters<typeof settingsOf>[0]): TroupeEvent => ({
  type: 'settings.loaded',
  settings: settingsOf(servers),
  at: 0,
});
const nothing = loaded([]);
const first = loaded([entry('db', gated)]);
const second = loaded([entry('db', { ...gated, generation: 'db-2' })]);
const lazy = loaded([entry('db', { ...gated, startup: 'lazy' })]);

const isServer = (id: string): boolean => id === 'db.0' || id === 'db.1';
const idsIn = (snapshot: TroupeSnapshot): readonly string[] =>
  childrenOf(snapshot).map(({ id }) => id);
const childrenIn = (snapshot: TroupeSnapshot): readonly string[] =>
  idsIn(snapshot).filter((id) => id !== 'slots' && id !== 'settingsSource');

function keyOf(snapshot: TroupeSnapshot): string {
  const { value, context } = snapshot;
  return JSON.stringify([
    value,
    idsIn(snapshot).toSorted(),
    [...context.live],
    context.settings?.servers.map(({ generation, startup }) => [generation, startup]),
    context.trusted,
    context.hostAllowed,
    [...context.decisions],
    context.stopWishes,
    context.spawnCount % 2,
    [...context.serving.keys()].toSorted(),
  ]);
}

const actorsIn = ({ context }: TroupeSnapshot): readonly LiveServer[] =>
  [...context.live.values()].flatMap(actorsOf);

/** Hold in every state. */
function invariants(snapshot: TroupeSnapshot): readonly string[] {
  const { context, children, status } = snapshot;
  if (status === 'done') return [];
  const owned = actorsIn(snapshot).map(({ actorId }) => actorId);
  const handovers = [...context.live].flatMap(([name, { beside }]) =>
    beside === undefined ? [] : [handoverIdOf(name)],
  );
  const isStopping = snapshot.matches('stopping');
  return [
    ...([...owned, ...handovers].toSorted().join() === childrenIn(snapshot).toSorted().join()
      ? []
      : ['a server or a handover has no owner, or an owner has none']),
    ...(children.slots === undefined ? ['the permit queue is missing'] : []),
    ...(new Set(owned).size === owned.length ? [] : ['two actors have one id']),
    ...(owned.length <= 2 ? [] : ['more than two live under one name']),
    ...(actorsIn(snapshot).filter(({ leaving }) => !leaving).length <= 1 ||
    [...context.live.values()].every(({ leaving }) => leaving === false)
      ? []
      : ['two servers of one name stay']),
    ...(isStopping && actorsIn(snapshot).some(({ leaving }) => !leaving)
      ? ['a server was not retired']
      : []),
    ...(isStopping && context.live.size === 0 ? ['it is stopping, but no server is left'] : []),
  ];
}

const looks: ReadonlySet<string> = new Set([
  'settings.loaded',
  'trust.changed',
  'allow.changed',
  'approval.grant',
  'approval.reject',
  'approval.revoke',
  'approvals.changed',
  'system.woke',
  'troupe.lookAgain',
]);

const sentTo = ({ effects }: Step, isWanted: (id: string) => boolean): readonly string[] =>
  effects.flatMap(({ type, params }) => {
    const { to, event } = params as { to?: { id: string }; event?: { type: string } };
    return type === 'xstate.sendTo' && to !== undefined && isWanted(to.id)
      ? [event?.type ?? '']
      : [];
  });

const births = ({ effects }: Step): number =>
  effects
    .filter(({ type }) => type === 'xstate.spawnApart')
    .flatMap(({ params }) => params as readonly unknown[]).length;

/** Hold for every transition. */
const stepRules: Readonly<Record<string, (step: Step) => boolean>> = {
  'the root survives': ({ after }) => after.status !== 'error',
  'a pass leaves nothing to do': ({ before, event, after }) =>
    !looks.has(event.type) || !before.matches('serving') || changesNothing(planOf(after.context)),
  'a pass without a change does nothing': (step) =>
    !(step.event.type === 'system.woke' || step.event.type === 'troupe.lookAgain') ||
    !changesNothing(planOf(step.before.context)) ||
    sentTo(step, isServer).filter((type) => type !== 'server.woke').length + births(step) === 0,
  'a wake-up reaches every server that stays, and nothing else sends one': (step) =>
    sentTo(step, isServer).filter((type) => type === 'server.woke').length ===
    (step.event.type === 'system.woke' && step.isHandled
      ? actorsIn(step.before).filter(({ leaving }) => !leaving).length
      : 0),
  'a leaving server gets no more commands, except the final stop': (step) =>
    !step.before.context.live.get('db')?.leaving ||
    step.event.type === 'troupe.stop' ||
    sentTo(step, isServer).every((type) => type === 'slot.granted'),
  'one server is spawned at a time': (step) => births(step) <= 1,
  'each server is retired once': (step) =>
    !step.before.matches('stopping') || !sentTo(step, isServer).includes('server.retire'),
};

function stepInvariants(step: Step): readonly string[] {
  return Object.entries(stepRules).flatMap(([rule, holds]) =>
    holds(step) ? [] : [`broken: ${rule}`],
  );
}

type Events = EventChoices<typeof troupeMachine>;

/** As the servers tell it: by turns. */
const readiness = (type: 'server.readied' | 'server.faltered') => (snapshot: TroupeSnapshot) =>
  actorsIn(snapshot)
    .filter(({ actorId }) => snapshot.context.serving.has(actorId) === (type === 'server.faltered'))
    .map(({ actorId }) => ({ type, actorId }));

const silent: Events = {
  'server.readied': [],
  'server.faltered': [],
  'server.halted': [{ type: 'server.halted', actorId: 'db.0' }],
  'server.resumed': [{ type: 'server.resumed', actorId: 'db.0' }],
  'successor.gaveUp': [{ type: 'successor.gaveUp', actorId: 'db.0' }],
  'handover.due': [],
  'settings.loaded': [],
  'settings.relocated': [],
  'settings.changed': [{ type: 'settings.changed', settings: {} }],
  'trust.changed': [],
  'allow.changed': [],
  'server.start': [],
  'server.stop': [],
  'server.restart': [{ type: 'server.restart', server: 'unknown' }],
  'server.reconnect': [{ type: 'server.reconnect', server: 'db' }],
  'server.refresh': [{ type: 'server.refresh', server: 'db' }],
  'auth.completed': [{ type: 'auth.completed', server: 'db' }],
  'inputs.answered': [{ type: 'inputs.answered', servers: ['db'] }],
  'approval.grant': [{ type: 'approval.grant', server: 'db' }],
  'approval.reject': [],
  'approval.revoke': [{ type: 'approval.revoke', server: 'db' }],
  // Another process took everything back.
  'approvals.changed': [{ type: 'approvals.changed', decisions: [] }],
  'slot.requested': [
    { type: 'slot.requested', actorId: 'db.0', pool: 'local', demanded: false, retry: false },
    { type: 'slot.requested', actorId: 'db.1', pool: 'local', demanded: false, retry: false },
  ],
  'slots.granted': [{ type: 'slots.granted', actorIds: ['db.0', 'db.1'] }],
  'slot.returned': [{ type: 'slot.returned', actorId: 'db.0' }],
  'catalog.listed': [{ type: 'catalog.listed', server: 'db', generation: 'db-1' }],
  'catalog.forgotten': [{ type: 'catalog.forgotten', server: 'db', generation: 'db-1' }],
  // These two never end by themselves.
  'xstate.done.actor.slots': [],
  'xstate.done.actor.settingsSource': [],
};

const edits: Events = {
  ...silent,
  'settings.loaded': [nothing, first, second],
  'server.start': [{ type: 'server.start', server: 'db' }],
  'server.stop': [{ type: 'server.stop', server: 'db' }],
};
const gates: Events = {
  ...silent,
  'settings.loaded': [first, lazy],
  'trust.changed': [
    { type: 'trust.changed', trusted: true },
    { type: 'trust.changed', trusted: false },
  ],
  'allow.changed': [
    { type: 'allow.changed', allowed: null },
    { type: 'allow.changed', allowed: [] },
  ],
  'approval.reject': [{ type: 'approval.reject', server: 'db' }],
};

const seamless = (generation: string) => entry('db', { generation, handover: 'seamless' });
const handovers: Events = {
  ...silent,
  'settings.loaded': [
    nothing,
    loaded([seamless('db-1')]),
    loaded([seamless('db-2')]),
    loaded([{ ...seamless('db-2'), description: 'edited' }]),
    loaded([entry('db', { generation: 'db-1', enabled: false })]),
  ],
  'server.readied': readiness('server.readied'),
  'server.faltered': readiness('server.faltered'),
  'handover.due': [{ type: 'handover.due', server: 'db', why: 'its successor is ready' }],
  'server.stop': [{ type: 'server.stop', server: 'db' }],
  'approval.grant': [],
  'approval.revoke': [],
  'approvals.changed': [],
  'slot.requested': [],
  'slots.granted': [],
  'slot.returned': [],
  'catalog.listed': [],
};

const search = (events: Events) => () =>
  explore(comparing(troupeMachine), {
    inputs: [troupeInput],
    events,
    key: keyOf,
    children: idsIn,
    invariants,
    stepInvariants,
    goals: {
      'the end': ({ status }) => status === 'done',
      'an admitted server, unless it stops': (snapshot) =>
        !snapshot.matches('serving') ||
        [...snapshot.context.live.values()].some(({ verdict }) => verdict === 'admitted'),
    },
  });

const searches: Searches = {
  'edits, stops and approval': search(edits),
  'trust, lists and decisions': search(gates),
  'seamless handovers': search(handovers),
};
const names = Object.keys(searches);
const found = runOnce(searches);

// It takes a few seconds; on a busy machine and with coverage ten times that.
describe('the troupe chart', { timeout: 600_000 }, () => {
  it.each(names)('keeps its invariants in every state: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('takes every transition except the unsearched one', () => {
    // Only lines moved: the reply table has it, and here it would only multiply the states.
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([
      'serving -- settings.relocated --> (stays)',
    ]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
  });

  it('is searched completely', async () => {
    await expect(reportOf(searches, found)).toMatchFileSnapshot('../explored/troupe.txt');
  });
});
