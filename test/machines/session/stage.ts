/** A real session chart whose leaf actors answer when the test says so, under a server that only listens. */

import {
  type AnyActorRef,
  type AnyEventObject,
  assign,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
  type PromiseActorLogic,
} from 'xstate';
import { type RefreshContext, refreshMachine } from '../../../machines/session/list-refresh.ts';
import { type SessionContext, sessionMachine } from '../../../machines/session/session.ts';
import { parentOf } from '../../../machines/xstate/internals.ts';
import { withActors } from '../../../machines/xstate/with-actors.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type {
  CloseOutcome,
  ConnectOutcome,
  LaunchOutcome,
  ListName,
  ListOutcome,
  ResolveOutcome,
  SessionCommand,
  SessionEnd,
  SessionFact,
  SessionId,
  WireCommand,
  WireFact,
} from '../../../src/domain/session.ts';
import { recordTrace } from '../../../src/testing/trace.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import {
  connected,
  launched,
  listed,
  type OutputOf,
  resolved,
  type SessionSnapshot,
  type SmallSession,
  type StepName,
  smallSession,
} from './small-session.ts';

/** A leaf actor by the path of its ids below the session, as in `tools/listItems`. */
type LeafName = Exclude<StepName, 'listItems'> | `${ListName}/listItems`;
type AnswerOf<Leaf extends LeafName> = Leaf extends StepName ? OutputOf<Leaf> : ListOutcome;

export interface SessionStage {
  readonly clock: VirtualClock;
  /** What the session reported to its server, oldest first. */
  readonly facts: readonly SessionFact[];
  /** How the session ended; more than one entry would be a fault. */
  readonly ends: readonly SessionEnd[];
  /** Leaf actors that run now. */
  readonly running: readonly string[];
  /** Every start of a leaf actor, and every command to the wire, oldest first. */
  readonly requests: readonly string[];
  snapshot(): SessionSnapshot;
  /** Sends as the server chart does. */
  command(command: SessionCommand): void;
  /** Sends as the actor of the connection does. */
  report(fact: WireFact): void;
  /** A leaf actor answers. */
  answer<Leaf extends LeafName>(leaf: Leaf, output: AnswerOf<Leaf>): void;
  /** A leaf actor throws. */
  break(leaf: LeafName | 'wire'): void;
  /** Connects a local server, whose first list is then awaited. */
  connect(offers?: { readonly resources: boolean; readonly prompts: boolean }): void;
  /** The same, and lists its tools. */
  open(offers?: { readonly resources: boolean; readonly prompts: boolean }): void;
  /** Writes a heading into the story. */
  chapter(text: string): void;
  /** Begins the story here. */
  beginHere(): void;
  toString(): string;
}

/** Starts a session. */
export function stageSession(given: SmallSession = {}): SessionStage {
  const clock = new VirtualClock();
  const trace = recordTrace({ clock, describe, describeContext });
  const leaves = new Leaves();
  const facts: SessionFact[] = [];
  const ends: SessionEnd[] = [];
  const server = createActor(createServer(leaves, given, facts, ends), {
    id: 'server',
    clock,
    inspect: trace.inspect,
  });
  server.start();
  const session = server.getSnapshot().children['session'] as AnyActorRef;
  const stage: SessionStage = {
    clock,
    facts,
    ends,
    get running() {
      return leaves.running;
    },
    requests: leaves.requests,
    snapshot: () => session.getSnapshot() as SessionSnapshot,
    command: (command) => session.send(command),
    report: (fact) => leaves.report(fact),
    answer: (leaf, output) => leaves.send(leaf, { type: 'answered', output }),
    break: (leaf) => leaves.send(leaf, { type: 'breaks' }),
    connect(offers = { resources: false, prompts: false }) {
      stage.answer('resolveTarget', resolved());
      stage.answer('launchProcess', launched);
      stage.answer('connectClient', connected({ offers, pid: 7 }));
    },
    open(offers) {
      stage.connect(offers);
      stage.answer('firstList', listed());
    },
    chapter: (text) => trace.note(`# ${text}`),
    beginHere: () => trace.clear(),
    toString: () => trace.toString(),
  };
  return stage;
}

function createServer(
  leaves: Leaves,
  given: SmallSession,
  facts: SessionFact[],
  ends: SessionEnd[],
) {
  const listItems = leaves.step<ListOutcome, SessionId & { readonly list: ListName }>('list');
  const session = withActors(sessionMachine, {
    wire: leaves.wire(),
    resolveTarget: leaves.step<ResolveOutcome, SessionId>(),
    launchProcess: leaves.step<LaunchOutcome, SessionId & { readonly isSecond: boolean }>(
      'isSecond',
    ),
    connectClient: leaves.step<
      ConnectOutcome,
      SessionId & { readonly handshake: 'negotiated' | 'old' | 'overSse' }
    >('handshake'),
    listItems,
    refresh: withActors(refreshMachine, { listItems }),
    closeConnection: leaves.step<
      CloseOutcome,
      SessionId & { readonly how: 'orderly' | 'lost' | 'draining' }
    >('how'),
  });
  return createMachine({
    id: 'server',
    context: { end: undefined as SessionEnd | undefined },
    invoke: {
      id: 'session',
      src: session,
      input: smallSession(given),
      onDone: {
        actions: [
          ({ event }) => ends.push(event.output as SessionEnd),
          assign({ end: ({ event }) => event.output as SessionEnd }),
        ],
      },
    },
    on: { 'session.*': { actions: ({ event }) => facts.push(event as SessionFact) } },
  });
}

type LeafEvent =
  | { readonly type: 'answered'; readonly output: unknown }
  | { readonly type: 'breaks' };

/** The leaf actors of one session. */
class Leaves {
  readonly requests: string[] = [];
  readonly #running = new Map<string, AnyActorRef>();
  #report: ((fact: WireFact) => void) | undefined;

  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  send(name: string, event: LeafEvent): void {
    const leaf = this.#running.get(name);
    if (leaf === undefined) throw new Error(`"${name}" does not run.`);
    leaf.send(event as AnyEventObject);
  }

  report(fact: WireFact): void {
    if (this.#report === undefined) throw new Error('The wire does not run.');
    this.#report(fact);
  }

  /** `shown` is the field of the input that tells the requests apart. */
  step<Output, Input extends object>(
    shown?: Exclude<keyof Input, keyof SessionId>,
  ): PromiseActorLogic<Output, Input> {
    const logic = fromPromise<Output, Input>(() => new Promise<never>(() => {}));
    const shownOf = (input: Input | undefined): Readonly<Record<string, unknown>> =>
      shown === undefined || input === undefined ? {} : { [shown]: input[shown] };
    const leave = (self: AnyActorRef): void => void this.#running.delete(nameOf(self));
    return {
      ...logic,
      getInitialSnapshot: (scope, input) => {
        const context = shownOf(input);
        return { ...logic.getInitialSnapshot(scope, input), context };
      },
      transition: (state, event, { self }) => {
        if (state.status !== 'active') return state;
        const { type, output } = event as unknown as { type: string; output: Output };
        leave(self);
        if (type === 'breaks') throw new Error('a fault');
        if (type === 'answered') return { ...state, status: 'done', output, input: undefined };
        return { ...state, status: 'stopped', input: undefined };
      },
      start: ({ input }, { self }) => {
        const [how] = Object.values(shownOf(input)).map(String);
        this.requests.push(how === undefined ? nameOf(self) : `${nameOf(self)} ${how}`);
        this.#running.set(nameOf(self), self);
      },
    };
  }

  wire() {
    return fromCallback<WireCommand, SessionId>(({ self, sendBack, receive }) => {
      this.#report = sendBack;
      this.#running.set('wire', self);
      receive((event) => {
        if ((event as AnyEventObject).type === 'breaks') {
          this.#running.delete('wire');
          throw new Error('a fault');
        }
        this.requests.push(event.type);
      });
      return () => {
        this.#report = undefined;
        this.#running.delete('wire');
      };
    });
  }
}

function nameOf(leaf: AnyActorRef): string {
  const parent = parentOf(leaf);
  return parent === undefined || parent.id === 'session' ? leaf.id : `${parent.id}/${leaf.id}`;
}

/** The few words of a payload that the story turns on. */
function describe(event: AnyEventObject): string {
  const facts = event as {
    readonly failure?: Failure;
    readonly isGone?: boolean;
    readonly drains?: boolean;
    readonly method?: string;
    readonly answer?: string;
    readonly reason?: string;
    readonly era?: string;
    readonly toolCount?: number;
    readonly failedChecks?: number;
    readonly list?: string;
    readonly outcome?: Partial<ListOutcome>;
    readonly output?: { readonly type?: string; readonly failure?: Failure };
  };
  const { output, outcome } = facts;
  const words = [
    facts.method,
    facts.era,
    facts.answer,
    facts.reason,
    facts.failedChecks,
    facts.toolCount !== undefined && `${facts.toolCount} tools`,
    facts.list,
    outcome?.type,
    output?.type,
    (facts.failure ?? output?.failure)?.kind,
    facts.isGone === false && 'its process lives',
    facts.drains === true && 'drains',
  ].filter((word) => word !== undefined && word !== false);
  return words.length === 0 ? '' : `(${words.join(', ')})`;
}

/** What the next decision of a chart depends on. */
function describeContext(
  context: Partial<SessionContext & RefreshContext> & { readonly end?: SessionEnd },
): Readonly<Record<string, unknown>> {
  const { end, failure, failedChecks, pauseMs, retryMs } = context;
  if ('end' in context) return end === undefined ? {} : { end: inWords(end) };
  if (pauseMs !== undefined) return { pauseMs, retryMs };
  if (failedChecks !== undefined) return { failure: failure?.kind ?? 'none', failedChecks };
  return context;
}

function inWords({ wasOpen, failure, isFlood, evidence }: SessionEnd): string {
  return [
    failure === null ? 'as asked' : `${failure.kind}: ${failure.message}`,
    wasOpen ? 'was open' : 'was never open',
    ...(isFlood ? ['flood'] : []),
    ...(Object.keys(evidence).length === 0 ? [] : [JSON.stringify(evidence)]),
  ].join('; ');
}
