/**
 * `mcp-troupe/openai`: a troupe's tools for OpenAI's client (`openai` 6 or 7), as functions of the
 * Responses API and the Chat Completions API. Only the client's types are used, so any client of
 * these APIs works.
 */

import type { OpenAI } from 'openai';
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction';
import { parseJson, writeJson } from '../index.ts';
import { functionSchema } from './openai-schema.ts';
import { errorText, partsOf, type ResultPart, textWithNotes, wholeText } from './result-parts.ts';
import { RunOnce } from './run-once.ts';
import {
  type OfferedTool,
  type OfferingTroupe,
  type OfferOptions,
  type OwnCallOptions,
  ShownTools,
} from './tool-offer.ts';

export type { OfferingTroupe, OfferOptions } from './tool-offer.ts';

export interface OpenAIOptions extends OfferOptions {
  /**
   * Names of functions that the host runs itself; their calls are skipped. Every other call gets an
   * answer, because both APIs refuse a conversation with an unanswered call. Default: none.
   */
  readonly own?: readonly string[];
}

export interface RunOptions {
  /** Aborts running calls; each still gets an answer, with the reason. */
  readonly signal?: AbortSignal;
  /** More names of functions that the host runs itself, besides {@link OpenAIOptions.own}. */
  readonly own?: readonly string[];
}

type FunctionCallOutput = OpenAI.Responses.ResponseInputItem.FunctionCallOutput;
type ToolMessage = OpenAI.Chat.Completions.ChatCompletionToolMessageParam;

/** The tools of one conversation. */
export interface OpenAITools {
  /** The current tools, for `tools` of `client.responses.create`. */
  responses(): OpenAI.Responses.FunctionTool[];
  /** The current tools, for `tools` of `client.chat.completions.create`. */
  chat(): OpenAI.Chat.Completions.ChatCompletionFunctionTool[];
  /** The current tools, for `tools` of `client.chat.completions.runTools`, which runs them. */
  runnable(): RunnableToolFunctionWithParse<Record<string, unknown>>[];
  /**
   * Runs a response's function calls concurrently and returns an item for each, in the same order,
   * for the next `input`. A failed call's item has the reason. Never rejects. Each call runs once,
   * even when its response is passed in again.
   */
  runToolCalls(
    response: Pick<OpenAI.Responses.Response, 'output'>,
    options?: RunOptions,
  ): Promise<FunctionCallOutput[]>;
  /** Runs the calls of a Chat Completions message in the same way; returns messages. */
  runChatToolCalls(
    message: Pick<OpenAI.Chat.Completions.ChatCompletionMessage, 'tool_calls'>,
    options?: RunOptions,
  ): Promise<ToolMessage[]>;
}

/** Creates a troupe's tools for one conversation. Each is called as the conversation last showed it. */
export function troupeTools(troupe: OfferingTroupe, options: OpenAIOptions = {}): OpenAITools {
  const tools = new ShownTools(troupe, options);
  const isOwn = (name: string, run: RunOptions): boolean =>
    options.own?.includes(name) === true || run.own?.includes(name) === true;
  const once = new RunOnce<readonly ResultPart[]>(() => [
    { kind: 'text', text: 'MCP error: This call ran before, and its result is no longer kept.' },
  ]);
  const answer = (
    { id, name, args }: { readonly id: string; readonly name: string; readonly args: string },
    { signal }: RunOptions,
  ): Promise<readonly ResultPart[]> =>
    // Some servers of these APIs reuse ids in each turn, so the key includes name and arguments.
    once.run(writeJson([id, name, args]), () =>
      answerOf(tools.named(name), () => argumentsOf(args), { signal, requestId: id }),
    );
  return {
    responses: () =>
      tools.show().map((tool) => ({
        type: 'function',
        name: tool.name,
        description: tool.description,
        ...functionSchema(tool.inputSchema),
      })),
    chat: () =>
      tools.show().map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name, description, ...functionSchema(inputSchema) },
      })),
    runnable: () => tools.show().map(runnableOf),
    runToolCalls({ output }, run = {}) {
      const calls = output.filter((item) => item.type === 'function_call');
      const mine = calls.filter(({ name }) => !isOwn(name, run));
      return Promise.all(
        mine.map(async ({ call_id: id, name, arguments: args }) => ({
          type: 'function_call_output' as const,
          call_id: id,
          output: outputOf(await answer({ id, name, args }, run)),
        })),
      );
    },
    runChatToolCalls({ tool_calls: calls = [] }, run = {}) {
      const mine = calls.map(chatCall).filter(({ name }) => !isOwn(name, run));
      return Promise.all(
        mine.map(async (call) => ({
          role: 'tool' as const,
          tool_call_id: call.id,
          content: textWithNotes(await answer(call, run)),
        })),
      );
    },
  };
}

function chatCall(call: OpenAI.Chat.Completions.ChatCompletionMessageToolCall) {
  if (call.type === 'function') {
    return { id: call.id, name: call.function.name, args: call.function.arguments };
  }
  // Custom tools belong to the host; their input is not JSON.
  return { id: call.id, name: call.custom.name, args: call.custom.input };
}

function runnableOf(tool: OfferedTool): RunnableToolFunctionWithParse<Record<string, unknown>> {
  return {
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      ...functionSchema(tool.inputSchema),
      // The client shows the error to the model.
      parse: (input) => argumentsOf(input) as Record<string, unknown>,
      function: async (args, runner) =>
        textWithNotes(await answerOf(tool, () => args, { signal: runner.controller.signal })),
    },
  };
}

/** Runs a call; returns its result, or the reason for its failure, for the model. */
async function answerOf(
  tool: OfferedTool,
  readArguments: () => unknown,
  own: OwnCallOptions,
): Promise<readonly ResultPart[]> {
  try {
    const result = await tool.call(readArguments(), own);
    const parts = partsOf(result);
    if (result.isError !== true) return parts;
    return [{ kind: 'text', text: 'The tool failed:' }, ...parts];
  } catch (error) {
    return [{ kind: 'text', text: errorText(error) }];
  }
}

function argumentsOf(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return parseJson(text);
  } catch (cause) {
    throw new Error('The arguments are not JSON. Correct them and call again.', { cause });
  }
}

function outputOf(parts: readonly ResultPart[]): FunctionCallOutput['output'] {
  const text = wholeText(parts);
  if (text !== undefined) return text;
  return parts.map((part) => {
    if (part.kind === 'text') return { type: 'input_text', text: part.text };
    const url = `data:${part.mediaType};base64,${part.data}`;
    if (part.kind === 'image') return { type: 'input_image', image_url: url, detail: 'auto' };
    return { type: 'input_file', file_data: url, filename: part.filename };
  });
}
