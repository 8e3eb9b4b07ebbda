/**
 * What must always hold, checked after every step. Each check reports a violation in one line that
 * begins with the invariant's number.
 */

import { actorsOf, childrenOf } from '../../../machines/troupe/context.ts';
import { handoverIdOf } from '../../../machines/troupe/handover.ts';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';
import { passesFilter } from '../../../src/policies/tools/filter.ts';
import type { RootSnapshot } from '../../../src/runtime/status/board.ts';
import type { SessionScript } from '../../../src/testing/session-script.ts';
import type { SimulatedCall, World } from './world.ts';

/** A snapshot of the world, taken once for all checks. */
interface Moment {
  readonly world: World;
  readonly statuses: ReadonlyMap<string, ServerStatus>;
  /** Running calls, and those that settled since the last snapshot. */
  readonly calls: readonly SimulatedCall[];
  /** Sessions that are not over, by server. */
  readonly open: ReadonlyMap<string, readonly SessionScript[]>;
  readonly snapshot: Pick<RootSnapshot, 'children' | 'context'>;
}

/** The session of the serving generation, not of its successor or predecessor. */
function present({ open, snapshot }: Moment, server: string): readonly SessionScript[] {
  const actorId = snapshot.context.live.get(server)?.actorId;
  return (open.get(server) ?? []).filter(({ input }) => input.actorId === actorId);
}

/** Has earlier settings, but is needed until its successor serves or its calls are done. */
function isHandingOver({ snapshot }: Moment, { input }: SessionScript): boolean {
  const { beside, actorId } = snapshot.context.live.get(input.server) ?? {};
  if (beside === undefined) return false;
  // After yet another edit it waits for its next successor, which begins when one of two is gone.
  return (
    actorId === input.actorId || (beside.leaving !== false && beside.actorId === input.actorId)
  );
}

/** Every violated invariant; empty if all hold. */
export function problemsOf(world: World, watched: WatchedScripts): readonly string[] {
  const statuses = world.scripted.troupe.snapshot().servers;
  const open = new Map<string, SessionScript[]>();
  for (const script of watched.present()) {
    const { server } = script.input;
    open.set(server, [...(open.get(server) ?? []), script]);
  }
  const moment: Moment = {
    world,
    statuses: new Map(statuses.map((status) => [status.name, status])),
    open,
    calls: world.recentCalls(),
    snapshot: world.root.getSnapshot(),
  };
  return [
    ...world.findings,
    ...world.scripted.errors.map(({ message, error }) => `0: ${message} ${String(error)}`),
    ...world.questions.problems(world.scripted.troupe),
    ...checks.flatMap((check) => check(moment)),
  ];
}

/** Remembers which sessions are not over, so that no step has to visit a day's sessions. */
export class WatchedScripts {
  readonly #scripts: () => readonly SessionScript[];
  #seen = 0;
  #present: SessionScript[] = [];

  constructor(scripts: () => readonly SessionScript[]) {
    this.#scripts = scripts;
  }

  present(): readonly SessionScript[] {
    const all = this.#scripts();
    this.#present.push(...all.slice(this.#seen));
    this.#seen = all.length;
    this.#present = this.#present.filter(({ state }) => state !== 'over');
    return this.#present;
  }
}

type Check = (moment: Moment) => readonly string[];

const runsOnlyWhatMay: Check = (moment) =>
  [...moment.open].flatMap(([server, scripts]) =>
    scripts
      .filter(({ state }) => state !== 'closing')
      .filter((script) => !mayRun(moment, script))
      .map(({ state }) => `1: ${server} has a session that is ${state} and may not have one`),
  );

function mayRun(moment: Moment, script: SessionScript): boolean {
  const { server, generation } = script.input;
  if (moment.world.isPermitted(server, generation)) return true;
  return isHandingOver(moment, script) && moment.world.isPermitted(server);
}

const runsOneAtATime: Check = ({ open, snapshot }) =>
  [...open]
    .filter(([server, scripts]) => {
      const live = snapshot.context.live.get(server);
      return scripts.length > (live === undefined ? 0 : actorsOf(live).length);
    })
    .map(([server, scripts]) => `2: ${server} has ${scripts.length} sessions`);

const settlesCalls: Check = ({ world, calls }) =>
  calls.flatMap(({ number, deadlineAt, settledAt, settledCount, outcome = '' }) => {
    if (settledCount > 1) return [`5: call ${number} settled ${settledCount} times`];
    if ((settledAt ?? world.now) > deadlineAt) return [`5: call ${number} outlived its deadline`];
    if (outcome.startsWith('no TroupeError')) return [`5: call ${number} failed with ${outcome}`];
    return [];
  });

const tellsOutcomesTruly: Check = ({ world, calls }) =>
  calls.flatMap(({ number, outcome }) => {
    const runs = world.peers.executed.get(number) ?? 0;
    if (runs > 1) return [`6: call ${number} ran ${runs} times`];
    if (outcome === 'ok' && runs === 0) return [`6: call ${number} is ok and never ran`];
    if (runs > 0 && outcome?.endsWith('not_executed')) return [`6: call ${number} ran: ${outcome}`];
    return [];
  });

const namesToolsApart: Check = ({ world, statuses }) => {
  const tools = world.scripted.troupe.tools();
  const names = tools.map(({ name }) => name);
  return [
    ...(new Set(names).size === names.length ? [] : ['7: two tools have one name']),
    ...(names.join() === names.toSorted().join() ? [] : ['7: tools are not sorted']),
    ...tools
      .filter(({ server }) => !statuses.has(server))
      .map(({ server }) => `7: tools of ${server}, which does not exist`),
  ];
};

const showsRightTools: Check = (moment) => {
  const { world, statuses } = moment;
  const tools = world.scripted.troupe.tools();
  return [...statuses].flatMap(([server, status]) => {
    const shown = tools.filter((tool) => tool.server === server).map(({ tool }) => tool);
    if (shown.length !== status.tools) {
      return [`7: ${server} says ${status.tools} tools and shows ${shown.length}`];
    }
    if (shown.length > 0 && !world.model.isPermitted(server)) {
      return [`7: ${server} shows tools and may not run`];
    }
    const script = present(moment, server).at(-1);
    if (script === undefined || status.state !== 'ready') return [];
    const { exclude = [] } = world.model.find(server)?.entry.tools ?? {};
    const expected = (world.peers.listed.get(script) ?? [])
      .map(({ name }) => name)
      .filter((name) => passesFilter({ include: ['*'], exclude }, name));
    return shown.join() === expected.toSorted().join()
      ? []
      : [`7: ${server} shows ${shown.join()} and listed ${expected.join()}`];
  });
};

const keepsBackoffInBounds: Check = ({ world, statuses }) =>
  [...statuses.values()].flatMap(({ name, state, reason, since, nextAttemptAt }) => {
    if (state !== 'backingOff' || nextAttemptAt === undefined) return [];
    const waitMs = Date.parse(nextAttemptAt) - Date.parse(since);
    // A wake-up lets it try soon.
    const isWoken =
      world.wokenAt !== undefined && world.wokenAt >= Date.parse(since) - world.wallOffsetMs;
    const [low, high] = reason === 'lost' ? [isWoken ? 100 : 5_000, 300_000] : [100, 30_000];
    return waitMs >= low && waitMs <= high ? [] : [`12: ${name} backs off for ${waitMs} ms`];
  });

// The most timers that a server may have set in each state: its own, without calls.
const timersOf: Readonly<Record<ServerState, number>> = {
  disabled: 0,
  blocked: 0,
  dormant: 0,
  queued: 1,
  connecting: 1,
  loadingTools: 1,
  ready: 3,
  degraded: 3,
  backingOff: 1,
  authRequired: 0,
  suspended: 0,
  failed: 0,
  stopping: 1,
  stopped: 0,
};

// Gate or stop of the root, a look after a break, debounce and burst of the settings, the
// stock of retries.
const timersOfRoot = 6;

// Of a second one under the same name: its own, and one that it must not take for ever.
const timersOfSecond = 5;

const setsNoStrayTimers: Check = ({ world, statuses, calls, snapshot }) => {
  const ofServers = [...statuses.values()].reduce(
    (sum, { state, circuit }) => sum + timersOf[state] + (circuit === 'closed' ? 0 : 1),
    0,
  );
  // A permit lapses by a timer, and as many as there are servers may hold one.
  const starting = [...statuses.values()].filter(({ attempt }) => attempt !== undefined).length;
  const seconds = [...snapshot.context.live.values()].flatMap((it) => actorsOf(it).slice(1));
  const ofSeconds = seconds.length * timersOfSecond;
  const ofCalls = calls.filter(({ outcome }) => outcome === undefined).length;
  const most = ofServers + ofSeconds + starting + ofCalls + timersOfRoot + world.peers.timerCount;
  const found = world.scripted.clock.pendingCount;
  return found <= most ? [] : [`13: ${found} timers are set, and at most ${most} have a reason`];
};

const ownsEveryActor: Check = ({ snapshot }) => {
  const children = childrenOf(snapshot)
    .map(({ id }) => id)
    .filter((id) => id !== 'slots' && id !== 'settingsSource')
    .sort();
  const live = [...snapshot.context.live]
    .flatMap(([name, server]) => [
      ...actorsOf(server).map(({ actorId }) => actorId),
      ...(server.beside === undefined ? [] : [handoverIdOf(name)]),
    ])
    .sort();
  return children.join() === live.join()
    ? []
    : [`14: children are ${children.join()} and live servers ${live.join()}`];
};

const knowsWhoHalted: Check = ({ snapshot }) => {
  const halted = [...snapshot.context.live.values()]
    .flatMap(actorsOf)
    .filter(
      ({ actorId }) =>
        snapshot.context.actors.get(actorId)?.getSnapshot().hasTag('atRest') === true,
    )
    .map(({ actorId }) => actorId)
    .sort();
  const known = [...snapshot.context.halted.keys()].sort();
  return halted.join() === known.join()
    ? []
    : [`16: halted are ${halted.join()}, and the root knows of ${known.join()}`];
};

const parked: ReadonlySet<ServerState> = new Set([
  'disabled',
  'blocked',
  'dormant',
  'backingOff',
  'authRequired',
  'suspended',
  'failed',
  'stopped',
]);

const showsWhatIs: Check = (moment) =>
  [...moment.statuses.values()].flatMap(({ name, state, catalog }) => {
    const { world } = moment;
    const scripts = present(moment, name);
    const isServing = state === 'ready' || state === 'degraded';
    const script = scripts[0];
    if (isServing && (script?.state !== 'open' || !world.peers.listed.has(script))) {
      return [`15: ${name} reads ${state} and its session is ${script?.state ?? 'gone'}`];
    }
    if (isServing && catalog !== 'live') return [`15: ${name} is ${state} with tools ${catalog}`];
    if (parked.has(state) && scripts.length > 0) {
      return [`15: ${name} reads ${state} and has a session that is ${script?.state}`];
    }
    return [];
  });

const boundsCallsAtWork: Check = ({ open, calls }) => {
  const waiting = new Map<string, number>();
  for (const { server, outcome } of calls) {
    if (outcome === undefined) waiting.set(server, (waiting.get(server) ?? 0) + 1);
  }
  return [
    ...[...waiting]
      .filter(([, count]) => count > 128)
      .map(([server, count]) => `17: ${count} calls to ${server} are accepted`),
    ...[...open.values()].flat().flatMap(({ input, calls: sent }) => {
      const atWork = sent.filter(({ isSettled }) => !isSettled).length;
      return atWork > 64 ? [`17: ${atWork} calls at work at ${input.server}`] : [];
    }),
  ];
};

const checks: readonly Check[] = [
  runsOnlyWhatMay,
  runsOneAtATime,
  settlesCalls,
  tellsOutcomesTruly,
  namesToolsApart,
  showsRightTools,
  keepsBackoffInBounds,
  setsNoStrayTimers,
  ownsEveryActor,
  knowsWhoHalted,
  showsWhatIs,
  boundsCallsAtWork,
];
