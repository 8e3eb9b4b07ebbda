/** Runs one session actor with recording ports, whose entries a test can await. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

import { type AnyActorRef, createActor, type InspectionEvent, setup } from 'xstate';
import { createSessionIo } from '../../../actors/session/io.ts';
import { createSessionActors, type SessionActors } from '../../../actors/session/leaf-actors.ts';
import type { SessionPorts } from '../../../actors/session/ports.ts';
import { refreshMachine } from '../../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../../machines/session/session.ts';
import { withActors } from '../../../machines/xstate/with-actors.ts';
import type { SideLists } from '../../../src/domain/catalog.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { EmbeddedServer } from '../../../src/domain/host/embedded.ts';
import type { PolicyOverrides } from '../../../src/domain/policy.ts';
import type { ServerSpec, StdioSpec } from '../../../src/domain/server-spec.ts';
import type {
  EraVerdict,
  ListOutcome,
  ProbeAnswer,
  SessionEnd,
  SessionEvidence,
  SessionFact,
  SessionHandle,
} from '../../../src/domain/session.ts';
import type { ListedTool } from '../../../src/domain/tool.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { overridePolicy } from '../../../src/policies/presets/override-policy.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';

/** The steps of a close: after the end of input, and after SIGTERM. */
export function graces(inputMs: number, termMs: number): PolicyOverrides {
  const steps = [
    { by: 'stdinEnd', waitMs: inputMs },
    { by: 'SIGTERM', waitMs: termMs },
  ] as const;
  return { close: { steps } };
}

const policy = overridePolicy(defaultPolicy, {
  // Longer than any test that lets the first list wait; different from every other limit, so that a
  // test can hold one kind of timer.
  connect: { listTimeoutMs: 26_000 },
  call: { timeoutMs: 5_000 },
  ...graces(1_000, 1_000),
});

/** Facts of the session chart, its end, and what its connection reports to it. */
export type BenchFact =
  | SessionFact
  | {
      readonly type: 'session.closed';
      readonly at: number;
      readonly failure?: Failure;
      readonly evidence?: SessionEvidence;
    }
  | { readonly type: 'session.probed'; readonly answer: ProbeAnswer; readonly failure?: Failure }
  | { readonly type: 'session.lost' | 'session.notified' | 'session.paused' | 'session.resumed' };

export type FactOf<Type extends BenchFact['type']> = Extract<BenchFact, { type: Type }>;

/** What a test may do: `session.open` starts the chart, `session.list` lets its first list begin. */
type BenchCommand =
  | 'session.open'
  | 'session.list'
  | 'session.probe'
  | 'session.close'
  | 'session.kill'
  /** Stops the chart as its parent would. */
  | 'io.dispose';

/** Reports of the connection, by the name under which the bench shows them. */
const shownAs: Readonly<Record<string, BenchFact['type']>> = {
  'wire.probed': 'session.probed',
  'wire.paused': 'session.paused',
  'wire.resumed': 'session.resumed',
  'tools.changed': 'session.notified',
};

export interface Bench {
  readonly facts: readonly BenchFact[];
  /** Ports and facts by name, in order of arrival. */
  readonly story: readonly string[];
  readonly lines: readonly string[];
  readonly verdicts: Map<string, EraVerdict>;
  catalog: readonly ListedTool[];
  readonly side: Partial<SideLists>;
  instructions: string | undefined;
  send(type: BenchCommand): void;
  /** The next fact of this type that was not awaited before. */
  next<Type extends BenchFact['type']>(type: Type): Promise<FactOf<Type>>;
  /** Resolves when the story contains this line so many times. */
  told(line: string, count?: number): Promise<void>;
  /** The next line of the log that contains the words. */
  logged(words: string): Promise<string>;
  handle(): SessionHandle;
  /** From here on no timer of ours ends, so whatever still happens has waited for none. */
  holdTimers(): void;
  stop(): void;
}

export interface BenchOptions {
  /** Servers inside the host. */
  readonly embedded?: ReadonlyMap<string, EmbeddedServer>;
  readonly spec?: ServerSpec;
  readonly policy?: PolicyOverrides;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly session?: number;
  /** Addresses of resources that the host watches; may be changed while a session runs. */
  readonly watched?: readonly string[];
}

export type StartBench = (options?: BenchOptions) => Bench;

/** The real actors; a test decides when the first list begins. */
function realActors() {
  return (ports: SessionPorts, listAllowed: () => Promise<void>): SessionActors => {
    const createIo = createSessionIo(ports);
    return createSessionActors((id, report) => {
      const io = createIo(id, report);
      return {
        resolve: (signal) => io.resolve(signal),
        launch: (isSecond, signal) => io.launch(isSecond, signal),
        connect: (handshake, signal) => io.connect(handshake, signal),
        list: async (list, signal) => {
          await listAllowed();
          return io.list(list, signal);
        },
        close: (how) => io.close(how),
        probe: () => io.probe(),
        abandon: () => io.abandon(),
        publish: () => io.publish(),
        kill: () => io.kill(),
        dispose: () => io.dispose(),
      };
    });
  };
}

/** Starts sessions of one logic, which share the eras they found out. */
export function createBench(
  defaultSpec: ServerSpec | undefined,
  createActors: (
    ports: SessionPorts,
    listAllowed: () => Promise<void>,
  ) => SessionActors = realActors(),
): StartBench {
  const verdicts = new Map<string, EraVerdict>();
  const overSse = new Set<string>();
  const leftWhenAsked = new Set<string>();
  let bench = new Recorder(verdicts, realClock);
  let options: BenchOptions = {};
  const sessionActors = createActors(
    {
      specOf: () => {
        const spec = options.spec ?? defaultSpec;
        return spec && { spec, policy: overridePolicy(policy, options.policy ?? {}) };
      },
      get env() {
        return { ...process.env, ...options.env };
      },
      get clock() {
        return bench.clock;
      },
      registry: {
        opened: (_actorId, handle) => bench.registered(handle),
        closed: () => bench.tell('registry.closed'),
      },
      catalogs: {
        put: (_owner, tools, extra) => {
          bench.catalog = tools;
          bench.instructions = extra?.instructions;
          bench.tell('catalogs.put');
        },
        putSide: (_owner, lists) => {
          Object.assign(bench.side, lists);
          bench.tell(`catalogs.putSide ${Object.keys(lists).join(' ')}`);
        },
      },
      eras: {
        get: (generation) => verdicts.get(generation),
        set: (generation, verdict) => void verdicts.set(generation, verdict),
        forget: (generation) => void verdicts.delete(generation),
      },
      watched: {
        of: () => options.watched ?? [],
        changed: (_server, uris) => {
          for (const uri of uris) bench.tell(`changed ${uri}`);
        },
      },
      overSse,
      leftWhenAsked,
      get embedded() {
        return options.embedded ?? new Map();
      },
      log: (_server, line) => bench.log(line),
    },
    () => bench.listAllowed,
  );
  return (given = {}) => {
    options = given;
    bench = new Recorder(verdicts, given.clock ?? realClock);
    bench.prepare(sessionActors, options);
    return bench;
  };
}

class Recorder implements Bench {
  readonly facts: BenchFact[] = [];
  readonly story: string[] = [];
  readonly lines: string[] = [];
  readonly verdicts: Map<string, EraVerdict>;
  catalog: readonly ListedTool[] = [];
  readonly side: Partial<SideLists> = {};
  instructions: string | undefined;
  #handle: SessionHandle | undefined;
  #start: () => void = () => {};
  #host: { readonly session: AnyActorRef; stop(): void } | undefined;
  #allowList: () => void = () => {};
  /** Resolves when the test lets the first list begin. */
  readonly listAllowed = new Promise<void>((resolve) => {
    this.#allowList = resolve;
  });
  readonly #taken = new Set<BenchFact>();
  #waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];

  readonly clock: Clock;
  #holdsTimers = false;

  constructor(verdicts: Map<string, EraVerdict>, clock: Clock) {
    this.verdicts = verdicts;
    this.clock = {
      now: () => clock.now(),
      wallNow: () => clock.wallNow(),
      setTimeout: (callback, delayMs) =>
        clock.setTimeout(() => {
          if (!this.#holdsTimers) callback();
        }, delayMs),
      clearTimeout: (handle) => clock.clearTimeout(handle),
    };
  }

  holdTimers(): void {
    this.#holdsTimers = true;
  }

  prepare(actors: SessionActors, options: BenchOptions): void {
    const session = withActors(sessionMachine, {
      ...actors,
      refresh: withActors(refreshMachine, { listItems: actors.listItems }),
    });
    const { policy: overrides = {} } = options;
    const input = {
      actorId: 'db.0',
      server: 'db',
      generation: 'g1',
      session: options.session ?? 1,
      transport: options.spec?.type ?? 'stdio',
      policy: overridePolicy(policy, overrides),
      isFirstRun: false,
      seed: 1,
    } as const;
    this.#start = () => {
      const host = setup({
        types: { events: {} as SessionFact },
        actors: { session },
      }).createMachine({
        invoke: {
          id: 'session',
          src: 'session',
          input,
          onDone: { actions: ({ event }) => this.#end(event.output) },
        },
        on: {
          'session.closing': { actions: () => this.#receive({ type: 'session.lost' }) },
          'session.*': { actions: ({ event }) => this.#receive(event) },
        },
      });
      const actor = createActor(host, {
        clock: this.clock as NonNullable<Parameters<typeof createActor>[1]>['clock'] & object,
        inspect: (event) => this.#inspect(event),
      });
      actor.start();
      const child = actor.getSnapshot().children.session;
      if (child !== undefined) this.#host = { session: child, stop: () => actor.stop() };
    };
  }

  send(type: BenchCommand): void {
    if (type === 'session.open') {
      if (this.#host === undefined) this.#start();
      return;
    }
    if (this.#host === undefined) {
      // A session that never began has nothing to close.
      if (type === 'session.close') this.#receive({ type: 'session.closed', at: 0 });
      return;
    }
    const { session } = this.#host;
    const wire = session.getSnapshot().children.wire as AnyActorRef | undefined;
    if (type === 'io.dispose') this.stop();
    else if (type === 'session.probe') wire?.send({ type: 'wire.probe' });
    else if (type === 'session.kill') {
      session.send({ type: 'session.close' });
      wire?.send({ type: 'wire.kill' });
    } else session.send({ type });
    if (type === 'session.list') this.#allowList();
  }

  stop(): void {
    this.#host?.stop();
  }

  handle(): SessionHandle {
    if (this.#handle === undefined) throw new Error('The session has not opened.');
    return this.#handle;
  }

  registered(handle: SessionHandle): void {
    this.#handle = handle;
    this.tell('registry.opened');
  }

  log(line: string): void {
    this.lines.push(line);
    this.#wake();
  }

  tell(name: string): void {
    this.story.push(name);
    this.#wake();
  }

  async next<Type extends BenchFact['type']>(type: Type): Promise<FactOf<Type>> {
    const find = (): BenchFact | undefined =>
      this.facts.find((fact) => fact.type === type && !this.#taken.has(fact));
    await this.#until(() => find() !== undefined);
    const fact = find() as FactOf<Type>;
    this.#taken.add(fact);
    return fact;
  }

  told(line: string, count = 1): Promise<void> {
    return this.#until(() => this.story.filter((one) => one === line).length >= count);
  }

  async logged(words: string): Promise<string> {
    const find = (): string | undefined => this.lines.find((line) => line.includes(words));
    await this.#until(() => find() !== undefined);
    return find() as string;
  }

  #end({ at, failure, evidence }: SessionEnd): void {
    const isTelling = failure === null && Object.keys(evidence).length > 0;
    this.#receive({
      type: 'session.closed',
      at,
      ...(failure !== null && { failure }),
      ...(isTelling && { evidence }),
    });
  }

  #inspect(event: InspectionEvent): void {
    if (event.type !== '@xstate.event') return;
    const shown = shownAs[event.event.type];
    if (shown !== undefined) this.#receive({ ...event.event, type: shown } as BenchFact);
    if (event.event.type === 'xstate.done.actor.firstList') {
      const { output } = event.event as unknown as { readonly output: ListOutcome };
      if (output.type === 'failed')
        this.#receive({ type: 'session.listFailed', failure: output.failure });
    }
  }

  #receive(fact: BenchFact): void {
    this.facts.push(fact);
    this.tell(fact.type);
  }

  #until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ isMet, resolve }));
  }

  #wake(): void {
    const met = this.#waiting.filter(({ isMet }) => isMet());
    this.#waiting = this.#waiting.filter((one) => !met.includes(one));
    for (const { resolve } of met) resolve();
  }
}

const fixture = new URL('../../fixtures/stdio-server.mjs', import.meta.url).pathname;

/** A spec of the stdio fixture server in one of its modes. */
export function fixtureSpec(
  mode: string,
  more: Partial<StdioSpec> & { value?: string } = {},
): StdioSpec {
  const { value, ...spec } = more;
  return {
    type: 'stdio',
    command: process.execPath,
    args: [fixture, mode, ...(value === undefined ? [] : [value])],
    env: {},
    cwd: '/tmp',
    era: 'legacy',
    ...spec,
  };
}

/** Call options with room to answer. */
export function callOptions(more: { signal?: AbortSignal; timeoutMs?: number } = {}) {
  return {
    signal: more.signal ?? new AbortController().signal,
    deadlineAt: realClock.now() + (more.timeoutMs ?? 25_000),
  };
}

const endless: Record<string, unknown> = {};
endless['self'] = endless;

/** Arguments that JSON cannot represent, each with its fault. */
export const unwritable: readonly (readonly [what: string, args: unknown])[] = [
  ['a BigInt', { value: 1n }],
  ['circular', endless],
  [
    'an object whose toJSON throws',
    {
      toJSON(): never {
        throw new Error('not for you');
      },
    },
  ],
  ['a function', () => 1],
  ['a list', [1]],
];

/** Whether a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // Linux: the field after the name is the state. A process may disappear before the file is read.
    return !/\) [ZX] /u.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** Resolves when the process is gone or a zombie. */
export async function ended(pid: number): Promise<void> {
  const status = `/proc/${pid}/status`;
  const script = `while [ -d /proc/${pid} ] && ! grep -q '^State:.*Z' ${status}; do sleep 0.02; done`;
  await promisify(execFile)('sh', ['-c', script]);
}
