import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  type AnyActorRef,
  type AnyStateMachine,
  assign,
  createActor,
  createMachine,
  fromCallback,
  setup,
} from 'xstate';
import { serverMachine } from '../../machines/server/server.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import type { InspectionRecord } from '../../src/domain/host/inspection.ts';
import type { LastError, ServerStatus, TroupeSnapshot } from '../../src/domain/host/status.ts';
import { edgeOf } from '../../src/recorder/chart-names.ts';
import { Recorder } from '../../src/recorder/recorder.ts';
import { pathOf, statesOf, transitionsOf } from '../../src/testing/chart-parts.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { crash, failure, servers, stageOf } from '../runtime/stage.ts';
import { statusOf } from '../visualizations/samples.ts';

const visualizations = new URL('../../visualizations/charts/', import.meta.url);
const machines: readonly AnyStateMachine[] = [serverMachine, slotsMachine, troupeMachine];

/** Everything that the pictures name by this attribute. */
function drawn(attribute: string): ReadonlySet<string> {
  const texts = readdirSync(visualizations)
    .filter((name) => name.endsWith('.svg'))
    .map((name) => readFileSync(new URL(name, visualizations), 'utf8'));
  const pattern = new RegExp(`${attribute}="([^"]*)"`, 'gu');
  return new Set(
    texts.flatMap((text) =>
      [...text.matchAll(pattern)].flatMap(([, names = '']) => names.split(' ')),
    ),
  );
}

function recordersOf(records: readonly InspectionRecord[], kind: InspectionRecord['kind']) {
  return records.filter((record) => record.kind === kind);
}

describe('records', () => {
  it('name transitions and states like the pictures', () => {
    const edges = drawn('data-transitions');
    const states = drawn('data-state');
    expect(edges.size).toBeGreaterThan(100);
    for (const machine of machines) {
      for (const state of statesOf(machine)) {
        const isDrawn = states.has(pathOf(state));
        // The server itself is no box: each of its regions has a picture.
        expect(isDrawn || state === serverMachine.root).toBe(true);
        const leading = transitionsOf(state).filter(({ target = [] }) => target.length > 0);
        expect(edges).toEqual(new Set([...edges, ...leading.map(edgeOf)]));
      }
    }
  });

  it('describe every startup step', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }), record: true });
    const { inspection } = stage.troupe;
    const { actors = [] } = inspection.picture() ?? {};
    const db = actors.find(({ id }) => id === 'db.0');
    const session = actors.find(({ parent }) => parent === db?.actor);
    expect(db).toMatchObject({ machine: 'server', server: 'db', life: 'active' });
    expect(session).toMatchObject({ id: 'session', machine: 'session', server: 'db' });
    const records = inspection.records(1, 10_000);
    expect(records.map(({ n }) => n)).toEqual(records.map((_, index) => index + 1));
    const told = [
      expect.objectContaining({ kind: 'actor', actor: db?.actor, parent: expect.any(String) }),
      expect.objectContaining({
        kind: 'event',
        to: session?.actor,
        type: 'xstate.done.actor.connectClient',
      }),
      expect.objectContaining({
        kind: 'event',
        to: db?.actor,
        from: session?.actor,
        type: 'session.listed',
        facts: { toolCount: 1 },
      }),
      expect.objectContaining({
        kind: 'step',
        actor: db?.actor,
        type: '',
        edges: expect.arrayContaining(['server.connection.settling.wanting#1']) as unknown,
      }),
      expect.objectContaining({
        kind: 'timer',
        actor: db?.actor,
        id: 'xstate.after.sustainedReady.server.connection.engaged.live.ready',
        delay: 'sustainedReady',
        ms: 60_000,
      }),
      expect.objectContaining({ kind: 'timerEnd', actor: db?.actor, fired: false }),
      expect.objectContaining({
        kind: 'status',
        status: expect.objectContaining({ name: 'db', state: 'ready' }),
      }),
      expect.objectContaining({
        kind: 'reconciled',
        plan: [expect.objectContaining({ server: 'db', step: 'spawn' })],
      }),
    ];
    for (const each of told) expect(records).toContainEqual(each);
  });

  it('include fired timers, ignored events and removed servers', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }), record: true });
    const { inspection } = stage.troupe;
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    const backoff = stage.troupe.status('db')?.nextAttemptAt ?? '';
    await stage.advance(Date.parse(backoff) - stage.clock.wallNow());
    const fired = recordersOf(inspection.records(1, 10_000), 'timerEnd');
    expect(fired).toContainEqual(
      expect.objectContaining({
        fired: true,
        id: 'xstate.after.reconnectBackoff.server.connection.parked.backingOff.retrying',
      }),
    );
    stage.actorOf('db').send({ type: 'slot.granted' });
    expect(inspection.records(1, 10_000)).toContainEqual(
      expect.objectContaining({ kind: 'ignored', type: 'slot.granted' }),
    );
    await stage.apply(servers({}));
    await stage.advance(1_000);
    expect(inspection.records(1, 10_000)).toContainEqual(
      expect.objectContaining({ kind: 'gone', server: 'db' }),
    );
    expect(inspection.picture()?.servers).toEqual([]);
  });

  it('contain only listed fields, redacted and bounded', async () => {
    const stage = await stageOf({
      settings: servers({
        db: {
          command: 'srv',
          args: ['--token', 'hunter2-very-secret'],
          env: { KEY: 'hunter2-env' },
        },
      }),
      record: true,
    });
    const { inspection } = stage.troupe;
    const message = `Bearer hunter2-bearer \u001b[31mred\u202e ${'long '.repeat(100)}`;
    stage.sessions.of('db').fail(failure('crashed', { message, stderrTail: [message] }));
    await stage.settle();
    const db = inspection.picture()?.actors.find(({ server }) => server === 'db')?.actor ?? '';
    const { lastError } = (inspection.context(db) ?? {}) as { lastError?: { message: string } };
    expect(lastError?.message).toMatch(/^Bearer \[redacted\] red long /u);
    expect(lastError?.message.length).toBeLessThanOrEqual(200);
    const told = JSON.stringify([
      inspection.records(1, 10_000).filter(({ kind }) => kind !== 'status'),
      (inspection.picture()?.actors ?? []).map(({ actor }) => inspection.context(actor)),
    ]);
    expect(told).not.toContain('hunter2');
    expect(told).not.toContain('srv');
    expect(told).not.toMatch(/\\u001b|\u202e/u);
    expect(told).toContain('"failure":"crashed"');
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const emptyTruth: TroupeSnapshot = {
  troupe: {
    pid: 1,
    version: '0',
    since: '',
    state: 'running',
    sessions: {
      total: 0,
      byTransport: { stdio: 0, http: 0, sse: 0, ws: 0, memory: 0 },
      subprocessCount: 0,
    },
    problems: [],
  },
  servers: [],
};

function recording(
  machine: AnyStateMachine,
  options: { readonly records?: number; readonly maxBytes?: number } = {},
) {
  const faults: unknown[] = [];
  const clock = new VirtualClock();
  const root: AnyActorRef = createActor(machine, { clock });
  root.subscribe({ error: () => undefined });
  const recorder = new Recorder({
    clock,
    records: 1_000,
    ...options,
    report: (_, error) => faults.push(error),
  });
  recorder.attach(root, emptyTruth);
  root.start();
  return { root, recorder, faults, clock };
}

function lastErrorOf(line: string): LastError {
  return { code: 'CRASHED', kind: 'crashed', message: 'It crashed.', stderrTail: [line] };
}

describe('the recorder', () => {
  const hostile = {
    get session(): never {
      throw new Error('a trap');
    },
  };

  it('survives values that throw on access', () => {
    const machine = setup({
      types: { context: {} as { count: number; trap: unknown } },
      actions: { count: assign({ count: ({ context }) => context.count + 1 }) },
    }).createMachine({
      id: 'slots',
      context: { count: 0, trap: hostile },
      on: { '*': { actions: 'count' } },
    });
    const { root, recorder, faults } = recording(machine);
    for (let round = 0; round < 3; round += 1) {
      root.send(Object.defineProperty({ type: 'call.failed' }, 'session', { get: trap }) as never);
      root.send({ type: 'other' } as never);
    }
    expect((root.getSnapshot() as { context: { count: number } }).context.count).toBe(6);
    // Once is enough.
    expect(faults).toHaveLength(1);
    expect(recorder.records(1, 1_000).map(({ kind }) => kind)).toContain('step');
    expect(recorder.context(root.sessionId)).toBeDefined();
  });

  it('drops the oldest records when they take more than the given bytes', () => {
    const toggling = createMachine({
      id: 'slots',
      initial: 'calm',
      states: { calm: { on: { next: 'busy' } }, busy: { on: { next: 'calm' } } },
    });
    const { root, recorder } = recording(toggling, { maxBytes: 10_000 });
    for (let round = 0; round < 100; round += 1) root.send({ type: 'next' });
    const { first, last } = recorder;
    expect(last).toBe(301);
    expect(last - first + 1).toBeGreaterThan(20);
    expect(last - first + 1).toBeLessThan(60);
    expect(recorder.picture(first - 2)).toBeUndefined();
    // Each moment that is left is as it was: the state record follows its event and step.
    for (const record of recorder.records(first, 1_000)) {
      if (record.kind !== 'state') continue;
      const leaves = recorder.picture(record.n)?.actors[0]?.leaves;
      expect(leaves).toEqual(record.leaves);
    }
    const noisy = { ...statusOf('db'), lastError: lastErrorOf('x'.repeat(9_000)) };
    recorder.noteStatus(noisy);
    expect(recorder.records(1, 1_000).length).toBeLessThan(4);
    recorder.noteStatus({ ...noisy, lastError: lastErrorOf('x'.repeat(20_000)) });
    // Even one that is too large by itself is shown, alone.
    expect(recorder.records(1, 1_000).map(({ kind }) => kind)).toEqual(['status']);
    expect(recorder.picture()?.servers.map(({ name }) => name)).toEqual(['db']);
  });

  it("redacts tokens in a server's last error", () => {
    const { recorder } = recording(createMachine({}));
    const lastError = { message: 'Bearer abcdef', stderrTail: ['sent Bearer ghijkl to it'] };
    recorder.noteStatus({ name: 'db', lastError } as unknown as ServerStatus);
    const shown = JSON.stringify([recorder.records(1, 100), recorder.picture()]);
    expect(shown).toContain('to it');
    expect(shown).not.toMatch(/abcdef|ghijkl/);
  });

  it('survives a report callback that throws', () => {
    const root = createActor(createMachine({}));
    const recorder = new Recorder({
      clock: new VirtualClock(),
      report: () => {
        throw new Error('no listener');
      },
    });
    recorder.attach(root, emptyTruth);
    root.start();
    root.send(Object.defineProperty({ type: 'call.failed' }, 'session', { get: trap }) as never);
    expect(root.getSnapshot().status).toBe('active');
  });

  it('records a throwing chart and the descendants of a throwing root', () => {
    const child = createMachine({ on: { go: { actions: trap } } });
    const machine = setup({ actors: { child } }).createMachine({
      id: 'troupe',
      invoke: { src: 'child', id: 'db.0' },
      on: { 'xstate.error.actor.*': {}, fall: { actions: trap } },
    });
    const { root, recorder } = recording(machine);
    const { children } = root.getSnapshot() as { children: Record<string, AnyActorRef> };
    children['db.0']?.send({ type: 'go' });
    expect(recorder.records(1, 1_000)).toContainEqual(
      expect.objectContaining({ kind: 'state', actor: children['db.0']?.sessionId, life: 'error' }),
    );
    expect(recorder.picture()?.actors).toMatchObject([{ machine: 'troupe', life: 'active' }]);
    root.send({ type: 'fall' });
    expect(recorder.picture()?.actors).toMatchObject([{ machine: 'troupe', life: 'error' }]);
  });

  it('keeps the configured number of records and no references to ended actors', async () => {
    const refs: WeakRef<AnyActorRef>[] = [];
    const child = fromCallback(() => undefined);
    const machine = setup({ actors: { child } }).createMachine({
      id: 'troupe',
      initial: 'off',
      states: {
        off: { on: { turn: 'on' } },
        on: { on: { turn: 'off' }, invoke: { src: 'child', id: 'session' } },
      },
    });
    const { root, recorder } = recording(machine, { records: 40 });
    for (let round = 0; round < 200; round += 1) {
      root.send({ type: 'turn' });
      const { children } = root.getSnapshot() as { children: Record<string, AnyActorRef> };
      if (children['session'] !== undefined) refs.push(new WeakRef(children['session']));
    }
    expect(recorder.last - recorder.first).toBe(39);
    expect(recorder.picture()?.actors).toHaveLength(1);
    await new Promise(setImmediate);
    collectGarbage();
    const kept = refs.filter((ref) => ref.deref() !== undefined);
    expect(refs).toHaveLength(100);
    expect(kept.length).toBeLessThan(5);
  });

  it('notifies followers once for many records until they unsubscribe', async () => {
    const { root, recorder } = recording(createMachine({ id: 'slots', on: { go: {} } }));
    let calls = 0;
    const end = recorder.follow(() => {
      calls += 1;
      throw new Error('a follower that fails');
    });
    for (let round = 0; round < 10; round += 1) root.send({ type: 'go' });
    expect(calls).toBe(0);
    await new Promise(setImmediate);
    expect(calls).toBe(1);
    root.send({ type: 'go' });
    await new Promise(setImmediate);
    expect(calls).toBe(2);
    end();
    root.send({ type: 'go' });
    await new Promise(setImmediate);
    expect(calls).toBe(2);
  });
});

function trap(): never {
  throw new Error('a trap');
}
