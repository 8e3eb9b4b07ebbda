/**
 * The SDK's server of one client of the gateway: the schemas of requests, and the handlers that need no state of
 * the client.
 */

import {
  type JSONRPCRequest,
  McpServer,
  type Result,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { logLevels } from '../domain/log-level.ts';
import { methods } from '../protocol/methods.ts';
import { type ClientRequests, inputRequiredIn } from './client-requests.ts';
import { keepNumbersIn, keepNumbersOf } from './exact-numbers.ts';
import type { RequestContext } from './fast-call.ts';
import type { Gateway, ListKind } from './gateway.ts';
import type { Answer } from './held-calls.ts';
import { refOf } from './offers.ts';
import type { GatewayIdentity } from './server-info.ts';

/** The parameters of requests. Additional fields are ignored. */
export const params = {
  list: z.looseObject({
    cursor: z.undefined({ error: 'every list has one page' }).optional(),
  }),
  call: z.looseObject({
    name: z.string().min(1),
    // Not a record, which would be copied without the texts of its numbers.
    arguments: z.custom<Record<string, unknown>>(isRecord, 'expected an object').optional(),
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

// Each question may take a round; ten are already many.
const maxRounds = 16;

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * Passes on numbers, and the results of tools, as they are. The SDK would refuse content of a type that it does
 * not know, as if the client's arguments were at fault, although the tool has run.
 */
class PlainServer extends Server {
  override connect(transport: Transport): Promise<void> {
    keepNumbersOf(transport);
    return super.connect(transport);
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const checked = super._wrapHandler(method, handler);
    return keepNumbersIn(method === methods.callTool.name ? this.#unchecked(handler) : checked);
  }

  #unchecked(handler: Handler): Handler {
    return async (request, context) => {
      let result: Result | undefined;
      const checked = super._wrapHandler(methods.callTool.name, async (...given) => {
        const answer = await handler(...given);
        result = inputRequiredIn(answer) === undefined ? answer : undefined;
        return result === undefined ? answer : { content: [] };
      });
      const answer = await checked(request, context);
      return result ?? answer;
    };
  }
}

/** The SDK's server. It has no tools of its own, because those of the gateway change; it only looks up their schemas. */
export class ProtocolServer extends McpServer {
  override readonly server: Server;
  readonly #gateway: Gateway;

  constructor(gateway: Gateway, info: GatewayIdentity['info'], instructions?: string) {
    const options = {
      inputRequired: { maxRounds },
      ...(instructions === undefined ? {} : { instructions }),
    };
    super(info, options);
    this.server = new PlainServer(info, options);
    this.#gateway = gateway;
  }

  override toolInputSchemaJson(exposed: string): Record<string, unknown> | undefined {
    const { offers, troupe } = this.#gateway;
    try {
      // Also under a name that is not listed, but with which the tool can be called.
      const meant = offers.toolNamed(exposed);
      return troupe
        .tools()
        .find(({ server, tool }) => server === meant.server && tool === meant.name)?.inputSchema;
    } catch {
      // The call itself reports an unknown name.
      return undefined;
    }
  }

  offerList(method: string, kind: ListKind, list: (context: RequestContext) => Answer): void {
    this.server.setRequestHandler(method, { params: params.list }, async (_params, context) => {
      await this.#gateway.firstLists(kind);
      return list(context);
    });
  }

  offerPrompts(requests: ClientRequests): void {
    const { offers, troupe } = this.#gateway;
    this.offerList(methods.listPrompts.name, 'prompts', () => ({ prompts: offers.prompts() }));
    this.server.setRequestHandler(
      methods.getPrompt.name,
      { params: params.prompt },
      ({ name: exposed, arguments: args }, context) =>
        requests.request(
          context,
          () => offers.promptNamed(exposed),
          async ({ server, name }, options) => {
            const { result } = await troupe.getPrompt(server, name, args, options);
            const wanted = inputRequiredIn(result);
            if (wanted !== undefined) return wanted;
            const messages = result.messages.map((message) => {
              const { content } = message;
              if (!isRecord(content)) return message;
              return keepNumbers(
                { ...message, content: offers.blocks(server, [content])[0] },
                message,
              );
            });
            return keepNumbers({ ...result, messages }, result);
          },
        ),
    );
  }

  offerCompletions(requests: ClientRequests): void {
    const { offers, troupe } = this.#gateway;
    this.server.setRequestHandler(
      methods.complete.name,
      { params: params.completion },
      ({ ref, argument, context: known }, context) =>
        requests.request(
          context,
          () => refOf(offers, ref),
          async (meant, options) => {
            const given = known?.arguments && { context: { arguments: known.arguments } };
            const request = { ref: meant.ref, argument, ...given };
            const { result } = await troupe.complete(meant.server, request, options);
            const values = [...result.completion.values];
            const completion = keepNumbers({ ...result.completion, values }, result.completion);
            return keepNumbers({ ...result, completion }, result);
          },
        ),
    );
  }
}
