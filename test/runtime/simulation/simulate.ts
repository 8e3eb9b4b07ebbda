/** Plays a schedule in a world of its own and says what broke, if anything did. */

import { problemsOf, WatchedScripts } from './invariants.ts';
import { Random } from './random.ts';
import { shrink } from './shrink.ts';
import { drawSteps, namesOf, type Step } from './steps.ts';
import { World } from './world.ts';

export interface Schedule {
  readonly seed: number;
  readonly steps: readonly Step[];
  readonly serverCount: number;
  readonly gatedCount: number;
}

export interface Played {
  /** What broke; empty when nothing did. */
  readonly problems: readonly string[];
  /** The step after which it was seen, from 1; beyond the steps: at the end. */
  readonly stepCount: number;
  /** Digest of everything that was announced: equal for equal schedules. */
  readonly digest: string;
  readonly starts: number;
  readonly losses: number;
  readonly calls: number;
  readonly virtualMs: number;
}

const flapMs = [500, 30_000] as const;

/** Draws the schedule of a seed. */
export function scheduleOf(seed: number, stepCount: number, serverCount: number): Schedule {
  const random = new Random(seed);
  const steps = drawSteps(random, stepCount, namesOf(serverCount));
  return { seed, steps, serverCount, gatedCount: Math.floor(serverCount / 3) };
}

export async function play({ seed, steps, serverCount, gatedCount }: Schedule): Promise<Played> {
  const servers = namesOf(serverCount);
  // Of five or more the bound given at launch leaves one out for good.
  const bound = serverCount > 4 ? servers.filter((name) => name !== 's3') : null;
  const world = new World({ seed, servers, gatedCount, flapMs, bound });
  const watched = new WatchedScripts(() => world.scripts);
  const played = (problems: readonly string[], stepCount: number): Played => ({
    problems,
    stepCount,
    ...tallyOf(world),
  });
  await world.scripted.settle();
  for (const [index, step] of steps.entries()) {
    await world.take(step);
    const problems = [...problemsOf(world, watched), ...problemsOfStarts(world)];
    if (problems.length > 0) return played(problems, index + 1);
  }
  const problems = [
    ...(await problemsOfIdlePass(world)),
    ...(await problemsOfRecovery(world, watched)),
    ...(await problemsOfStop(world, watched)),
  ];
  return played(problems, steps.length + 1);
}

// A life of half a minute to five minutes: long enough that most outages end by
// a minute of service, short enough for hundreds of losses a day.
const longFlapMs = [30_000, 300_000] as const;
const callsPerMinute = 20;

/** Servers that all die again and again for hours, looked at and called every minute. */
export async function playFlapping(
  seed: number,
  serverCount: number,
  hours: number,
): Promise<Played> {
  const servers = namesOf(serverCount);
  const world = new World({ seed, servers, gatedCount: 0, flapMs: longFlapMs, bound: null });
  const watched = new WatchedScripts(() => world.scripts);
  const random = new Random(seed);
  for (const server of servers) world.peers.behave(server, 'flaps');
  await world.scripted.settle();
  const minutes = Math.round(hours * 60);
  for (let minute = 1; minute <= minutes; minute += 1) {
    for (let count = 0; count < callsPerMinute; count += 1) {
      await world.take({ kind: 'call', server: random.pick(servers), timeoutMs: 30_000, count: 1 });
    }
    await world.take({ kind: 'advance', ms: 60_000 });
    const problems = [...problemsOf(world, watched), ...problemsOfStarts(world)];
    if (problems.length > 0) return { problems, stepCount: minute, ...tallyOf(world) };
  }
  const problems = [
    ...(await problemsOfRecovery(world, watched)),
    ...(await problemsOfStop(world, watched)),
  ];
  return { problems, stepCount: minutes, ...tallyOf(world) };
}

function tallyOf(world: World): Omit<Played, 'problems' | 'stepCount'> {
  return {
    digest: world.digest(),
    starts: world.starts.length,
    losses: world.peers.losses,
    calls: world.calls.length,
    virtualMs: world.now,
  };
}

/** Plays a schedule and, when it breaks, finds a short one that breaks by the same invariant. */
export async function playAndShrink(
  schedule: Schedule,
  maxRuns = 400,
): Promise<Played & { readonly shortest: readonly Step[] }> {
  const played = await play(schedule);
  if (played.problems.length === 0) return { ...played, shortest: [] };
  const invariant = numberOf(played.problems);
  const upTo = schedule.steps.slice(0, played.stepCount);
  const shortest = await shrink(
    upTo,
    async (steps) => numberOf((await play({ ...schedule, steps })).problems) === invariant,
    maxRuns,
  );
  return { ...played, shortest };
}

function numberOf(problems: readonly string[]): string | undefined {
  return problems[0]?.split(':')[0];
}

// The tries of one outage; a lost remote server goes on every five seconds at the soonest.
const maxStartsPerMinute = { local: 5, remote: 5 + 12 };

/** 10: without a person's doing no server starts more often than its budget allows. */
function problemsOfStarts(world: World): readonly string[] {
  const counts = new Map<string, number>();
  for (let index = world.starts.length - 1; index >= 0; index -= 1) {
    const start = world.starts[index];
    if (start === undefined || start.at <= world.now - 60_000) break;
    const key = `${start.server} ${start.generation}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].flatMap(([key, count]) => {
    const [server = '', generation] = key.split(' ');
    const entry = world.model.find(server)?.entry;
    if (entry === undefined || world.model.generationOf(server) !== generation) return [];
    // A wish refreshes budgets, for up to two outages in the window; a call wakes what went idle.
    const isExcused = (world.touchedAt.get(server) ?? -1) > world.now - 120_000;
    const most = maxStartsPerMinute[entry.command === undefined ? 'remote' : 'local'];
    if (isExcused || entry.idleStopMs !== undefined || count <= most) return [];
    return [`10: ${server} was started ${count} times in a minute`];
  });
}

/** 19: the plan foretells the next pass, and a pass over what was applied does nothing. */
async function problemsOfIdlePass(world: World): Promise<readonly string[]> {
  const { troupe } = world.scripted;
  const wanted = (plan: readonly { server: string; step: string }[]): string =>
    plan
      .filter(({ step }) => step !== 'keep')
      .map(({ server, step }) => `${server} ${step}`)
      .join();
  const passes: string[] = [];
  const end = troupe.on('reconciled', ({ plan }) => passes.push(wanted(plan)));
  const foretold = wanted(await troupe.plan());
  troupe.send({ type: 'settings.reload' });
  await world.scripted.settle();
  const [done = ''] = passes;
  const again = wanted(await troupe.plan());
  end();
  const problems = [];
  if (done !== foretold)
    problems.push(`19: the plan said "${foretold}" and the pass did "${done}"`);
  const left = again.split(',').filter((step) => step !== '');
  if (left.length > 0) problems.push(`19: after the pass there is still to do: ${again}`);
  return problems;
}

/** 3 and 20: when faults end, what is wanted runs within a minute, by the last edit. */
async function problemsOfRecovery(
  world: World,
  watched: WatchedScripts,
): Promise<readonly string[]> {
  world.heal();
  await world.scripted.advance(7_000);
  for (const server of world.servers) {
    world.touchedAt.set(server, world.now);
    world.send({ type: 'server.restart', server });
  }
  await world.scripted.advance(60_000);
  return [
    ...problemsOf(world, watched),
    ...world.servers.flatMap((server) => problemOfRecovered(world, server)),
  ];
}

function problemOfRecovered(world: World, server: string): readonly string[] {
  const status = world.scripted.troupe.status(server);
  if (status !== undefined && status.generation !== world.model.generationOf(server)) {
    return [`20: ${server} is not what the last edit says`];
  }
  const state = status?.state ?? 'gone';
  const canIdle = world.model.find(server)?.entry.idleStopMs !== undefined;
  const runs = state === 'ready' || state === 'degraded' || (canIdle && state === 'dormant');
  const shouldRun = world.model.isPermitted(server);
  if (runs === shouldRun) return [];
  return [`3: ${server} ${shouldRun ? 'should' : 'should not'} run and is ${state}`];
}

/** 18: a stop ends everything within five seconds, even when a session never closes. */
async function problemsOfStop(world: World, watched: WatchedScripts): Promise<readonly string[]> {
  const { troupe, clock, sessions } = world.scripted;
  for (const server of world.servers.slice(0, 2)) world.peers.behave(server, 'hangsAtClose');
  world.isStopping = true;
  let isStopped = false;
  void troupe.stop().then(() => {
    isStopped = true;
  });
  await world.scripted.advance(5_000);
  world.peers.silence();
  await world.scripted.settle();
  const problems: string[] = [];
  if (!isStopped) problems.push('18: the troupe has not stopped within five seconds');
  if (watched.present().length > 0) problems.push('18: sessions are left');
  if (clock.pendingCount > 0) problems.push(`18: ${clock.pendingCount} timers are left`);
  if (troupe.tools().length > 0) problems.push('18: tools are left');
  if (world.calls.some(({ outcome }) => outcome === undefined)) problems.push('18: calls are left');
  if (world.questions.waitingCount > 0) problems.push('21: servers still wait for their answers');
  problems.push(...world.questions.problems(troupe));
  let commands = 0;
  sessions.onCommand = () => {
    commands += 1;
  };
  await world.scripted.advance(600_000);
  if (commands > 0) problems.push('18: something went on after the end');
  return [...problems, ...world.findings];
}
