/**
 * Runs one client's requests. A call may take several requests, because its server may ask the client a
 * question in between.
 */

import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  type Server,
} from '@modelcontextprotocol/server';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { printableLine } from '../domain/data/printable.ts';
import { type LogLevel, logLevels } from '../domain/log-level.ts';
import type { PermissionRequest } from '../domain/permission.ts';
import type { Question, QuestionKind } from '../domain/question.ts';
import { extensionKeys, traceContextIn } from '../protocol/meta.ts';
import { methodNamed, methods } from '../protocol/methods.ts';
import { invalidParams, RpcError } from '../protocol/rpc-codes.ts';
import type { CallOptions } from '../runtime/troupe.ts';
import { sessionlessOwner } from './background-tools.ts';
import type { RequestContext } from './fast-call.ts';
import type { Gateway } from './gateway.ts';
import { type Answer, canAnswer, HeldCall, HeldCalls, type OnRevoked } from './held-calls.ts';
import type { PageOpener } from './logins.ts';
import { shownResult, unknownName } from './offers.ts';
import { permissionAnswerOf, permissionQuestion } from './permission-form.ts';
import { ClientQuestions } from './question-delivery.ts';
import { cutOff, failedCall, failedRequest, troupeErrorOf, withoutModel } from './rpc-error.ts';

/** The signal aborts the call, which may outlast its client's request. */
type HeldCallOptions = CallOptions & { readonly signal: AbortSignal };

/** What a connection says of its client. */
export interface ClientIdentity {
  /** The subject of the client's access token, if it has one. */
  readonly user?: string;
  /** Default: the connection ends with what it may be used for. */
  readonly onRevoked?: OnRevoked;
}

// Longer than any product's name.
const nameLength = 64;

export class ClientRequests {
  readonly #gateway: Gateway;
  readonly #era: 'legacy' | 'modern';
  readonly #server: Pick<Server, 'getClientCapabilities' | 'getClientVersion'>;
  /** The subject of the client's access token. */
  readonly #user: string | undefined;
  readonly #onRevoked: OnRevoked | undefined;
  /** Requests in progress, with their server's name. */
  readonly #underWay = new Map<RequestContext, string>();
  /** Calls that wait for this client's answer to a question. */
  readonly #waiting = new Set<HeldCall>();
  /** Asks the questions of a server that belong to this client, but perhaps to any of its calls. */
  readonly #questions: ClientQuestions;

  constructor(
    gateway: Gateway,
    era: 'legacy' | 'modern',
    server: Pick<Server, 'getClientCapabilities' | 'getClientVersion'>,
    { user, onRevoked }: ClientIdentity,
  ) {
    this.#user = user;
    this.#onRevoked = onRevoked;
    this.#gateway = gateway;
    this.#era = era;
    this.#server = server;
    this.#questions = new ClientQuestions(user);
  }

  /** Cleans up after a closed connection. Modern clients may return on another one. */
  close(): void {
    if (this.#era === 'legacy') for (const call of this.#waiting) this.#gateway.held.drop(call);
    this.#waiting.clear();
    if (this.#era === 'legacy') this.#gateway.background.leave(this);
  }

  /** The owner of background calls; a modern client has a new connection for each request. */
  get #owner(): object | string {
    return this.#era === 'legacy' ? this : (this.#user ?? sessionlessOwner);
  }

  get isAtWork(): boolean {
    return this.#underWay.size > 0;
  }

  get hasBackgroundCall(): boolean {
    return this.#gateway.background.isRunningFor(this.#owner);
  }

  /** A request in progress at this server. */
  underWayAt(server: string): RequestContext | undefined {
    const [context] = [...this.#underWay].find(([, about]) => about === server) ?? [];
    return context;
  }

  /** Calls a tool by the name that clients see. */
  async call(exposed: string, args: Readonly<Record<string, unknown>>, context: RequestContext) {
    const { offers, troupe, metrics, clock, background, logins } = this.#gateway;
    const startedAt = clock.now();
    const ended = (server: string, code: string): void =>
      metrics.ended(server, code, clock.now() - startedAt, this.#user);
    let about = '';
    try {
      return await this.#gateway.during(async () => {
        if (background.has(exposed, offers.tools())) {
          about = background.serverOf(args['id']);
          const answer = await this.#untilShutdown(context, (signal) =>
            background.call(exposed, args, this.#owner, signal),
          );
          if (answer.server === '') return { ...answer.result };
          const result = shownResult(offers, answer.server, answer.result);
          ended(answer.server, codeOf(result));
          return result;
        }
        if (logins?.has(exposed, offers.tools()) === true) {
          const server = logins.serverIn(args);
          about = server;
          // As for any request, the client is asked to log in first if the server requires it.
          const result = await this.#converse(server, `login ${server}`, context, async () => ({
            ...logins.answer(server),
          }));
          ended(server, codeOf(result));
          return result;
        }
        const { server, name } = offers.toolNamed(exposed);
        about = server;
        const subject = `tool ${server} ${name}`;
        const result = await this.#converse(server, subject, context, async (options, abort) => {
          const report = await troupe.callServerTool(server, name, args, options);
          const answer = background.receipt(report, this.#owner, abort, this.#onRevoked);
          return inputRequiredIn(answer) ?? shownResult(offers, server, answer);
        });
        ended(server, codeOf(result));
        return result;
      });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      const failed = troupeErrorOf(error);
      const isUnknown = failed.code === 'SERVER_UNKNOWN';
      // An unknown server name is not used as a label: clients could fill the counters with made-up names.
      ended(isUnknown ? '' : about, failed.code);
      // The server rejected the client's answer to the previous round: a protocol error, not a result.
      if (failed.rpcCode === invalidParams && context.mcpReq.requestState() !== undefined)
        throw failedRequest(failed);
      const known = isUnknown ? this.#gateway.tools().map(({ name }) => String(name)) : [];
      return failedCall(isUnknown ? unknownName('tool', exposed, known) : failed);
    }
  }

  /** Waits for a call in the background, at most until the gateway shuts down. */
  async #untilShutdown<Result>(
    { mcpReq }: RequestContext,
    wait: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const shutdown = new AbortController();
    const forget = this.#gateway.atShutdown(() => shutdown.abort());
    try {
      return await wait(AbortSignal.any([mcpReq.signal, shutdown.signal]));
    } catch (error) {
      throw shutdown.signal.aborted ? cutOff(error) : error;
    } finally {
      forget();
    }
  }

  /** Runs any request except a tool call; `find` returns the server and the item's own name. */
  async request<Meant extends { readonly server: string; readonly name: string }>(
    context: RequestContext,
    find: () => Meant,
    ask: (meant: Meant, options: HeldCallOptions) => Promise<Answer>,
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
   * Runs one turn of a request: until its result, or a question for the client. Only the request itself is
   * forwarded, with its metadata: no headers and no token.
   */
  async #converse(
    server: string,
    subject: string,
    context: RequestContext,
    ask: (options: HeldCallOptions, abort: () => void) => Promise<Answer>,
  ): Promise<Answer> {
    const { signal, _meta } = context.mcpReq;
    // Before the call is sent, so that its server already logs at that level.
    const level = this.#era === 'modern' ? levelOf(context.mcpReq.envelope) : undefined;
    const endLevel = level && this.#gateway.troupe.wantLogs(level);
    // Another user's client cannot continue the call, even with its state.
    const whole = JSON.stringify([this.#user ?? null, subject]);
    const call = this.#heldCall(whole, context) ?? this.#begin(server, whole, context, ask);
    const abort = (): void => call.abort();
    let isCut = false;
    const forget = this.#gateway.atShutdown(() => {
      isCut = true;
      abort();
    });
    const progressToken = _meta?.progressToken;
    call.onProgress = (progress) => {
      const notification = keepNumbers({ ...progress, progressToken }, progress);
      if (progressToken !== undefined)
        context.mcpReq
          .notify({ method: methods.progress.name, params: notification })
          .catch(ignore);
    };
    if (this.#era === 'legacy')
      call.onPageDone = (elicitationId) => {
        const params = { elicitationId };
        context.mcpReq.notify({ method: methods.elicited.name, params }).catch(ignore);
      };
    this.#underWay.set(context, server);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      const turn = await call.turn(this.#era === 'legacy');
      if ('result' in turn) return turn.result;
      this.#gateway.held.keep(call, this.#user, this.#onRevoked);
      this.#waiting.add(call);
      // The request of a legacy client stays open while it is asked.
      const drop = (): void => this.#gateway.held.drop(call);
      if (this.#era === 'legacy') signal.addEventListener('abort', drop, { once: true });
      if (this.#era === 'legacy' && signal.aborted) drop();
      return { resultType: 'input_required', ...turn };
    } catch (error) {
      throw isCut ? cutOff(error) : error;
    } finally {
      forget();
      signal.removeEventListener('abort', abort);
      call.onProgress = undefined;
      call.onPageDone = undefined;
      endLevel?.();
      this.#underWay.delete(context);
    }
  }

  /** Returns the held call that this request continues, and gives it the client's answers. */
  #heldCall(subject: string, { mcpReq }: RequestContext): HeldCall | undefined {
    const state = mcpReq.requestState<string>();
    if (!HeldCalls.isState(state)) return undefined;
    const held = this.#gateway.held.take(state, subject);
    if (held === undefined)
      throw new RpcError({
        code: invalidParams,
        message: 'Invalid or expired requestState',
        data: { reason: 'invalid_request_state' },
      });
    this.#waiting.delete(held);
    held.answer(mcpReq.inputResponses);
    return held;
  }

  #begin(
    server: string,
    subject: string,
    { mcpReq }: RequestContext,
    ask: (options: HeldCallOptions, abort: () => void) => Promise<Answer>,
  ): HeldCall {
    const { clock } = this.#gateway;
    const call = new HeldCall(subject);
    const capabilities = this.#capabilitiesOf(mcpReq.envelope);
    const requestState = mcpReq.requestState<string>();
    const traceContext = traceContextIn(mcpReq._meta);
    const canBeAsked = (kind: QuestionKind): boolean => canAnswer(kind, capabilities);
    const refuse = ({ kind }: Question): void => {
      if (this.#era === 'modern' && kind === 'sampling') call.refuse(withoutModel(server));
    };
    const questions = this.#questionsOf(mcpReq.envelope);
    questions.began(call, { server, canAnswer: canBeAsked, refuse });
    const options: HeldCallOptions = {
      signal: call.signal,
      ...(mcpReq._meta?.progressToken === undefined
        ? {}
        : { onProgress: (progress) => call.onProgress?.(progress) }),
      ...(traceContext === undefined ? {} : { traceContext }),
      ...(mcpReq._meta === undefined ? {} : { meta: mcpReq._meta }),
      onQuestion: (question, asking) => {
        if (canBeAsked(question.kind)) return call.ask(question, asking);
        refuse(question);
        return { action: 'decline' };
      },
      client: questions,
      clientName: this.#nameIn(mcpReq.envelope),
      ...(canBeAsked('form') && {
        askPermission: async (request: PermissionRequest, asking: { signal: AbortSignal }) => {
          const question = permissionQuestion(request, new Date(clock.wallNow()).toISOString());
          return permissionAnswerOf(await call.ask(question, asking));
        },
      }),
      round: {
        capabilities: capabilities ?? {},
        ...(mcpReq.inputResponses === undefined ? {} : { inputResponses: mcpReq.inputResponses }),
        ...(requestState === undefined ? {} : { requestState }),
      },
    };
    const opener = this.#openerFor(call, mcpReq.method, capabilities);
    const { logins } = this.#gateway;
    const send = (): Promise<Answer> => ask(options, () => call.abort());
    const run = (): Promise<Answer> =>
      logins === undefined ? send() : logins.around(server, opener, send);
    call.begin(() => run().finally(() => questions.ended(call)));
    return call;
  }

  /**
   * The client that is asked. A modern one has a new connection for each request over HTTP, so its requests are
   * linked only if a token proves whose they are: anybody can send its name and version.
   */
  #questionsOf(envelope: Readonly<Record<string, unknown>> | undefined): ClientQuestions {
    if (this.#era === 'legacy' || this.#user === undefined) return this.#questions;
    return this.#gateway.sessionless.of(this.#user, envelope?.[CLIENT_INFO_META_KEY]);
  }

  /** The name by which the client introduced itself; a client can send any name. */
  #nameIn(envelope: Readonly<Record<string, unknown>> | undefined): string {
    const info = envelope?.[CLIENT_INFO_META_KEY] ?? this.#server.getClientVersion();
    const name = isRecord(info) ? info['name'] : undefined;
    return printableLine(typeof name === 'string' && name !== '' ? name : 'unknown', nameLength);
  }

  /** The client as one that opens the page of a login; undefined if it cannot. */
  #openerFor(
    call: HeldCall,
    method: string,
    capabilities: Readonly<Record<string, unknown>> | undefined,
  ): PageOpener | undefined {
    if (methodNamed(method)?.mayAsk !== true || !canAnswer('url', capabilities)) return undefined;
    return {
      // A modern client has no connection by which its calls could be distinguished from those of another.
      client: this.#era === 'legacy' ? this : undefined,
      ask: async (question, signal) =>
        (await call.ask(question, { signal })) ?? { action: 'cancel' },
      completed: ({ id }) => call.onPageDone?.(id),
      signal: call.signal,
    };
  }

  /** Whether the client that sent this request can open the page of a login. */
  canOpenPages({ mcpReq }: RequestContext): boolean {
    return canAnswer('url', this.#capabilitiesOf(mcpReq.envelope));
  }

  /** Whether the client keeps an MCP App's own tools from its model, because it renders such apps. */
  rendersApps({ mcpReq }: RequestContext): boolean {
    const offered = this.#capabilitiesOf(mcpReq.envelope)?.['extensions'];
    return isRecord(offered) && isRecord(offered[extensionKeys.apps]);
  }

  /** The client's capabilities; a modern client sends them with each request. */
  #capabilitiesOf(
    envelope: Readonly<Record<string, unknown>> | undefined,
  ): Readonly<Record<string, unknown>> | undefined {
    if (this.#era === 'legacy') return this.#server.getClientCapabilities();
    const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    return isRecord(capabilities) ? capabilities : undefined;
  }
}

/** A modern server's request for input, which is forwarded unchanged. */
export function inputRequiredIn(result: object): Answer | undefined {
  const isAsking = 'resultType' in result && result.resultType === 'input_required';
  return isAsking ? { ...result } : undefined;
}

function codeOf({ resultType, isError }: Answer): string {
  if (resultType === 'input_required') return 'inputRequired';
  return isError === true ? 'toolError' : 'ok';
}

/** The log level of a modern request; without one, it gets no log lines. */
export function levelOf(
  envelope: Readonly<Record<string, unknown>> | undefined,
): LogLevel | undefined {
  const level = envelope?.[LOG_LEVEL_META_KEY];
  return logLevels.find((each) => each === level);
}

/** Ignores a failure to send: the connection is closed, which is handled elsewhere. */
export function ignore(): void {}
