/**
 * Exports a server's history as a test, which repeats the events from outside with a scripted troupe and needs
 * neither processes nor real time.
 */

import { isRecord } from '../../src/domain/data/is-record.ts';
import type {
  ActorKey,
  EventRecord,
  InspectionRecord,
  InspectionSource,
  PicturedActor,
} from '../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import { isRemote, type TransportKind } from '../../src/domain/server-spec.ts';
import { argumentsError } from '../../src/domain/user-errors.ts';
import { equalData } from '../../src/policies/equal-data.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { literal, quotedFor } from '../../src/policies/text/quoted.ts';

const pageSize = 5_000;

/**
 * Returns a TypeScript test that brings a server to its state after record `to`.
 * @throws TroupeError `INVALID_ARGUMENTS` for an actor that was not a server then
 */
export function modelTestOf(source: InspectionSource, actor: ActorKey, to: number): string {
  const picture = source.picture(to);
  const server = picture?.actors.find((it) => it.actor === actor)?.server;
  const status = picture?.servers.find(({ name }) => name === server);
  if (status === undefined) {
    throw argumentsError(`after record ${to} there is no server ${actor}; choose another moment`);
  }
  const { events, firstState, isWhole } = historyOf(source, actor, to);
  const { policy, seed } = source.context(actor, firstState) ?? {};
  const lines = linesOf(events, status.name);
  // The first server uses the troupe's seed, so that its waits have the same jitter.
  return testText(status, policy, Number(seed ?? 1), isWhole ? lines : [startsLater, ...lines]);
}

const startsLater = '// The records start later: bring the server to that state first.';

/** An event for the server or its session. */
interface SeenEvent extends EventRecord {
  /** Number of the server's session at that time. */
  readonly session: number;
}

/** Reads the events for a server and its sessions from the records up to `to`. */
function historyOf(source: InspectionSource, actor: ActorKey, to: number) {
  const isSession = ({ machine, parent }: Pick<PicturedActor, 'machine' | 'parent'>): boolean =>
    machine === 'session' && parent === actor;
  const pictured = source.picture(source.first)?.actors ?? [];
  const sessions = new Set(pictured.filter(isSession).map((each) => each.actor));
  const isSeen = ({ from, to: target, type }: EventRecord): boolean =>
    from !== target &&
    (target === actor || (sessions.has(target) && Object.hasOwn(toSession, type)));
  const events: SeenEvent[] = [];
  /** The first record with the server's context. */
  let firstState = source.first;
  /** Whether the records include the server's creation. */
  let isWhole = false;
  let session = sessionIn(source.context(actor, source.first)) ?? 0;
  for (const record of recordsUpTo(source, to)) {
    if (record.kind === 'actor') {
      if (isSession(record)) sessions.add(record.actor);
      isWhole ||= record.actor === actor;
    } else if (record.kind === 'state' && record.actor === actor) {
      if (firstState === source.first) firstState = record.n;
      session = sessionIn(record.changed) ?? session;
    } else if (record.kind === 'event' && isSeen(record)) {
      events.push({ ...record, session });
    }
  }
  return { events, firstState, isWhole };
}

/** The number of the server's session, if the context or its changes have it. */
function sessionIn(facts: Readonly<Record<string, unknown>> = {}): number | undefined {
  return facts['session'] === undefined ? undefined : Number(facts['session']);
}

function* recordsUpTo(source: InspectionSource, to: number): Generator<InspectionRecord> {
  for (let from = source.first; from <= to; ) {
    const page = source.records(from, pageSize);
    for (const record of page) if (record.n <= to) yield record;
    const last = page.at(-1);
    if (last === undefined) return;
    from = last.n + 1;
  }
}

type Step = (server: string, facts: Readonly<Record<string, unknown>>) => string;

const command =
  (type: string): Step =>
  (server) =>
    `troupe.send({ type: '${type}', server: ${quoted(server)} });`;

/** A call whose answer does not come in time. */
const failCall: Step = (server) =>
  [
    `void troupe.callServerTool(${quoted(server)}, 'tool1').catch(() => undefined);`,
    'await settle();',
    "session.calls.at(-1)?.fail({ reason: 'timeout', written: true, message: 'It took too long.' });",
  ].join('\n');

const toServer: Readonly<Record<string, Step>> = {
  'server.start': command('server.start'),
  'server.stop': command('server.stop'),
  'server.restart': command('server.restart'),
  'server.reconnect': command('server.reconnect'),
  'server.refresh': command('server.refresh'),
  'server.woke': () => "troupe.send({ type: 'system.woke' });",
  'server.demanded': (server) =>
    `void troupe.callServerTool(${quoted(server)}, 'tool1').catch(() => undefined);`,
};

const fromSession: Readonly<Record<string, Step>> = {
  'call.failed': failCall,
  'session.opened': (_, { era }) => `session.open({ era: ${quoted(era)} });`,
  'session.listed': (_, { toolCount }) => `session.list(tools(${countIn(toolCount)}));`,
  'session.listFailed': (_, { failure }) => `session.failList(${failureText(failure)});`,
  'session.impaired': (_, { reason }) => `session.impair(${quoted(reason)});`,
  'session.recovered': (_, { reason }) => `session.recover(${quoted(reason)});`,
  // A deadline may already have ended the session, as in the recording.
  'xstate.done.actor.session': (_, { failure }) =>
    [
      "if (session.state === 'closing') session.closed();",
      ...(typeof failure === 'string'
        ? [`else if (session.state !== 'over') session.fail(${failureText(failure)});`]
        : []),
    ].join('\n'),
};

/** Events for a session that it does not pass on to its server's chart. */
const toSession: Readonly<Record<string, Step>> = {
  'wire.probed': (_, { answer }) => `session.probed(${quoted(answer)});`,
  'wire.paused': () => 'session.pause();',
  'wire.broke': () => 'session.breakOff();',
  'tools.changed': () => 'session.notify();',
};

/**
 * The statement for each event; other events follow from these or have no counterpart in a script. A map,
 * because an event in a journal may be named like an inherited property.
 */
const steps: ReadonlyMap<string, Step> = new Map(
  Object.entries({ ...toServer, ...fromSession, ...toSession }),
);
const needsSession: ReadonlySet<string> = new Set(Object.keys({ ...fromSession, ...toSession }));

// More than a real server lists; a forged journal must not exhaust the memory of a test.
const mostTools = 10_000;

function countIn(count: unknown): number {
  return Number.isSafeInteger(count) ? Math.min(Math.max(Number(count), 0), mostTools) : 0;
}

/** In a script, these follow from other events. */
const automatic: ReadonlySet<string> = new Set([
  'slot.granted',
  'admission.granted',
  'session.silent',
  'session.closing',
]);

/** Whether a test repeats this event. */
export function hasStep(type: string): boolean {
  return steps.has(type);
}

/** Whether this event follows from others in a test. */
export function isAutomatic(type: string): boolean {
  return automatic.has(type) || (type.startsWith('xstate.') && !steps.has(type));
}

function linesOf(events: readonly SeenEvent[], server: string): readonly string[] {
  const lines: string[] = [];
  let at: number | undefined;
  let session = 0;
  for (const { type, facts = {}, t, session: present } of events) {
    const step = steps.get(type);
    if (step === undefined) {
      if (isAutomatic(type)) continue;
      // Quoted, so that a forged journal cannot end the comment and continue as code.
      lines.push(`// Then ${quoted(type)} followed, which a script cannot express.`);
      continue;
    }
    const passed = at === undefined ? 0 : Math.round(t - at);
    at = t;
    const number = needsSession.has(type) ? present : session;
    // The wait before a session has jitter, so wait for the session itself.
    if (number !== session) {
      session = number;
      lines.push(`session = await sessionNumber(${session});`);
    } else if (passed > 0) {
      lines.push(`await advance(${passed});`);
    }
    lines.push(step(server, facts), 'await settle();');
  }
  return lines;
}

/** The connection in the server's settings. */
function connectionOf(transport: TransportKind): Readonly<Record<string, unknown>> {
  if (!isRemote(transport)) return { command: 'server' };
  if (transport === 'ws') return { type: 'ws', url: 'ws://localhost/mcp' };
  return { type: transport === 'sse' ? 'sse' : 'http', url: 'http://localhost/mcp' };
}

/** The policy fields that differ from the default. */
function overridesIn(policy: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(policy)) return {};
  const groups = Object.entries(defaultPolicy).flatMap(([group, fields]) => {
    const given = policy[group];
    if (!isRecord(given)) return [];
    const differing = Object.entries(fields).flatMap(([field, value]) =>
      !Object.hasOwn(given, field) || equalData(value, given[field]) ? [] : [[field, given[field]]],
    );
    return differing.length === 0 ? [] : [[group, Object.fromEntries(differing)]];
  });
  return Object.fromEntries(groups);
}

function testText(
  status: ServerStatus,
  policy: unknown,
  seed: number,
  lines: readonly string[],
): string {
  const { name, state, reason, catalog, circuit } = status;
  const wanted = { state, ...(reason === undefined ? {} : { reason }), catalog, circuit };
  const overrides = overridesIn(policy);
  const entry = {
    ...connectionOf(status.transport),
    ...(Object.keys(overrides).length === 0 ? {} : { policy: overrides }),
  };
  const settings = literal({ mcpServers: { [name]: entry } }, 2);
  return [
    "import { createScriptedTroupe, type SessionScript } from 'mcp-troupe/testing';",
    "import { expect, it } from 'vitest';",
    '',
    `it(${quoted(`leads ${name} to ${state}${reason === undefined ? '' : ` (${reason})`}`)}, async () => {`,
    ...indented([
      'const { troupe, sessions, settle, advance } = createScriptedTroupe({',
      ...indented([`seed: ${seed},`, `settings: ${settings},`]),
      '});',
      'const tools = (count: number) =>',
      "  Array.from({ length: count }, (_, place) => ({ name: `tool${place + 1}`, inputSchema: { type: 'object' } }));",
      'const sessionNumber = async (number: number): Promise<SessionScript> => {',
      ...indented([
        'for (let tries = 0; tries < 10_000; tries += 1) {',
        '  const found = sessions.scripts.find(({ input }) => input.session === number);',
        "  if (found !== undefined && found.state !== 'idle') return found;",
        '  await advance(100);',
        '}',
        'throw new Error(`session ${number} did not begin`);',
      ]),
      '};',
      'await settle();',
      ...(lines.some((line) => line.startsWith('session = '))
        ? ['let session: SessionScript;']
        : []),
      ...lines,
      `const status = () => troupe.status(${quoted(name)});`,
      `const isThere = () => ${Object.entries(wanted)
        .map(([key, value]) => `status()?.${key} === ${quoted(value)}`)
        .join(' && ')};`,
      'for (let tries = 0; tries < 1_000 && !isThere(); tries += 1) await advance(100);',
      `expect(status()).toMatchObject(${literal(wanted)});`,
      'await Promise.all([troupe.stop(), advance(10_000)]);',
    ]),
    '});',
    '',
  ].join('\n');
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => line.split('\n')).map((line) => `  ${line}`);
}

function quoted(text: unknown): string {
  return quotedFor('script', String(text));
}

function failureText(kind: unknown): string {
  return `{ kind: ${quoted(kind)}, message: ${quoted(`It is ${String(kind)}.`)} }`;
}
