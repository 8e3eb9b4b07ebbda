/** Short words for stories about a scripted troupe: servers that obey, and things that go wrong. */

import { expect } from 'vitest';
import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent } from 'xstate';
import { childrenOf } from '../../machines/troupe/context.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { CallFailure } from '../../src/domain/session.ts';
import type { ListedTool, ToolResult } from '../../src/domain/tool.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import {
  type ScriptedTroupe,
  type ScriptedTroupeParts,
  scriptedTroupeOf,
} from '../../src/testing/scripted-troupe.ts';
import type { SessionScript } from '../../src/testing/session-script.ts';

export interface Stage extends ScriptedTroupe {
  /** The actor of a server that lives now. */
  actorOf(server: string): AnyActorRef;
  rootOf(): AnyActorRef;
  /** Ids of the root's children, sorted. */
  childIds(): readonly string[];
  /** Names of servers that answer at once; others wait for the test. Null = all answer at once. */
  obedient: Set<string> | null;
  /** What obedient servers list, by server; default one tool, `query`. */
  readonly tools: Map<string, readonly ListedTool[]>;
  /** State and reason of a server, as in `backingOff.retrying`. */
  stateOf(server: string): string;
  /** Every status that was announced, as `name state.reason`. */
  readonly story: string[];
}

/** Starts a troupe and lets its first pass happen. By default every server obeys at once. */
export async function stageOf(
  options: ScriptedTroupeParts & { readonly obedient?: readonly string[] } = {},
): Promise<Stage> {
  const made = setUp(options);
  await made.settle();
  return made;
}

/** Starts a troupe that has read nothing yet. */
export function setUp({
  obedient,
  ...options
}: ScriptedTroupeParts & { readonly obedient?: readonly string[] } = {}): Stage {
  let root: AnyActorRef | undefined;
  const inspect = (event: InspectionEvent): void => {
    root ??= event.actorRef as AnyActorRef;
    options.inspect?.(event);
  };
  const scripted = scriptedTroupeOf({ ...options, inspect });
  const children = (): readonly AnyActorRef[] =>
    childrenOf(root?.getSnapshot() as AnyMachineSnapshot);
  const made: Stage = {
    ...scripted,
    obedient: obedient === undefined ? null : new Set(obedient),
    tools: new Map(),
    story: [],
    stateOf(server) {
      const status = scripted.troupe.status(server);
      if (status === undefined) return 'unknown';
      return status.reason === undefined ? status.state : `${status.state}.${status.reason}`;
    },
    actorOf(server) {
      const found = children().find(({ id }) => id === `${server}.0` || id === `${server}.1`);
      if (found === undefined) throw new Error(`Server ${server} has no actor.`);
      return found;
    },
    rootOf() {
      if (root === undefined) throw new Error('The root was not seen yet.');
      return root;
    },
    childIds: () =>
      children()
        .map(({ id }) => id)
        .sort(),
  };
  scripted.troupe.on('status.changed', ({ status: { name, state, reason } }) => {
    made.story.push(`${name} ${state}${reason === undefined ? '' : `.${reason}`}`);
  });
  scripted.sessions.onCommand = (script, { type }) => {
    const { server } = script.input;
    if (made.obedient !== null && !made.obedient.has(server)) return;
    if (type === 'session.open') script.open();
    if (type === 'session.list') script.list(made.tools.get(server) ?? [tool('query')]);
    if (type === 'session.close' && script.state === 'closing') script.closed();
  };
  return made;
}

/** Settings with these servers; a string stands for a local server with that program. */
export function servers(
  entries: Readonly<Record<string, string | Readonly<Record<string, unknown>>>>,
  mcp?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const mcpServers = Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [
      name,
      typeof entry === 'string' ? { command: entry } : entry,
    ]),
  );
  return mcp === undefined ? { mcpServers } : { mcpServers, mcp };
}

export const remote = { url: 'https://example.test/mcp' };

export function tool(name: string, more: Partial<ListedTool> = {}): ListedTool {
  return { name, inputSchema: { type: 'object' }, ...more };
}

export function crash(message = 'It died.'): Failure {
  return { kind: 'crashed', message, exitCode: 1 };
}

export function failure(kind: Failure['kind'], more: Partial<Failure> = {}): Failure {
  return { kind, message: 'It failed.', ...more };
}

export function callFailure(
  reason: CallFailure['reason'],
  written: boolean,
  more: Partial<CallFailure> = {},
): CallFailure {
  return { reason, written, message: 'It failed.', ...more };
}

export const pong: ToolResult = { content: [{ type: 'text', text: 'pong' }] };

/** Opens and lists by hand. */
export function bringUp(
  script: SessionScript,
  tools: readonly ListedTool[] = [tool('query')],
): void {
  script.open();
  script.list(tools);
}

/** Moves time to the next attempt of a server that backs off; does nothing in any other state. */
export async function nextAttempt(stage: Stage, server: string): Promise<void> {
  const { nextAttemptAt } = stage.troupe.status(server) ?? {};
  if (nextAttemptAt === undefined) return;
  await stage.advance(Date.parse(nextAttemptAt) - stage.clock.wallNow());
}

/** A promise whose end a test may look at without waiting for it. */
export interface Watched<Value> {
  readonly state: 'pending' | 'done' | 'refused';
  readonly value: Value | undefined;
  /** The code of the error; undefined when there is none. */
  readonly error: TroupeError | undefined;
  /** How often it settled: a promise can do so once only, its effects are another matter. */
  readonly promise: Promise<unknown>;
}

export function watch<Value>(promise: Promise<Value>): Watched<Value> {
  const watched: { -readonly [Key in keyof Watched<Value>]: Watched<Value>[Key] } = {
    state: 'pending',
    value: undefined,
    error: undefined,
    promise: promise.then(
      (value) => {
        watched.state = 'done';
        watched.value = value;
      },
      (error: unknown) => {
        watched.state = 'refused';
        expect(error).toBeInstanceOf(TroupeError);
        watched.error = error as TroupeError;
      },
    ),
  };
  return watched;
}

/** Calls the tool `query` of a server, or another one. */
export function call(
  { troupe }: Stage,
  server: string,
  options: Parameters<ScriptedTroupe['troupe']['callServerTool']>[3] & { tool?: string } = {},
) {
  const { tool: name = 'query', ...callOptions } = options;
  return watch(troupe.callServerTool(server, name, {}, callOptions));
}

/** What a thrower throws, as a plain document. */
export function thrownBy(action: () => unknown): Partial<TroupeError> {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(TroupeError);
    return (error as TroupeError).toJSON();
  }
  throw new Error('Nothing was thrown.');
}
