/**
 * `mcp-troupe/langchain`: the tools of a troupe for LangChain (`@langchain/core` 1).
 *
 * `TroupeToolkit` is live: each read of `tools` returns the current ones. A tool is called as it
 * was shown, or the call is refused with the reason.
 */

import { type AIMessage, type ContentBlock, ToolMessage } from '@langchain/core/messages';
import { BaseToolkit, DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools';
import { type ToolResult, TroupeError } from '../index.ts';
import { errorText, partsOf, type ResultPart, wholeText } from './result-parts.ts';
import {
  type OfferedTool,
  type OfferingTroupe,
  type OfferOptions,
  offerTools,
  ShownTools,
} from './tool-offer.ts';

export type { OfferingTroupe, OfferOptions } from './tool-offer.ts';

export interface LangChainOptions extends OfferOptions {
  /**
   * What happens when a model's call fails or its tool returns an error. `message`: the model gets
   * a `ToolMessage` with the status `error`. `throw`: the `TroupeError` is thrown, for hosts that
   * handle tool errors themselves. An aborted call, and one without a tool call id, always throws.
   * Default: `message`.
   */
  readonly onError?: 'message' | 'throw';
}

/** The current tools. Their artifact is the complete MCP result. */
export function troupeTools(
  troupe: OfferingTroupe,
  options: LangChainOptions = {},
): DynamicStructuredTool[] {
  return offerTools(troupe, options).map((tool) => toolOf(tool, options));
}

/** A troupe's tools, always up to date; read `tools` before each turn of the model. */
export class TroupeToolkit extends BaseToolkit {
  readonly #shown: ShownTools;
  readonly #options: LangChainOptions;

  constructor(troupe: OfferingTroupe, options: LangChainOptions = {}) {
    super();
    this.#shown = new ShownTools(troupe, options);
    this.#options = options;
  }

  get tools(): DynamicStructuredTool[] {
    return this.#shown.show().map((tool) => toolOf(tool, this.#options));
  }

  /**
   * Runs the tool calls of a model's message concurrently and answers each with one message, in the
   * same order. A call of a tool that is gone or never existed is answered as well.
   *
   * @throws TroupeError as {@link LangChainOptions.onError} says, when every call has ended
   */
  async runToolCalls(
    { tool_calls: calls = [] }: Pick<AIMessage, 'tool_calls'>,
    config?: ToolRunnableConfig,
  ): Promise<ToolMessage[]> {
    const runs = calls.map(async (call): Promise<ToolMessage> => {
      const tool = toolOf(this.#shown.named(call.name), this.#options);
      try {
        return (await tool.invoke({ ...call, type: 'tool_call' }, config)) as ToolMessage;
      } catch (error) {
        // LangChain itself refused it, for example for arguments that do not fit the schema.
        if (this.#options.onError === 'throw' || config?.signal?.aborted === true) throw error;
        return failed(errorText(error), { id: call.id ?? '', name: call.name }, error);
      }
    });
    const ends = await Promise.allSettled(runs);
    return ends.map((end) => {
      if (end.status === 'rejected') throw end.reason;
      return end.value;
    });
  }
}

function toolOf(tool: OfferedTool, options: LangChainOptions): DynamicStructuredTool {
  return new DynamicStructuredTool({
    name: tool.name,
    description: tool.description,
    // A copy: the validator of LangChain writes into the schemas that it reads.
    schema: structuredClone(tool.inputSchema),
    responseFormat: 'content_and_artifact',
    ...(tool.shown === undefined
      ? {}
      : { metadata: { server: tool.shown.server, tool: tool.shown.tool } }),
    func: (input: unknown, _manager, config?: ToolRunnableConfig) =>
      answer(tool, input, config, options),
  });
}

type Answer = [content: string | ContentBlock[] | ToolMessage, artifact: ToolResult | undefined];

async function answer(
  tool: OfferedTool,
  input: unknown,
  { signal, toolCall }: ToolRunnableConfig = {},
  { onError = 'message' }: LangChainOptions,
): Promise<Answer> {
  const id = toolCall?.id;
  const call = id === undefined || onError === 'throw' ? undefined : { id, name: tool.name };
  let result: ToolResult;
  try {
    result = await tool.call(input, { signal, requestId: id });
  } catch (error) {
    if (call === undefined || signal?.aborted === true) throw error;
    return [failed(errorText(error), call, error), undefined];
  }
  const content = contentOf(partsOf(result));
  if (result.isError !== true) return [content, result];
  if (call === undefined) throw failedAnswer(tool, content);
  return [failed(content, call, result), result];
}

function failed(
  content: string | ContentBlock[],
  { id, name }: { readonly id: string; readonly name: string },
  artifact?: unknown,
): ToolMessage {
  return new ToolMessage({ status: 'error', content, tool_call_id: id, name, artifact });
}

/** The error for a result with `isError`, where errors are thrown; the tool did run. */
function failedAnswer({ name, shown }: OfferedTool, content: string | ContentBlock[]): TroupeError {
  const words = typeof content === 'string' ? content : JSON.stringify(content);
  const { server, tool = name } = shown ?? {};
  return new TroupeError('SERVER_ERROR', words, { server, tool, outcome: 'executed' });
}

/** Plain text if there is nothing else: not every model accepts blocks from a tool. */
function contentOf(parts: readonly ResultPart[]): string | ContentBlock[] {
  return wholeText(parts) ?? parts.map(blockOf);
}

/** In the form that packages of providers convert; `contentBlocks` of the message has the newer one. */
function blockOf(part: ResultPart): ContentBlock {
  if (part.kind === 'text') return { type: 'text', text: part.text };
  const { data, mediaType, filename, kind } = part;
  const type = kind === 'file' && mediaType.startsWith('audio/') ? 'audio' : kind;
  return {
    type,
    source_type: 'base64',
    mime_type: mediaType,
    data,
    ...(type === 'file' ? { metadata: { filename } } : {}),
  };
}
