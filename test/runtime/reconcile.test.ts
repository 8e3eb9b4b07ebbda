/**
 * Reconciling under random edit scripts: the real root and real server charts,
 * with scripted sessions and virtual time. `TROUPE_RECONCILE_SEEDS=1000` plays more.
 */

import { describe, expect, it } from 'vitest';

import type { AnyActorRef } from 'xstate';
import type { TroupeContext } from '../../machines/troupe/context.ts';
import { projectFile, settingsFile } from '../../src/testing/scripted-troupe.ts';
import type { SessionScript } from '../../src/testing/session-script.ts';
import { Random } from './simulation/random.ts';
import { bringUp, crash, type Stage, servers, stageOf, tool } from './stage.ts';

interface Entry {
  readonly args: readonly string[];
  readonly description?: string;
  readonly enabled?: boolean;
  readonly handover?: 'seamless' | 'exclusive';
}

/** What the two files hold, and all else that decides who may run. */
interface Wanted {
  readonly own: Map<string, Entry>;
  readonly brought: Map<string, Entry>;
  excluded: Set<string>;
  allowed: readonly string[] | null;
  hostAllowed: readonly string[] | null;
  disabledServers: Set<string>;
  enabledServers: Set<string>;
  /** How many may run; null = any number. */
  maxServers: number | null;
  trusted: boolean;
  /** What was decided about each connection that a folder brings, by server and connection. */
  readonly decisions: Map<string, 'granted' | 'rejected'>;
}

const ownNames = ['a', 'b', 'c', 'd', 'e'];
const broughtNames = ['x', 'y'];
const names = [...ownNames, ...broughtNames];
const scriptLength = 25;
const seedCount = Number(process.env['TROUPE_RECONCILE_SEEDS'] ?? 40);

const connectionOf = (entry: Entry | undefined): string => JSON.stringify(entry?.args);

function entryOf({ own, brought }: Wanted, name: string): Entry | undefined {
  return own.get(name) ?? brought.get(name);
}

const decisionKey = ({ brought }: Wanted, name: string): string =>
  JSON.stringify([name, connectionOf(brought.get(name))]);

/** The naive opinion: why may this server not run now, apart from the budget? Undefined: it may. */
function refusalOf(wanted: Wanted, name: string): string | undefined {
  const entry = entryOf(wanted, name);
  if (entry === undefined) return 'gone';
  const isEnabled = wanted.enabledServers.has(name) || entry.enabled !== false;
  if (wanted.disabledServers.has(name) || !isEnabled) return 'disabled';
  const isOwn = wanted.own.has(name);
  if (!isOwn && !wanted.trusted) return 'blocked.untrusted';
  if (wanted.excluded.has(name)) return 'blocked.excluded';
  const lists = [wanted.allowed, wanted.hostAllowed];
  if (lists.some((list) => list !== null && !list.includes(name))) return 'blocked.notAllowed';
  if (isOwn) return undefined;
  const decision = wanted.decisions.get(decisionKey(wanted, name));
  if (decision === 'granted') return undefined;
  return decision === 'rejected' ? 'blocked.rejected' : 'blocked.pendingApproval';
}

/** All that an edit of one server may change for it; equal texts mean: nothing happened to it. */
function meaningOf(wanted: Wanted, name: string): string {
  return JSON.stringify([entryOf(wanted, name) ?? null, refusalOf(wanted, name) ?? null]);
}

const fileOf = (entries: ReadonlyMap<string, Entry>, mcp?: object) => ({
  // Each has a command of its own: equal servers of two files would be one.
  mcpServers: Object.fromEntries(
    [...entries].map(([name, entry]) => [name, { command: name, ...entry }]),
  ),
  ...(mcp === undefined ? {} : { mcp }),
});

type Play = Stage & {
  readonly wanted: Wanted;
  readonly sent: Map<string, number>;
  /** Servers of a folder with the generations that are approved now. */
  readonly grants: Set<string>;
  /** Sessions that were opened without admission, or past the budget. */
  readonly trespasses: string[];
};

function write({ files, wanted }: Play): void {
  files.write(settingsFile, fileOf(wanted.own, listsOf(wanted)));
  files.write(projectFile, fileOf(wanted.brought));
}

function listsOf({
  excluded,
  allowed,
  disabledServers,
  enabledServers,
  maxServers,
}: Wanted): object {
  return {
    excluded: [...excluded],
    disabledServers: [...disabledServers],
    enabledServers: [...enabledServers],
    ...(allowed === null ? {} : { allowed }),
    ...(maxServers === null ? {} : { policy: { admission: { maxServers, budget: 'enforce' } } }),
  };
}

const someNames = (random: Random, chance: number): string[] =>
  names.filter(() => random.isTrue(chance));

/** One edit; several may follow each other before anything is read. */
function edit(play: Play, random: Random): void {
  const { wanted, troupe, sessions } = play;
  const server = random.pick(names);
  const entries = wanted.own.has(server) || ownNames.includes(server) ? wanted.own : wanted.brought;
  const entry = entries.get(server) ?? { args: ['1'] };
  const draw = random.weighted<() => void>([
    [3, () => entries.set(server, { ...entry, args: [String(random.int(1, 3))] })],
    [2, () => entries.set(server, { ...entry, description: `told ${random.int(1, 2)}` })],
    [
      1,
      () =>
        entries.set(server, {
          ...entry,
          handover: entry.handover === 'seamless' ? 'exclusive' : 'seamless',
        }),
    ],
    [2, () => void entries.delete(server)],
    [2, () => entries.set(server, { ...entry, enabled: entry.enabled === false })],
    [1, () => (wanted.excluded = new Set(someNames(random, 0.2)))],
    [1, () => (wanted.disabledServers = new Set(someNames(random, 0.15)))],
    [1, () => (wanted.enabledServers = new Set(someNames(random, 0.15)))],
    [1, () => (wanted.allowed = random.isTrue(0.5) ? null : someNames(random, 0.7))],
    [1, () => (wanted.maxServers = random.isTrue(0.5) ? null : random.int(0, names.length))],
    [
      1,
      () => {
        wanted.hostAllowed = random.isTrue(0.5) ? null : someNames(random, 0.7);
        troupe.send({ type: 'allow.changed', allowed: wanted.hostAllowed });
      },
    ],
    [
      1,
      () => {
        wanted.trusted = random.isTrue(0.7);
        troupe.send({ type: 'trust.changed', trusted: wanted.trusted });
      },
    ],
    [
      2,
      () => {
        const script = sessions.scripts.findLast(({ input }) => input.server === server);
        if (script !== undefined && script.state !== 'over') script.fail(crash());
      },
    ],
  ]);
  draw();
  write(play);
}

/** A decision about what a folder brings, as it is read now. */
async function decide(play: Play, random: Random): Promise<void> {
  const server = random.pick(broughtNames);
  await play.advance(300);
  const isThere = play.wanted.brought.has(server);
  const type = random.pick([
    'approval.grant',
    'approval.grant',
    'approval.reject',
    'approval.revoke',
  ] as const);
  if (!isThere) return;
  const key = decisionKey(play.wanted, server);
  const seen = `${server} ${play.troupe.status(server)?.generation ?? ''}`;
  if (type === 'approval.grant') play.grants.add(seen);
  else play.grants.delete(seen);
  play.troupe.send({ type, server });
  if (type === 'approval.revoke') play.wanted.decisions.delete(key);
  else play.wanted.decisions.set(key, type === 'approval.grant' ? 'granted' : 'rejected');
}

/** Some change hands seamlessly. */
function firstEntry(index: number): Entry {
  return index % 2 === 0 ? { args: ['1'], handover: 'seamless' } : { args: ['1'] };
}

async function begin(seed: number): Promise<Play> {
  const wanted: Wanted = {
    own: new Map(ownNames.map((name, index) => [name, firstEntry(index)])),
    brought: new Map(broughtNames.map((name, index) => [name, firstEntry(index)])),
    excluded: new Set(),
    allowed: null,
    hostAllowed: null,
    disabledServers: new Set(),
    enabledServers: new Set(),
    maxServers: null,
    trusted: true,
    decisions: new Map(),
  };
  const sent = new Map<string, number>();
  const stage = await stageOf({
    seed,
    settings: fileOf(wanted.own, { excluded: [] }),
    projectSettings: fileOf(wanted.brought),
    inspect: (event) => {
      if (event.type !== '@xstate.event' || event.event.type.startsWith('xstate.')) return;
      // Commands come from the root; what a server hears of its own session is its own affair.
      const [from, to] = [event.sourceRef, event.actorRef] as (AnyActorRef | undefined)[];
      if (from === undefined || from._parent !== undefined || to === undefined) return;
      const { id } = to;
      sent.set(id, (sent.get(id) ?? 0) + 1);
    },
  });
  const play: Play = Object.assign(stage, {
    wanted,
    sent,
    grants: new Set<string>(),
    trespasses: [],
  });
  const obey = stage.sessions.onCommand;
  stage.sessions.onCommand = (script, command) => {
    if (command.type === 'session.open') play.trespasses.push(...trespassesOf(play, script));
    obey?.(script, command);
  };
  return play;
}

/** What forbids a session that is opened now; files count as they were read last. */
function trespassesOf(play: Play, { input }: SessionScript): readonly string[] {
  const { wanted, sessions, grants } = play;
  const { server, generation } = input;
  const { settings } = play.rootOf().getSnapshot().context as Pick<TroupeContext, 'settings'>;
  const desired = settings?.servers.find(({ name }) => name === server);
  const isBrought = desired?.source.scope === 'project';
  const open = sessions.scripts.filter(
    ({ state, commands }) =>
      state !== 'over' && commands.includes('session.open') && !commands.includes('session.close'),
  );
  // A server that hands over to a successor counts once.
  const openCount = new Set(open.map((script) => script.input.server)).size;
  const faults = {
    'left out by the settings':
      settings?.excluded.includes(server) === true || settings?.allowed?.includes(server) === false,
    'switched off': desired?.enabled !== true,
    'of another generation': desired?.generation !== generation,
    'left out by the host': wanted.hostAllowed?.includes(server) === false,
    'of a folder without trust': isBrought && !wanted.trusted,
    'not approved': isBrought && !grants.has(`${server} ${generation}`),
    'past the budget': openCount > (settings?.budget?.max ?? names.length),
  };
  return Object.entries(faults).flatMap(([fault, isSo]) =>
    isSo ? [`${server} was opened although ${fault}`] : [],
  );
}

/** What is wrong at rest; empty when the servers are as the files and decisions say. */
async function problemsAtRest(play: Play): Promise<readonly string[]> {
  const { troupe, wanted } = play;
  const tools = new Set(troupe.tools().map(({ server }) => server));
  const left = (await troupe.plan()).filter(({ step }) => step !== 'keep');
  const stateOf = (name: string): string => (troupe.status(name) ? play.stateOf(name) : 'gone');
  const isOverBudget = (name: string): boolean => stateOf(name) === 'blocked.overBudget';
  const wanting = names.filter((name) => refusalOf(wanted, name) === undefined);
  const runningCount = wanting.filter((name) => !isOverBudget(name)).length;
  const placeCount = Math.min(wanting.length, wanted.maxServers ?? wanting.length);
  const open = play.sessions.scripts.filter(({ state }) => state !== 'over');
  const openNames = open.map(({ input }) => input.server);
  return [
    ...names
      .filter((name) => openNames.indexOf(name) !== openNames.lastIndexOf(name))
      .map((name) => `${name} has two sessions`),
    ...(runningCount === placeCount ? [] : [`${runningCount} run, for ${placeCount} places`]),
    ...left.map(({ server, step }) => `planned again: ${step} ${server}`),
    ...play.errors.map(({ message }) => message),
    ...names.flatMap((name) => {
      const found = stateOf(name);
      const mayRun = isOverBudget(name) ? 'blocked.overBudget' : 'ready';
      const expected = refusalOf(wanted, name) ?? mayRun;
      const script = play.sessions.scripts.findLast(({ input }) => input.server === name);
      const isOpen = script !== undefined && script.state !== 'over';
      return [
        ...(found === expected ? [] : [`${name} should be ${expected} and is ${found}`]),
        ...(tools.has(name) === (expected === 'ready') ? [] : [`${name} shows the wrong tools`]),
        ...(isOpen === (expected === 'ready') ? [] : [`${name}: its session is ${script?.state}`]),
        ...(isOpen && script.input.generation !== troupe.status(name)?.generation
          ? [`${name} runs what is not wanted`]
          : []),
      ];
    }),
  ];
}

/** Sessions so far of a server and commands sent to its actor. */
function touchesOf(play: Play, name: string): string {
  const { sessions, sent, troupe } = play;
  const count = sessions.scripts.filter(({ input }) => input.server === name).length;
  const id = troupe.status(name) === undefined ? '' : play.actorOf(name).id;
  return `${count} sessions, actor ${id}, ${sent.get(id) ?? 0} commands`;
}

async function rest(play: Play): Promise<void> {
  // Beyond the debounce, the close ladder and every pause of a crashed server.
  await play.advance(120_000);
}

async function playScript(seed: number): Promise<readonly string[]> {
  const random = new Random(seed);
  const play = await begin(seed);
  try {
    for (let step = 0; step < scriptLength; step += 1) {
      if (random.isTrue(0.15)) await decide(play, random);
      edit(play, random);
      if (random.isTrue(0.6)) await play.advance(random.pick([1, 50, 299, 300, 700, 2_500]));
    }
    await rest(play);
    const problems = [...(await problemsAtRest(play))];
    problems.push(...(await problemsOfOneEdit(play, random)));
    return [...problems, ...play.trespasses];
  } finally {
    await play.troupe.stop();
  }
}

/** One more edit of one server, which no other server may notice. */
async function problemsOfOneEdit(play: Play, random: Random): Promise<readonly string[]> {
  const before = names.map((name) => [name, meaningOf(play.wanted, name), touchesOf(play, name)]);
  const server = random.pick(ownNames);
  const handover = random.pick(['seamless', 'exclusive'] as const);
  play.wanted.own.set(server, { args: [`new ${random.int(1, 9)}`], handover });
  write(play);
  await rest(play);
  return [
    ...(await problemsAtRest(play)),
    ...before.flatMap(([name = '', meaning, touches]) =>
      meaningOf(play.wanted, name) === meaning && touchesOf(play, name) !== touches
        ? [`${name} was not changed and noticed: ${touches} -> ${touchesOf(play, name)}`]
        : [],
    ),
  ];
}

describe('reconciling', () => {
  it('adds the first server, removes the last and leaves nothing behind', async () => {
    const stage = await stageOf();
    const childrenBefore = stage.childIds();
    for (let round = 0; round < 3; round += 1) {
      await stage.apply(servers({ db: `srv${round}` }));
      expect(stage.stateOf('db')).toBe('ready');
      const session = stage.sessions.of('db');
      session.offer({ prompts: [{ name: 'greet' }] });
      await stage.settle();
      expect([stage.troupe.tools().length, stage.troupe.prompts().length]).toEqual([1, 1]);
      await stage.apply(servers({}));
      expect(session.state).toBe('over');
      expect([...stage.troupe.tools(), ...stage.troupe.prompts()]).toEqual([]);
      expect(stage.troupe.snapshot().servers).toEqual([]);
      expect(stage.childIds()).toEqual(childrenBefore);
    }
    expect(stage.sessions.scripts).toHaveLength(3);
  });

  it('makes one pass for several saves within 300 ms', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const passes: string[] = [];
    stage.troupe.on('reconciled', ({ plan }) => {
      passes.push(plan.map(({ step, server }) => `${step} ${server}`).join(', '));
    });
    for (const name of ['a', 'b', 'c']) {
      stage.files.write(settingsFile, servers({ db: 'srv', [name]: 'srv' }));
      await stage.advance(100);
    }
    expect(passes).toEqual([]);
    await stage.advance(200);
    expect(passes).toEqual(['keep db, spawn c']);
  });

  it('drops what an edit removed or changed before anything is listed again, and touches nothing else', async () => {
    const before = servers({ kept: 'kept', changed: 'old', removed: 'removed' });
    const stage = await stageOf({ settings: before });
    for (const name of ['kept', 'changed', 'removed'])
      stage.sessions.of(name).offer({ prompts: [{ name: 'greet' }] });
    await stage.settle();
    const serversOf = (items: readonly { readonly server: string }[]): readonly string[] =>
      items.map(({ server }) => server).sort();
    const shown = () => ({
      tools: serversOf(stage.troupe.tools()),
      prompts: serversOf(stage.troupe.prompts()),
    });
    expect(shown()).toEqual({
      tools: ['changed', 'kept', 'removed'],
      prompts: ['changed', 'kept', 'removed'],
    });
    const [kept, old] = [stage.sessions.of('kept'), stage.sessions.of('changed')];
    // The old session of the changed server is slow to close, and its new one to open.
    stage.obedient = new Set(['kept', 'added', 'removed']);
    await stage.apply(servers({ kept: 'kept', changed: 'new', added: 'added' }));
    const without = { tools: ['added', 'kept'], prompts: ['kept'] };
    expect([old.state, shown()]).toEqual(['closing', without]);
    old.closed();
    await stage.settle();
    expect(shown()).toEqual(without);
    expect(stage.sessions.of('kept')).toBe(kept);
    expect(kept.state).toBe('open');
    bringUp(stage.sessions.of('changed'), [tool('renamed')]);
    await stage.settle();
    expect(shown()).toEqual({ tools: ['added', 'changed', 'kept'], prompts: ['kept'] });
    expect(stage.sessions.scripts).toHaveLength(5);
  });

  it(
    `matches the desired servers after ${seedCount} random edit scripts`,
    async () => {
      for (let seed = 1; seed <= seedCount; seed += 1) {
        expect(await playScript(seed), `seed ${seed}`).toEqual([]);
      }
    },
    60_000 + seedCount * 500,
  );
});
