/**
 * One client of the gateway: a protocol instance of its own, so that ids, cancellations, log
 * levels and watched resources of two clients never meet.
 */

import {
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

import type { CompletionRequest } from '../domain/catalog.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import type { CallOptions } from '../runtime/troupe.ts';
import type { Audience, Gateway, ListKind } from './gateway.ts';
import { type Answer, canAnswer, HeldCall, HeldCalls } from './held-calls.ts';
import type { GatewayIdentity } from './identity.ts';
import { type LogLevel, levelPasses, logLevels } from './log-level.ts';
import { failedCall, failedRequest, invalidParams, RpcError, troupeErrorOf } from './rpc-error.ts';
import { refOf, shownResult, unknownName } from './view.ts';

/** What a client may ask besides its lists; a field more does no harm. */
const params = {
  list: z.looseObject({
    cursor: z.undefined({ error: 'no list has more than one page' }).optional(),
  }),
  call: z.looseObject({
    name: z.string().min(1),
    arguments: z.record(z.string(), z.unknown()).optional(),
  }),
  read: z.looseObject({ uri: z.string().min(1) }),
  prompt: z.looseObject({
    name: z.string().min(1),
    arguments: z.record(z.string(), z.string()).optional(),
  }),
  completion: z.looseObject({
    ref: z.discriminatedUnion('type', [
      z.object({ type: z.literal('ref/prompt'), name: z.string().min(1) }),
      z.object({ type: z.literal('ref/resource'), uri: z.string().min(1) }),
    ]),
    argument: z.object({ name: z.string(), value: z.string() }),
    context: z.object({ arguments: z.record(z.string(), z.string()).optional() }).optional(),
  }),
  level: z.looseObject({ level: z.enum(logLevels) }),
};

// A form of ten pages is a long one, and every question may be a round of its own.
const maxRounds = 16;
// More than any client shows; the runtime has a bound of its own for each server.
const maxWatched = 256;

/** What is known of the connection of a client. */
export interface ClientEars {
  /** Whether it can be told something that it has not asked for. */
  readonly canHear: () => boolean;
  readonly onClosed: () => void;
}

const allEars: ClientEars = { canHear: () => true, onClosed: ignore };

export class GatewayClient implements Audience {
  readonly server: Server;
  readonly #gateway: Gateway;
  readonly #era: 'legacy' | 'modern';
  /** The requests under way, with the server that each is about: they are told what it logs. */
  readonly #underWay = new Map<ServerContext, string>();
  readonly #watched = new Map<string, () => void>();
  readonly #ears: ClientEars;
  /** Lists that changed while it could not be told. */
  readonly #missed = new Set<ListKind>();
  readonly #leave: () => void;
  #level: LogLevel | undefined;

  constructor(
    gateway: Gateway,
    { info, capabilities, instructions }: GatewayIdentity,
    era: 'legacy' | 'modern',
    ears: ClientEars = allEars,
  ) {
    this.#ears = ears;
    this.#gateway = gateway;
    this.#era = era;
    // The high-level class of the SDK wants to know every tool beforehand.
    this.server = new Server(info, {
      capabilities,
      inputRequired: { maxRounds },
      ...(instructions === undefined ? {} : { instructions }),
    });
    if (capabilities.tools !== undefined) this.#offerTools();
    if (capabilities.resources !== undefined)
      this.#offerResources(capabilities.resources.subscribe === true);
    if (capabilities.prompts !== undefined) this.#offerPrompts();
    if (capabilities.completions !== undefined) this.#offerCompletions();
    if (capabilities.logging !== undefined && era === 'legacy') this.#offerLogLevel();
    this.#leave = gateway.join(this);
    this.server.onclose = () => {
      this.#closed();
      ears.onClosed();
    };
    this.server.onerror = (error) => gateway.report(error.message);
  }

  listChanged(kind: ListKind): void {
    if (this.server.getCapabilities()[kind] === undefined) return;
    if (!this.#ears.canHear()) this.#missed.add(kind);
    else this.#send({ method: `notifications/${kind}/list_changed` });
  }

  /** It hears again: what changed meanwhile is told once. */
  tellMissed(): void {
    const missed = [...this.#missed];
    this.#missed.clear();
    for (const kind of missed) this.listChanged(kind);
  }

  resourceUpdated(server: string, uri: string): void {
    const address = this.#gateway.view.addressOf(server, uri);
    if (this.#watched.has(address))
      this.#send({ method: 'notifications/resources/updated', params: { uri: address } });
  }

  /** A request under way at this server is told first; other clients only if they asked for logs. */
  logged(server: string, line: Readonly<Record<string, unknown>>): void {
    const notification = { method: 'notifications/message', params: { ...line } };
    const [context] = [...this.#underWay].find(([, about]) => about === server) ?? [];
    if (context !== undefined) {
      const wanted = this.#era === 'modern' ? levelOf(context.mcpReq.envelope) : this.#level;
      if (this.#era === 'modern' && wanted === undefined) return;
      if (levelPasses(line['level'], wanted)) context.mcpReq.notify(notification).catch(ignore);
    } else if (this.#level !== undefined && levelPasses(line['level'], this.#level)) {
      this.#send(notification);
    }
  }

  /** Watches a resource for as long as something else lasts. */
  watch(address: string): () => void {
    const { server, name } = this.#gateway.view.resourceAt(address);
    if (this.#watched.size >= maxWatched)
      throw new TroupeError(
        'OVERLOADED',
        `This client watches ${maxWatched} resources already. End one of these first.`,
        { server },
      );
    this.#watched.get(address)?.();
    const end = this.#gateway.troupe.subscribe(server, name);
    this.#watched.set(address, end);
    return () => {
      if (this.#watched.get(address) !== end) return;
      this.#watched.delete(address);
      end();
    };
  }

  #offerList(method: string, list: () => Answer): void {
    this.server.setRequestHandler(method, { params: params.list }, async () => {
      await this.#gateway.firstLists();
      return list();
    });
  }

  #offerTools(): void {
    const { view } = this.#gateway;
    this.#offerList('tools/list', () => ({ tools: view.tools() }));
    this.server.setRequestHandler(
      'tools/call',
      { params: params.call },
      ({ name, arguments: args = {} }, context) => this.#call(name, args, context),
    );
  }

  #offerResources(canWatch: boolean): void {
    const { view, troupe } = this.#gateway;
    this.#offerList('resources/list', () => ({ resources: view.resources() }));
    this.#offerList('resources/templates/list', () => ({
      resourceTemplates: view.resourceTemplates(),
    }));
    this.server.setRequestHandler('resources/read', { params: params.read }, ({ uri }, context) =>
      this.#request(
        context,
        () => view.resourceAt(uri),
        async ({ server, name }, options) => {
          const { result } = await troupe.readResource(server, name, options);
          const wanted = inputRequiredIn(result);
          if (wanted !== undefined) return wanted;
          return { ...result, contents: view.contents(server, result.contents) };
        },
      ),
    );
    if (!canWatch || this.#era === 'modern') return;
    this.server.setRequestHandler('resources/subscribe', { params: params.read }, ({ uri }) => {
      try {
        this.watch(uri);
      } catch (error) {
        throw failedRequest(error);
      }
      return {};
    });
    this.server.setRequestHandler('resources/unsubscribe', { params: params.read }, ({ uri }) => {
      this.#watched.get(uri)?.();
      this.#watched.delete(uri);
      return {};
    });
  }

  #offerPrompts(): void {
    const { view, troupe } = this.#gateway;
    this.#offerList('prompts/list', () => ({ prompts: view.prompts() }));
    this.server.setRequestHandler(
      'prompts/get',
      { params: params.prompt },
      ({ name: exposed, arguments: args }, context) =>
        this.#request(
          context,
          () => view.promptNamed(exposed),
          async ({ server, name }, options) => {
            const { result } = await troupe.getPrompt(server, name, args, options);
            const wanted = inputRequiredIn(result);
            if (wanted !== undefined) return wanted;
            const messages = result.messages.map((message) => ({
              ...message,
              ...contentOf(message, (block) => view.blocks(server, [block])[0] ?? block),
            }));
            return { ...result, messages };
          },
        ),
    );
  }

  #offerCompletions(): void {
    const { view, troupe } = this.#gateway;
    this.server.setRequestHandler(
      'completion/complete',
      { params: params.completion },
      ({ ref, argument, context: known }, context) =>
        this.#request(
          context,
          () => refOf(view, ref),
          async (meant, options) => {
            const request: CompletionRequest = {
              ref: meant.ref,
              argument,
              ...(known?.arguments === undefined
                ? {}
                : { context: { arguments: known.arguments } }),
            };
            const { result } = await troupe.complete(meant.server, request, options);
            return {
              ...result,
              completion: { ...result.completion, values: [...result.completion.values] },
            };
          },
        ),
    );
  }

  #offerLogLevel(): void {
    this.server.setRequestHandler('logging/setLevel', { params: params.level }, ({ level }) => {
      this.#level = level;
      return {};
    });
  }

  async #call(exposed: string, args: Readonly<Record<string, unknown>>, context: ServerContext) {
    const { view, troupe, metrics, clock } = this.#gateway;
    const startedAt = clock.now();
    const ended = (server: string, code: string): void =>
      metrics.ended(server, code, clock.now() - startedAt);
    let about = '';
    try {
      return await this.#gateway.during(async () => {
        const { server, name } = view.toolNamed(exposed);
        about = server;
        const subject = `tool ${server} ${name}`;
        const result = await this.#converse(server, subject, context, async (options) => {
          const report = await troupe.callServerTool(server, name, args, options);
          return inputRequiredIn(report.result) ?? shownResult(view, server, report.result);
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

  #toolNames(): readonly string[] {
    return this.#gateway.view.tools().map(({ name }) => String(name));
  }

  async #request<Meant extends { readonly server: string; readonly name: string }>(
    context: ServerContext,
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
   * the client goes along but what it asks for: no header, no token, no metadata.
   */
  async #converse(
    server: string,
    subject: string,
    context: ServerContext,
    ask: (options: CallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const { signal, _meta } = context.mcpReq;
    const call = this.#heldCall(subject, context) ?? this.#begin(subject, context, ask);
    const giveUp = (): void => call.abort();
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
      return { resultType: 'input_required', ...turn };
    } finally {
      signal.removeEventListener('abort', giveUp);
      call.onProgress = undefined;
      this.#underWay.delete(context);
    }
  }

  /** The call that this request goes on with, having answered what was asked. */
  #heldCall(subject: string, { mcpReq }: ServerContext): HeldCall | undefined {
    const state = mcpReq.requestState<string>();
    if (!HeldCalls.isState(state)) return undefined;
    const held = this.#gateway.held.take(state, subject);
    if (held === undefined)
      throw new RpcError(invalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      });
    held.answer(mcpReq.inputResponses);
    return held;
  }

  #begin(
    subject: string,
    { mcpReq }: ServerContext,
    ask: (options: CallOptions) => Promise<Answer>,
  ): HeldCall {
    const call = new HeldCall(subject);
    const capabilities = this.#capabilitiesOf(mcpReq.envelope);
    const requestState = mcpReq.requestState<string>();
    call.begin(() =>
      ask({
        signal: call.signal,
        ...(mcpReq._meta?.progressToken === undefined
          ? {}
          : { onProgress: (progress) => call.onProgress?.(progress) }),
        onQuestion: (question, asking) =>
          canAnswer(question.kind, capabilities)
            ? call.ask(question, asking)
            : { action: 'decline' },
        round: {
          capabilities: capabilities ?? {},
          ...(mcpReq.inputResponses === undefined ? {} : { inputResponses: mcpReq.inputResponses }),
          ...(requestState === undefined ? {} : { requestState }),
        },
      }),
    );
    return call;
  }

  /** What this client can be asked: a modern one says it with each request. */
  #capabilitiesOf(
    envelope: Readonly<Record<string, unknown>> | undefined,
  ): Readonly<Record<string, unknown>> | undefined {
    if (this.#era === 'legacy') return this.server.getClientCapabilities();
    const said = envelope?.[CLIENT_CAPABILITIES_META_KEY];
    return typeof said === 'object' && said !== null ? { ...said } : undefined;
  }

  #send(notification: {
    readonly method: string;
    readonly params?: Record<string, unknown>;
  }): void {
    this.server.notification(notification).catch(ignore);
  }

  #closed(): void {
    this.#leave();
    for (const end of this.#watched.values()) end();
    this.#watched.clear();
  }
}

/** What a modern server wants first, to be passed on as it is. */
function inputRequiredIn(result: object): Answer | undefined {
  const isAsking = 'resultType' in result && result.resultType === 'input_required';
  return isAsking ? { ...result } : undefined;
}

function codeOf({ resultType, isError }: Answer): string {
  if (resultType === 'input_required') return 'inputRequired';
  return isError === true ? 'toolError' : 'ok';
}

/** The level that a modern request asks for; without it, it wants no log. */
function levelOf(envelope: Readonly<Record<string, unknown>> | undefined): LogLevel | undefined {
  const level = envelope?.[LOG_LEVEL_META_KEY];
  return logLevels.find((each) => each === level);
}

/** Nobody listens any more; whoever closed the connection knows. */
function ignore(): void {}

function contentOf(
  message: Readonly<Record<string, unknown>>,
  show: (block: Readonly<Record<string, unknown>>) => unknown,
) {
  const { content } = message;
  return typeof content === 'object' && content !== null && !Array.isArray(content)
    ? { content: show({ ...content }) }
    : {};
}
