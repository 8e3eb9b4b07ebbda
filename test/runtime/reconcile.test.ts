/**
 * Reconciling under random edit scripts: the real root and real server charts,
 * with scripted sessions and virtual time. `TROUPE_RECONCILE_SEEDS=1000` plays more.
 */

import { describe, expect, it } from 'vitest';

import type { AnyActorRef } from 'xstate';
import { projectFile, settingsFile } from '../../src/testing/scripted-troupe.ts';
import { Random } from './simulation/random.ts';
import { crash, type Stage, servers, stage } from './stage.ts';

interface Entry {
  readonly args: readonly string[];
  readonly description?: string;
  readonly enabled?: boolean;
}

/** What the two files hold, and all else that decides who may run. */
interface Wanted {
  readonly own: Map<string, Entry>;
  readonly brought: Map<string, Entry>;
  excluded: Set<string>;
  allowed: readonly string[] | null;
  trusted: boolean;
  readonly granted: Map<string, string>;
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

/** The naive opinion: may this server run now? */
function mayRun(wanted: Wanted, name: string): boolean {
  const entry = entryOf(wanted, name);
  if (entry === undefined || entry.enabled === false || wanted.excluded.has(name)) return false;
  if (wanted.allowed !== null && !wanted.allowed.includes(name)) return false;
  if (wanted.own.has(name)) return true;
  return wanted.trusted && wanted.granted.get(name) === connectionOf(entry);
}

/** All that an edit of one server may change for it; equal texts mean: nothing happened to it. */
function meaningOf(wanted: Wanted, name: string): string {
  return JSON.stringify([entryOf(wanted, name) ?? null, mayRun(wanted, name)]);
}

const fileOf = (entries: ReadonlyMap<string, Entry>, mcp?: object) => ({
  // Each has a command of its own: equal servers of two files would be one.
  mcpServers: Object.fromEntries(
    [...entries].map(([name, entry]) => [name, { command: name, ...entry }]),
  ),
  ...(mcp === undefined ? {} : { mcp }),
});

type Play = Stage & { readonly wanted: Wanted; readonly sent: Map<string, number> };

function write({ files, wanted }: Play): void {
  const { excluded, allowed } = wanted;
  files.write(
    settingsFile,
    fileOf(wanted.own, { excluded: [...excluded], ...(allowed === null ? {} : { allowed }) }),
  );
  files.write(projectFile, fileOf(wanted.brought));
}

/** One edit; several may follow each other before anything is read. */
function edit(play: Play, random: Random): void {
  const { wanted, troupe, sessions } = play;
  const server = random.pick(names);
  const entries = wanted.own.has(server) || ownNames.includes(server) ? wanted.own : wanted.brought;
  const entry = entries.get(server) ?? { args: ['1'] };
  const draw = random.weighted<() => void>([
    [3, () => entries.set(server, { ...entry, args: [String(random.int(1, 3))] })],
    [2, () => entries.set(server, { ...entry, description: `told ${random.int(1, 2)}` })],
    [2, () => void entries.delete(server)],
    [2, () => entries.set(server, { ...entry, enabled: entry.enabled === false })],
    [1, () => (wanted.excluded = new Set(names.filter(() => random.isTrue(0.2))))],
    [
      1,
      () => (wanted.allowed = random.isTrue(0.5) ? null : names.filter(() => random.isTrue(0.7))),
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
  const type = random.pick(['approval.grant', 'approval.grant', 'approval.revoke'] as const);
  if (!isThere) return;
  play.troupe.send({ type, server });
  const connection = connectionOf(play.wanted.brought.get(server));
  if (type === 'approval.grant') play.wanted.granted.set(server, connection);
  else if (play.wanted.granted.get(server) === connection) play.wanted.granted.delete(server);
}

async function begin(seed: number): Promise<Play> {
  const wanted: Wanted = {
    own: new Map(ownNames.map((name) => [name, { args: ['1'] }])),
    brought: new Map(broughtNames.map((name) => [name, { args: ['1'] }])),
    excluded: new Set(),
    allowed: null,
    trusted: true,
    granted: new Map(),
  };
  const sent = new Map<string, number>();
  const there = await stage({
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
  return Object.assign(there, { wanted, sent });
}

/** What is wrong at rest; empty when the servers are as the files and decisions say. */
async function problemsAtRest(play: Play): Promise<readonly string[]> {
  const { troupe, wanted } = play;
  const tools = new Set(troupe.tools().map(({ server }) => server));
  const left = (await troupe.plan()).filter(({ step }) => step !== 'keep');
  return [
    ...left.map(({ server, step }) => `planned again: ${step} ${server}`),
    ...play.errors.map(({ message }) => message),
    ...names.flatMap((name) => {
      const state = troupe.status(name)?.state ?? 'gone';
      const isWanted = entryOf(wanted, name) !== undefined;
      const expected = !isWanted ? 'gone' : mayRun(wanted, name) ? 'ready' : 'at rest';
      const found = state === 'blocked' || state === 'disabled' ? 'at rest' : state;
      const script = play.sessions.scripts.findLast(({ input }) => input.server === name);
      const isOpen = script !== undefined && script.state !== 'over';
      return [
        ...(found === expected ? [] : [`${name} should be ${expected} and is ${state}`]),
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
    return problems;
  } finally {
    await play.troupe.stop();
  }
}

/** One more edit of one server: nobody else may notice. */
async function problemsOfOneEdit(play: Play, random: Random): Promise<readonly string[]> {
  const before = names.map((name) => [name, meaningOf(play.wanted, name), touchesOf(play, name)]);
  const server = random.pick(ownNames);
  play.wanted.own.set(server, { args: [`new ${random.int(1, 9)}`] });
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
  it('goes from no server to the first, and from the last to none, and leaves nothing', async () => {
    const there = await stage();
    const childrenBefore = there.childIds();
    for (let round = 0; round < 3; round += 1) {
      await there.apply(servers({ db: `srv${round}` }));
      expect(there.stateOf('db')).toBe('ready');
      const session = there.sessions.of('db');
      session.offer({ prompts: [{ name: 'greet' }] });
      await there.settle();
      expect([there.troupe.tools().length, there.troupe.prompts().length]).toEqual([1, 1]);
      await there.apply(servers({}));
      expect(session.state).toBe('over');
      expect([...there.troupe.tools(), ...there.troupe.prompts()]).toEqual([]);
      expect(there.troupe.snapshot().servers).toEqual([]);
      expect(there.childIds()).toEqual(childrenBefore);
    }
    expect(there.sessions.scripts).toHaveLength(3);
  });

  it(
    `applies what is wanted, and nothing else, after ${seedCount} random edit scripts`,
    async () => {
      for (let seed = 1; seed <= seedCount; seed += 1) {
        expect(await playScript(seed), `seed ${seed}`).toEqual([]);
      }
    },
    60_000 + seedCount * 500,
  );
});
