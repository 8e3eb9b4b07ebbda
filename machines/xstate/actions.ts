/** Executes the actions of a compiled chart and evaluates its guards, as XState does. */

import type { AnyActorRef, AnyActorScope, AnyEventObject, AnyMachineSnapshot } from 'xstate';
import { type BuiltIn, isBuiltIn, withoutStates } from './internals.ts';
import type { Action } from './steps.ts';

/** Returns a context with some fields changed. */
export type UpdateContext = (context: object, changed: object) => object;

/** One event and everything that follows from it. */
export interface Macrostep {
  readonly scope: AnyActorScope;
  readonly update: UpdateContext;
  /** The event that is being handled: the one sent, or one that the chart raised. */
  event: AnyEventObject;
  /** Raised events that have not been handled. */
  readonly internalQueue: AnyEventObject[];
}

/** An action to resolve again after those that follow it. */
interface Retry {
  readonly action: BuiltIn;
  readonly params: unknown;
}

/**
 * Executes a chart's own actions, and lets XState's change the context and the children.
 *
 * @param deferredActorIds - ids of actors that these actions start; earlier actions may already send to them
 */
export function runActions(
  actions: readonly Action[],
  from: AnyMachineSnapshot,
  step: Macrostep,
  deferredActorIds?: readonly string[],
): AnyMachineSnapshot {
  if (actions.length === 0) return from;
  const { scope, internalQueue } = step;
  const extra = { internalQueue, deferredActorIds };
  const retries: Retry[] | undefined = deferredActorIds && [];
  const snapshot = resolveAll(actions, from, step, { extra, retries });
  retries?.forEach(({ action, params }) => action.retryResolve?.(scope, snapshot, params));
  return snapshot;
}

interface Run {
  readonly extra: object;
  readonly retries: Retry[] | undefined;
}

function resolveAll(
  actions: readonly Action[],
  from: AnyMachineSnapshot,
  step: Macrostep,
  run: Run,
): AnyMachineSnapshot {
  const { scope, event } = step;
  let snapshot = from;
  for (const named of actions as readonly Named[]) {
    const { context, machine } = snapshot;
    const info = { context, event, self: scope.self, system: scope.system };
    const exec = implementationOf(named, machine.implementations.actions);
    const given = paramsOf(named, info);
    if (!isBuiltIn(exec)) {
      scope.actionExecutor({ type: nameOf(named), info, params: given, exec } as Executable);
      continue;
    }
    const call = { info, given, extra: run.extra, update: step.update };
    const [next, params, enqueued] = resolved(exec, scope, snapshot, call);
    snapshot = next;
    if (exec.retryResolve !== undefined) run.retries?.push({ action: exec, params });
    if (exec.execute !== undefined) {
      const bound = exec.execute.bind(null, scope, params);
      scope.actionExecutor({ type: exec.type, info, params, exec: bound } as Executable);
    }
    if (enqueued !== undefined) snapshot = resolveAll(enqueued, snapshot, step, run);
  }
  return snapshot;
}

type Executable = Parameters<AnyActorScope['actionExecutor']>[0];

type Resolved = ReturnType<BuiltIn['resolve']>;

/** What an action is called with. */
interface Call {
  readonly info: ActionArgs;
  readonly given: unknown;
  readonly extra: object;
  readonly update: UpdateContext;
}

/** Resolves one of XState's own actions. */
function resolved(
  action: BuiltIn,
  scope: AnyActorScope,
  snapshot: AnyMachineSnapshot,
  call: Call,
): Resolved {
  const { info, given, extra } = call;
  if (action.type === 'xstate.assign') {
    const context = call.update(snapshot.context as object, assigned(action, call));
    return [{ ...snapshot, context }, undefined, undefined];
  }
  if (action.type !== 'xstate.spawnChild' && action.type !== 'xstate.stopChild')
    return action.resolve(scope, snapshot, info, given, action, extra);
  const bare = withoutStates(snapshot);
  const [{ children }, params, enqueued] = action.resolve(scope, bare, info, given, action, extra);
  return [{ ...snapshot, children }, params, enqueued];
}

function assigned({ assignment }: BuiltIn, { info, given }: Call): object {
  const { context, event, self, system } = info;
  const args = { context, event, self, system, spawn: refuseSpawn };
  if (typeof assignment === 'function') return assignment(args, given) as object;
  const values = Object.entries(assignment as object).map(([name, value]) => [
    name,
    typeof value === 'function' ? value(args, given) : value,
  ]);
  return Object.fromEntries(values) as object;
}

/** Takes the place of `spawn`. */
export function refuseSpawn(): never {
  throw new Error('Compiled charts do not support spawn in an assignment; use spawnChild.');
}

/** Evaluates a guard: a function, one of XState's such as `not`, or either's name. */
export function passes(
  guard: unknown,
  snapshot: AnyMachineSnapshot,
  event: AnyEventObject,
): boolean {
  const { context, machine } = snapshot;
  const check = implementationOf(guard as Named, machine.implementations.guards);
  if (check === undefined)
    throw new Error(`Chart ${machine.id} has no guard ${nameOf(guard as Named)}.`);
  if (typeof check !== 'function') return passes(check, snapshot, event);
  const args = { context, event };
  if ('check' in check) return (check as CombinedGuard).check(snapshot, args, check);
  return (check as Check)(args, paramsOf(guard as Named, args));
}

type Check = (args: Args, params: unknown) => boolean;

interface CombinedGuard {
  readonly check: (snapshot: AnyMachineSnapshot, args: Args, guard: unknown) => boolean;
}

/** A reference to an action or a guard. */
type Named = string | Implementation | { readonly type: string; readonly params?: unknown };
type Implementation = (args: never, params: never) => unknown;

function implementationOf(named: Named, known: object): Implementation | undefined {
  if (typeof named === 'function') return named;
  const name = typeof named === 'string' ? named : named.type;
  return known[name as keyof typeof known];
}

function paramsOf(named: Named, { context, event }: Args): unknown {
  if (typeof named !== 'object') return undefined;
  const { params } = named;
  return typeof params === 'function' ? (params({ context, event }) as unknown) : params;
}

function nameOf(named: Named): string {
  if (typeof named === 'string') return named;
  return typeof named === 'object' ? named.type : named.name || '(anonymous)';
}

interface Args {
  readonly context: unknown;
  readonly event: AnyEventObject;
}

interface ActionArgs extends Args {
  readonly self: AnyActorRef;
  readonly system: AnyActorRef['system'];
}
