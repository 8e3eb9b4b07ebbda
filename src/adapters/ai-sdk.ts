/**
 * `mcp-troupe/ai-sdk`: a troupe's tools for the AI SDK (`ai` 6 or 7).
 *
 * A `ToolSet` is a snapshot. `troupeTools` takes one; `liveTools` takes a new one before each step
 * of a run. Either way, a call runs the tool that the model saw, or is refused with the reason.
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
   * Returns whether a call needs approval, as in the AI SDK: the run then ends with a request for
   * approval. For an approved call, permission rules do not ask again. Does not apply to the two
   * tools of a pair. Default: never; permission rules ask through `askPermission` during the call.
   */
  readonly needsApproval?: (
    tool: ExposedTool,
    input: Readonly<Record<string, unknown>>,
  ) => boolean | Promise<boolean>;
}

/** The current tools, for one run or one step. A call resolves with the MCP result or rejects with a `TroupeError`. */
export function troupeTools(troupe: OfferingTroupe, options: AiSdkOptions = {}): ToolSet {
  const set = emptySet();
  for (const tool of offerTools(troupe, options)) set[tool.name] = toolOf(tool, options);
  return set;
}

export interface LiveTools {
  /** Pass this object itself as a run's `tools`, not a copy: it changes before each step. */
  readonly tools: ToolSet;
  /** For the same run's `prepareStep`. Updates `tools` and lists their names in `activeTools`. */
  readonly prepareStep: () => { activeTools: string[] };
}

/**
 * Tools that are current at each step of a run, also after servers were reloaded, restarted or
 * replaced.
 *
 * @param own - the host's tools, which take precedence over a troupe's tool of the same name
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
      // Listed, so that a refresh by another run does not change this step's tools.
      return { activeTools: Object.keys(tools) };
    },
  };
}

// Without a prototype, so that a model that calls `toString` finds no tool.
function emptySet(): ToolSet {
  return Object.create(null) as ToolSet;
}

// Beyond this number, unanswered requests for approval are forgotten; their calls ask again.
const mostApproved = 1_000;

function toolOf(tool: OfferedTool, { needsApproval }: AiSdkOptions): ToolSet[string] {
  const { shown } = tool;
  // Calls that need approval; the framework runs them only when the user has approved them.
  const approved = new Set<string>();
  return dynamicTool({
    description: tool.description,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(shown === undefined ? {} : { metadata: { server: shown.server, tool: shown.tool } }),
    // Providers refuse an object schema without `properties`.
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
