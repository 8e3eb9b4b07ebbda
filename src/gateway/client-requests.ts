/**
 * What one client of the gateway asks of servers, from its first request to the end: a call may take
 * several requests, because its client is asked something in between.
 */

import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  type Server,
} from '@modelcontextprotocol/server';
import { type LogLevel, logLevels } from '../domain/log-level.ts';
import type { AskPermission } from '../domain/permission.ts';
import { traceContextIn } from '../policies/calls/trace-context.ts';
import type { CallOptions } from '../runtime/troupe.ts';
import { anybody } from './background-tools.ts';
import type { Gateway } from './gateway.ts';
import { type Answer, canAnswer, HeldCall, HeldCalls } from './held-calls.ts';
import type { RequestContext } from './light-call.ts';
import { permissionAnswerOf, permissionQuestion } from './permission-form.ts';
import {
  cutOff,
  failedCall,
  failedRequest,
  invalidParams,
  RpcError,
  troupeErrorOf,
} from './rpc-error.ts';
import { shownResult, unknownName } from './view.ts';

export class ClientRequests {
  readonly #gateway: Gateway;
  readonly #era: 'legacy' | 'modern';
  readonly #server: Pick<Server, 'getClientCapabilities'>;
  /** Those under way, with the server that each is about. */
  readonly #underWay = new Map<RequestContext, string>();
  /** Calls that were to come back to this connection. */
  readonly #waiting = new Set<HeldCall>();

  constructor(
    gateway: Gateway,
    era: 'legacy' | 'modern',
    server: Pick<Server, 'getClientCapabilities'>,
  ) {
    this.#gateway = gateway;
    this.#era = era;
    this.#server = server;
  }

  /** The connection is gone. Modern clients may come back on another one. */
  close(): void {
    if (this.#era === 'legacy') for (const call of this.#waiting) this.#gateway.held.drop(call);
    this.#waiting.clear();
    if (this.#era === 'legacy') this.#gateway.background.leave(this);
  }

  /** Whose the calls are that go to the background: a modern client comes with a new connection each time. */
  get #owner(): object {
    return this.#era === 'legacy' ? this : anybody;
  }

  get isAtWork(): boolean {
    return this.#underWay.size > 0;
  }

  /** A request that this server is at work for. */
  underWayAt(server: string): RequestContext | undefined {
    const [context] = [...this.#underWay].find(([, about]) => about === server) ?? [];
    return context;
  }

  /** Calls a tool by the name that clients see. */
  async call(exposed: string, args: Readonly<Record<string, unknown>>, context: RequestContext) {
    const { view, troupe, metrics, clock, background } = this.#gateway;
    const startedAt = clock.now();
    const ended = (server: string, code: string): void =>
      metrics.ended(server, code, clock.now() - startedAt);
    let about = '';
    try {
      return await this.#gateway.during(async () => {
        if (background.has(exposed, view.tools())) {
          about = background.serverOf(args['id']);
          const told = await this.#untilTimeIsUp(context, (signal) =>
            background.call(exposed, args, this.#owner, signal),
          );
          if (told.server === '') return { ...told.result };
          const result = shownResult(view, told.server, told.result);
          ended(told.server, codeOf(result));
          return result;
        }
        const { server, name } = view.toolNamed(exposed);
        about = server;
        const subject = `tool ${server} ${name}`;
        const result = await this.#converse(server, subject, context, async (options) => {
          const stop = new AbortController();
          const signal = AbortSignal.any([
            stop.signal,
            ...(options.signal ? [options.signal] : []),
          ]);
          const report = await troupe.callServerTool(server, name, args, { ...options, signal });
          const told = background.receipt(report, this.#owner, () => stop.abort());
          return inputRequiredIn(told) ?? shownResult(view, server, told);
        });
        ended(server, codeOf(result));
        return result;
      });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      const failed = troupeErrorOf(error);
      // What has never been a server is no label either: clients would fill the counters with it.
      ended(failed.code === 'SERVER_UNKNOWN' ? '' : about, failed.code);
      const isUnknown = failed.code === 'SERVER_UNKNOWN';
      // What a client gave back from the round before was refused: that is between the two of them.
      if (failed.rpcCode === invalidParams && context.mcpReq.requestState() !== undefined)
        throw failedRequest(failed);
      return failedCall(isUnknown ? unknownName('tool', exposed, this.#toolNames()) : failed);
    }
  }

  /** Waits for something that goes on without its client; at the end of the gateway, no longer. */
  async #untilTimeIsUp<Result>(
    { mcpReq }: RequestContext,
    wait: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const timeIsUp = new AbortController();
    const takeBack = this.#gateway.whenTimeIsUp(() => timeIsUp.abort());
    try {
      return await wait(AbortSignal.any([mcpReq.signal, timeIsUp.signal]));
    } catch (error) {
      throw timeIsUp.signal.aborted ? cutOff(error) : error;
    } finally {
      takeBack();
    }
  }

  #toolNames(): readonly string[] {
    return this.#gateway.tools().map(({ name }) => String(name));
  }

  /** Asks for anything else; `find` says of whom. */
  async request<Meant extends { readonly server: string; readonly name: string }>(
    context: RequestContext,
    find: () => Meant,
    ask: (meant: Meant, options: CallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await this.#gateway.during(async () => {
        const meant = find();
        const subject = `${context.mcpReq.method} ${meant.server} ${meant.name}`;
        return this.#converse(meant.server, subject, context, (options) => ask(meant, options));
      });
    } catch (error) {
      throw failedRequest(error);
    }
  }

  /**
   * Goes through one turn of a request: to its end, or to what the client is asked first. Nothing of
   * the client goes along but what it asks for: no header, no token, no metadata but the
   * trace that it is in, and that only with telemetry.
   */
  async #converse(
    server: string,
    subject: string,
    context: RequestContext,
    ask: (options: CallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const { signal, _meta } = context.mcpReq;
    // Before the call goes out, so that its server knows by then.
    const level = this.#era === 'modern' ? levelOf(context.mcpReq.envelope) : undefined;
    const endLevel = level && this.#gateway.troupe.wantLogs(level);
    const call = this.#heldCall(subject, context) ?? this.#begin(subject, context, ask);
    const giveUp = (): void => call.abort();
    let isCut = false;
    const takeBack = this.#gateway.whenTimeIsUp(() => {
      isCut = true;
      giveUp();
    });
    const progressToken = _meta?.progressToken;
    call.onProgress = (progress) => {
      const notification = { ...progress, progressToken };
      if (progressToken !== undefined)
        context.mcpReq
          .notify({ method: 'notifications/progress', params: notification })
          .catch(ignore);
    };
    this.#underWay.set(context, server);
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    try {
      const turn = await call.turn();
      if ('result' in turn) return turn.result;
      this.#gateway.held.keep(call);
      this.#waiting.add(call);
      return { resultType: 'input_required', ...turn };
    } catch (error) {
      throw isCut ? cutOff(error) : error;
    } finally {
      takeBack();
      signal.removeEventListener('abort', giveUp);
      call.onProgress = undefined;
      endLevel?.();
      this.#underWay.delete(context);
    }
  }

  /** The call that this request goes on with, having answered what was asked. */
  #heldCall(subject: string, { mcpReq }: RequestContext): HeldCall | undefined {
    const state = mcpReq.requestState<string>();
    if (!HeldCalls.isState(state)) return undefined;
    const held = this.#gateway.held.take(state, subject);
    if (held === undefined)
      throw new RpcError(invalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      });
    this.#waiting.delete(held);
    held.answer(mcpReq.inputResponses);
    return held;
  }

  #begin(
    subject: string,
    { mcpReq }: RequestContext,
    ask: (options: CallOptions) => Promise<Answer>,
  ): HeldCall {
    const call = new HeldCall(subject);
    const capabilities = this.#capabilitiesOf(mcpReq.envelope);
    const requestState = mcpReq.requestState<string>();
    const traceContext = traceContextIn(mcpReq._meta);
    call.begin(() =>
      ask({
        signal: call.signal,
        ...(mcpReq._meta?.progressToken === undefined
          ? {}
          : { onProgress: (progress) => call.onProgress?.(progress) }),
        ...(traceContext === undefined ? {} : { traceContext }),
        onQuestion: (question, asking) =>
          canAnswer(question.kind, capabilities)
            ? call.ask(question, asking)
            : { action: 'decline' },
        ...(canAnswer('form', capabilities) && { askPermission: this.#askingIn(call) }),
        round: {
          capabilities: capabilities ?? {},
          ...(mcpReq.inputResponses === undefined ? {} : { inputResponses: mcpReq.inputResponses }),
          ...(requestState === undefined ? {} : { requestState }),
        },
      }),
    );
    return call;
  }

  #askingIn(call: HeldCall): AskPermission {
    const { clock } = this.#gateway;
    return async (request, asking) => {
      const question = permissionQuestion(request, new Date(clock.wallNow()).toISOString());
      return permissionAnswerOf(await call.ask(question, asking));
    };
  }

  /** What this client can be asked: a modern one says it with each request. */
  #capabilitiesOf(
    envelope: Readonly<Record<string, unknown>> | undefined,
  ): Readonly<Record<string, unknown>> | undefined {
    if (this.#era === 'legacy') return this.#server.getClientCapabilities();
    const said = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    return typeof said === 'object' && said !== null ? { ...said } : undefined;
  }
}

/** What a modern server wants first, to be passed on as it is. */
export function inputRequiredIn(result: object): Answer | undefined {
  const isAsking = 'resultType' in result && result.resultType === 'input_required';
  return isAsking ? { ...result } : undefined;
}

function codeOf({ resultType, isError }: Answer): string {
  if (resultType === 'input_required') return 'inputRequired';
  return isError === true ? 'toolError' : 'ok';
}

/** The level that a modern request asks for; without it, it wants no log. */
export function levelOf(
  envelope: Readonly<Record<string, unknown>> | undefined,
): LogLevel | undefined {
  const level = envelope?.[LOG_LEVEL_META_KEY];
  return logLevels.find((each) => each === level);
}

/** Nobody listens any more; whoever closed the connection knows. */
function ignore(): void {}
