/**
 * `mcp-troupe/ai-sdk`: the tools of a troupe for the AI SDK (`ai` 6).
 *
 * A `ToolSet` is a snapshot. `troupeTools` takes one; `liveTools` takes a new one before each step
 * of a run. Either way a tool is called as it was shown, or the call is refused with the reason.
 */

import { dynamicTool, type JSONValue, jsonSchema, type ToolSet } from 'ai';
import type { ExposedTool, ToolResult } from '../index.ts';
import { partsOf, wholeText } from './result-parts.ts';
import {
  type OfferedTool,
  type OfferingTroupe,
  type OfferOptions,
  offerTools,
} from './tool-offer.ts';

export type { OfferingTroupe, OfferOptions } from './tool-offer.ts';

export interface AiSdkOptions extends OfferOptions {
  /**
   * Whether the run ends with a request for approval instead of this call, as `needsApproval` of
   * the AI SDK does. A call that was approved so is not asked for again where rules say `ask`. Not
   * for the two tools of a pair. Default: never; where rules say `ask`, `askPermission` is asked
   * during the call.
   */
  readonly needsApproval?: (
    tool: ExposedTool,
    input: Readonly<Record<string, unknown>>,
  ) => boolean | Promise<boolean>;
}

/** The current tools, for one run or one step. A call resolves with the MCP result; a failed one throws its `TroupeError`. */
export function troupeTools(troupe: OfferingTroupe, options: AiSdkOptions = {}): ToolSet {
  const set = emptySet();
  for (const tool of offerTools(troupe, options)) set[tool.name] = toolOf(tool, options);
  return set;
}

export interface LiveTools {
  /** Pass this object itself as `tools` of a run, never a copy: it changes before each step. */
  readonly tools: ToolSet;
  /** For `prepareStep` of the same run. Brings `tools` up to date and names them in `activeTools`. */
  readonly prepareStep: () => { activeTools: string[] };
}

/**
 * Tools that are up to date at each step of a run, whatever was reloaded, restarted or replaced
 * since.
 *
 * @param own - tools of the host that stand beside them, and win where names are equal
 */
export function liveTools(
  troupe: OfferingTroupe,
  options: AiSdkOptions = {},
  own: ToolSet = {},
): LiveTools {
  const tools = emptySet();
  const refresh = (): void => {
    const now = { ...troupeTools(troupe, options), ...own };
    for (const name of Object.keys(tools)) if (!Object.hasOwn(now, name)) delete tools[name];
    Object.assign(tools, now);
  };
  refresh();
  return {
    tools,
    prepareStep: () => {
      refresh();
      // Named, so that the step keeps the tools it showed when another run refreshes meanwhile.
      return { activeTools: Object.keys(tools) };
    },
  };
}

// Without a prototype: a model that calls `toString` must not find one.
function emptySet(): ToolSet {
  return Object.create(null) as ToolSet;
}

// Requests for approval that stay unanswered are forgotten; a call that is approved later asks
// again.
const mostApproved = 1_000;

function toolOf(tool: OfferedTool, { needsApproval }: AiSdkOptions): ToolSet[string] {
  const { shown } = tool;
  // Calls that need approval: the framework runs them only after the user gave it.
  const approved = new Set<string>();
  return dynamicTool({
    description: tool.description,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(shown === undefined ? {} : { metadata: { server: shown.server, tool: shown.tool } }),
    // Providers refuse an object without `properties`.
    inputSchema: jsonSchema({ type: 'object', properties: {}, ...tool.inputSchema }),
    ...(needsApproval === undefined || shown === undefined
      ? {}
      : {
          async needsApproval(input: unknown, { toolCallId }: { readonly toolCallId: string }) {
            const needed = await needsApproval(shown, input as Record<string, unknown>);
            if (approved.size >= mostApproved) approved.clear();
            // Some providers reuse ids: a refused request must not affect the next call.
            if (needed) approved.add(toolCallId);
            else approved.delete(toolCallId);
            return needed;
          },
        }),
    execute: (input, { toolCallId, abortSignal }) =>
      tool.call(input, {
        signal: abortSignal,
        requestId: toolCallId,
        ...(approved.delete(toolCallId) ? { askPermission: () => 'allow' as const } : {}),
      }),
    toModelOutput: ({ output }) => modelOutput(output as ToolResult),
  });
}

type ModelOutput = Awaited<
  ReturnType<NonNullable<Parameters<typeof dynamicTool>[0]['toModelOutput']>>
>;

function modelOutput(result: ToolResult): ModelOutput {
  const { content, structuredContent, isError = false } = result;
  if (content.length === 0 && structuredContent !== undefined) {
    const value = structuredContent as JSONValue;
    return isError ? { type: 'error-json', value } : { type: 'json', value };
  }
  const parts = partsOf(result);
  const text = wholeText(parts);
  if (text !== undefined) return { type: isError ? 'error-text' : 'text', value: text };
  return {
    type: 'content',
    value: [
      ...(isError ? [{ type: 'text', text: 'The tool failed:' } as const] : []),
      ...parts.map((part) => {
        if (part.kind === 'text') return { type: 'text', text: part.text } as const;
        const { data, mediaType, filename } = part;
        if (part.kind === 'image') return { type: 'image-data', data, mediaType } as const;
        return { type: 'file-data', data, mediaType, filename } as const;
      }),
    ],
  };
}
