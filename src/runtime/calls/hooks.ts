/**
 * Runs the hooks of tool calls: those of the host, then those of the settings, each with what the one
 * before it left. A hook that fails, is late or answers nonsense refuses the call, or withholds the
 * result. A call whose hooks are running holds no turn, and the policy's deadline is paused.
 */

import path from 'node:path';
import { withinTime } from '../../../actors/host/time-limit.ts';
import { createHookPrograms } from '../../../actors/processes/hook-programs.ts';
import type { ProcessKeeper } from '../../../actors/processes/started-processes.ts';
import type { CallerCode } from '../../domain/caller-code.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import { parseJson, writeJson } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { AnsweredCall, CallHooks, HookBase, HookedCall } from '../../domain/host/hooks.ts';
import { asksForInput } from '../../domain/question.ts';
import type { CommandHook, DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool, ToolResult } from '../../domain/tool.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { readToolResult } from '../../protocol/results.ts';
import type { DesiredBook } from '../desired/book.ts';
import { cancelled, hookRefused, shuttingDown } from '../errors/refused.ts';
import type { Remarks } from '../shared-ports.ts';
import type { RequestReport } from '../troupe.ts';
import { type Permissions, requestOf } from '../user/permissions.ts';
import type { Call, Caller } from './call.ts';
import { CallSemaphore } from './concurrency-limit.ts';

export interface HookRunnerPorts {
  readonly clock: Clock;
  readonly book: DesiredBook;
  readonly permissions: Permissions;
  readonly projectRoot: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly processes: Pick<ProcessKeeper, 'expect'> | undefined;
  readonly records?: Remarks | undefined;
}

type When = keyof CallHooks;

/** A hook of the host or of the settings. */
interface Hook extends HookBase {
  /** Where it is declared. */
  readonly place: string;
  readonly run: (call: AnsweredCall, options: { readonly signal: AbortSignal }) => unknown;
}

/** A call at the point at which hooks see it. */
interface Hooked {
  readonly call: Call;
  readonly desired: DesiredServer;
  readonly shown: ExposedTool;
  readonly caller: Caller;
}

// Ten seconds, as for the permission hook: users wait for every call.
const usualMs = 10_000;
// A burst of calls must not start a program for each of them at once.
const mostPrograms = 16;
const reasonLength = 500;

export class HookRunner {
  readonly #ports: HookRunnerPorts;
  readonly #ofHost: CallHooks;
  readonly #programs: ReturnType<typeof createHookPrograms>;
  readonly #places = new CallSemaphore(() => undefined, mostPrograms);
  readonly #closing = new AbortController();
  /** Those of hooks that are running. */
  readonly #running = new Set<AbortController>();

  /** @param ofHost - the host's own hooks */
  constructor(ofHost: CallHooks | undefined, ports: HookRunnerPorts) {
    this.#ports = ports;
    this.#ofHost = ofHost ?? {};
    this.#programs = createHookPrograms(ports);
  }

  /** Ends all hooks; their calls end as those of a troupe that stops. */
  close(): void {
    this.#closing.abort();
    for (const ending of this.#running) ending.abort();
  }

  /** Resolves once no program of a hook is left. */
  async settled(): Promise<void> {
    await this.#programs.close();
  }

  /** Starts the hooks of a call unless that has been done. Returns whether the call waits for them. */
  isWaiting(call: Call, desired: DesiredServer, caller: Caller): boolean {
    if (call.hooked !== undefined || !this.#has('before')) return false;
    const { shown } = call.operation.find(desired);
    if (shown === undefined || call.operation.args === undefined) return false;
    const hooks = this.#hooksFor('before', shown);
    if (hooks.length === 0) return false;
    call.hooked = this.#runBefore(hooks, { call, desired, shown, caller });
    return true;
  }

  /** Passes the result of a call to the hooks, if there are any. */
  after<Result>(
    sent: Promise<RequestReport<Result> | null>,
    hooked: Omit<Hooked, 'shown'> & { readonly shown: ExposedTool | undefined },
  ): Promise<RequestReport<Result> | null> {
    const { shown } = hooked;
    if (shown === undefined || !this.#has('after')) return sent;
    return sent.then(async (answer) => {
      // A question is no result yet; the call that answers it gets one.
      if (answer === null || asksForInput(answer.result)) return answer;
      const before = answer.result as ToolResult;
      const result = await this.#runAfter({ ...hooked, shown }, before);
      return { ...answer, result: result as Result };
    });
  }

  async #runBefore(hooks: readonly Hook[], hooked: Hooked): Promise<void> {
    const { clock } = this.#ports;
    const { call, desired } = hooked;
    const startedAt = clock.now();
    for (const hook of hooks) {
      const changed = await this.#answerOf(hook, 'before', hooked);
      if (changed !== undefined) call.operation.args = changed;
    }
    call.pausedMs += clock.now() - startedAt;
    call.setDeadline(desired);
  }

  async #runAfter(hooked: Hooked, before: ToolResult): Promise<ToolResult> {
    let result = before;
    for (const hook of this.#hooksFor('after', hooked.shown)) {
      const changed = await this.#answerOf(hook, 'after', hooked, result);
      if (changed === undefined) continue;
      const faults: string[] = [];
      result = readToolResult(changed, (fault) => faults.push(fault));
      const [fault] = faults;
      if (fault !== undefined)
        throw this.#refusal(
          hook,
          'after',
          hooked,
          `failed: its result is none of a tool: ${fault}`,
        );
    }
    return result;
  }

  /**
   * Runs one hook. Resolves with the arguments or the result that it returned, as JSON that nothing
   * else changes, or with undefined.
   *
   * @throws TroupeError `PERMISSION_DENIED`, `CANCELLED` or `SHUTTING_DOWN`
   */
  async #answerOf(
    hook: Hook,
    when: When,
    hooked: Hooked,
    result?: ToolResult,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { clock } = this.#ports;
    const { ownDeadlineAt = Number.POSITIVE_INFINITY, options } = hooked.call;
    const limitMs = Math.min(hook.timeoutMs ?? usualMs, ownDeadlineAt - clock.now());
    const ending = new AbortController();
    const { signal } = ending;
    const end = (): void => ending.abort();
    this.#running.add(ending);
    options.signal?.addEventListener('abort', end, { once: true });
    if (this.#closing.signal.aborted || options.signal?.aborted === true) end();
    const seen = { ...this.#seenBy(hooked), ...defined({ result }) } as AnsweredCall;
    const running = Promise.resolve()
      .then(() => hook.run(seen, { signal }))
      .then((answer) => answerIn(answer, when))
      .catch((error: unknown): Answer => ({ fault: `failed: ${textOf(error)}` }));
    const answer = await withinTime(clock, limitMs, running, signal);
    options.signal?.removeEventListener('abort', end);
    this.#running.delete(ending);
    const hasEnded = signal.aborted;
    // Nothing waits for the hook any more.
    end();
    if (hasEnded) throw this.#ended(hook, when, hooked);
    if (answer === undefined)
      throw this.#refusal(
        hook,
        when,
        hooked,
        `did not answer within ${Math.max(0, Math.round(limitMs))} ms`,
      );
    if ('fault' in answer) throw this.#refusal(hook, when, hooked, answer.fault);
    return answer.changed;
  }

  /** Returns the error of a call that its caller or the end of the troupe ended meanwhile. */
  #ended(hook: Hook, when: When, hooked: Hooked): TroupeError {
    const { server } = hooked.call;
    const isOver = this.#closing.signal.aborted;
    if (when === 'before') return isOver ? shuttingDown(server) : cancelled(server);
    const code = isOver ? 'SHUTTING_DOWN' : 'CANCELLED';
    return this.#refusal(hook, when, hooked, 'was ended with its call', code);
  }

  #refusal(
    { name, place }: Hook,
    when: When,
    { call, shown }: Hooked,
    why: string,
    code: CallerCode = 'PERMISSION_DENIED',
  ): TroupeError {
    const reason = `hook ${JSON.stringify(name)} ${printableLine(why, reasonLength)}`;
    const { server, tool } = shown;
    const what = when === 'before' ? 'was not called' : 'ran, but its result is withheld';
    this.#ports.records?.remark(server, `${tool} ${what}: ${reason} (${place})`);
    const called = call.operation.shownTool ?? tool;
    return hookRefused(code, when, { server, tool: called }, { reason, place });
  }

  #seenBy({ call, desired, shown, caller }: Hooked): HookedCall {
    const args = call.operation.args ?? {};
    const isTrusted = this.#ports.permissions.isTrusted(desired);
    return { ...requestOf({ shown, args }, isTrusted), ...caller };
  }

  #has(when: When): boolean {
    const ofSettings = this.#ports.book.settings?.hooks;
    return (this.#ofHost[when]?.length ?? 0) + (ofSettings?.[when].length ?? 0) > 0;
  }

  /** Lists the hooks that see this tool, in their order. */
  #hooksFor(when: When, shown: ExposedTool): readonly Hook[] {
    const { book, permissions } = this.#ports;
    const ofHost = (this.#ofHost[when] ?? []).map(
      (hook) => ({ ...hook, place: 'the host' }) as Hook,
    );
    const ofSettings = (book.settings?.hooks?.[when] ?? []).map((hook) =>
      this.#program(hook, when),
    );
    return [...ofHost, ...ofSettings].filter(
      ({ tools }) => tools === undefined || permissions.mayMean(tools, shown),
    );
  }

  #program({ name, command, source, ...rest }: CommandHook, when: When): Hook {
    const { clock, projectRoot } = this.#ports;
    const { file, line, key } = source;
    const limitMs = rest.timeoutMs ?? usualMs;
    const at = line === undefined ? '' : `:${line}`;
    return {
      name,
      ...defined(rest),
      place: file === undefined ? `${key} of the host` : `${key} of ${file}${at}`,
      run: async (call, { signal }) => {
        const bounds = { clock, signal, deadlineAt: clock.now() + limitMs };
        if (!this.#places.tryAcquire() && !(await this.#places.acquire(bounds)))
          throw new Error('other hooks ran for too long');
        try {
          const document = { when, hook: name, project: projectRoot, ...call };
          const folder = file === undefined ? projectRoot : path.dirname(file);
          return await this.#programs.run({ command, folder, limitMs, signal }, document);
        } finally {
          this.#places.release();
        }
      },
    };
  }
}

const partOf = { before: 'arguments', after: 'result' } as const;

type Answer =
  | { readonly changed: Readonly<Record<string, unknown>> | undefined }
  | { readonly fault: string };

/** Reads what a hook returned. */
function answerIn(answer: unknown, when: When): Answer {
  if (answer === undefined) return { changed: undefined };
  const part = partOf[when];
  const fault = `failed: it answered something other than { "refuse": "why" } or { "${part}": {} }`;
  if (!isRecord(answer)) return { fault };
  const { refuse, [part]: changed, ...rest } = answer;
  if (Object.keys(rest).length > 0) return { fault };
  if (refuse !== undefined)
    return { fault: typeof refuse === 'string' ? `refused it: ${refuse}` : fault };
  if (changed === undefined) return { changed };
  if (!isRecord(changed)) return { fault };
  // A copy, so that the permission decides about what is sent.
  return { changed: parseJson(writeJson(changed)) as Readonly<Record<string, unknown>> };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
