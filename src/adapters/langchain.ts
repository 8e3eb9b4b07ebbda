/**
 * `mcp-troupe/langchain`: a troupe's tools for LangChain (`@langchain/core` 1).
 *
 * `TroupeToolkit` is live: its `tools` are always the current ones. A call runs the tool that the
 * model saw, or is refused with the reason.
 */

import { type AIMessage, type ContentBlock, ToolMessage } from '@langchain/core/messages';
import { BaseToolkit, DynamicStructuredTool, type ToolRunnableConfig } from '@langchain/core/tools';
import { type ToolResult, TroupeError, writeJson } from '../index.ts';
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
   * How a failed call, or a tool's error, is reported. `message`: the model gets a `ToolMessage` with
   * the status `error`. `throw`: the call throws a `TroupeError`, for hosts that handle tool errors
   * themselves. A failed call always throws if it was aborted or has no tool call id. Default:
   * `message`.
   */
  readonly onError?: 'message' | 'throw';
}

/** The current tools. A call's artifact is the complete MCP result. */
export function troupeTools(
  troupe: OfferingTroupe,
  options: LangChainOptions = {},
): DynamicStructuredTool[] {
  return offerTools(troupe, options).map((tool) => toolOf(tool, options));
}

/** A troupe's tools, always up to date; read `tools` before each turn. */
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
   * Runs the tool calls of a model's message concurrently and returns one message for each, in the
   * same order, also for a tool that is gone or never existed.
   *
   * @throws TroupeError according to {@link LangChainOptions.onError}, once every call has ended
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
        // LangChain itself refused the call, for example because the arguments do not match the schema.
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
    // A copy, because LangChain's validator modifies schemas.
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

/** The error for a result with `isError`; the tool has run. */
function failedAnswer({ name, shown }: OfferedTool, content: string | ContentBlock[]): TroupeError {
  const words = typeof content === 'string' ? content : writeJson(content);
  const { server, tool = name } = shown ?? {};
  return new TroupeError('SERVER_ERROR', words, { server, tool, outcome: 'executed' });
}

/** Text alone becomes a string, because not every model accepts blocks from a tool. */
function contentOf(parts: readonly ResultPart[]): string | ContentBlock[] {
  return wholeText(parts) ?? parts.map(blockOf);
}

/** In the older form, which providers' packages convert; the message's `contentBlocks` has the newer form. */
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
