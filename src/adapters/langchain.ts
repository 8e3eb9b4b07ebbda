/**
 * `mcp-troupe/langchain`: the tools of a troupe for LangChain (`@langchain/core` 1).
 *
 * `TroupeToolkit` is live: its `tools` are those of the moment at which it is asked. Each is called as
 * it was shown, or refused with the reason.
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
   * What a call of a model comes to when it fails, or when the tool answers with an error. `message`: a
   * `ToolMessage` with the status `error`, which the model reads. `throw`: the `TroupeError`, for whoever
   * handles errors of tools himself. An aborted call, and one without the id of a tool call, always throw.
   * Default: `message`.
   */
  readonly onError?: 'message' | 'throw';
}

/** The tools of now. Their artifact is the whole result as MCP has it. */
export function troupeTools(
  troupe: OfferingTroupe,
  options: LangChainOptions = {},
): DynamicStructuredTool[] {
  return offerTools(troupe, options).map((tool) => toolOf(tool, options));
}

/** The tools of a troupe, whatever is reloaded, restarted or replaced; ask for them before each turn of the model. */
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
   * Runs what a message of the model asks for, side by side, and answers each call with one message in
   * the same order. Also a tool that has gone since it was shown, or never was there, is answered.
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
        // What LangChain itself refuses, such as arguments that do not fit the schema.
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

/** For whoever wants errors thrown, an answer that says `isError` is one; it did run. */
function failedAnswer({ name, shown }: OfferedTool, content: string | ContentBlock[]): TroupeError {
  const words = typeof content === 'string' ? content : JSON.stringify(content);
  const { server, tool = name } = shown ?? {};
  return new TroupeError('SERVER_ERROR', words, { server, tool, outcome: 'executed' });
}

/** Plain text wherever it is nothing else: not every model takes blocks from a tool. */
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
