import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { ExposedTool, ToolResult } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { checkLimit } from '../options/check.ts';
import type { CallOptions, Troupe } from '../troupe.ts';

/** Options of `createToolPair`. */
export interface ToolPairOptions {
  /** Names of the two tools. Default: `search_tools` and `call_tool`. */
  readonly names?: { readonly search: string; readonly call: string };
  /** Number of tools that one search shows if the model does not say. Default: 10; at most 50. */
  readonly limit?: number;
}

/** A tool in the format that model APIs accept. */
export interface PairedTool {
  /** The name to offer it by. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** Two tools that replace all others. */
export interface ToolPair {
  /** The two tools to offer to a model. */
  readonly tools: readonly [search: PairedTool, call: PairedTool];
  /**
   * Runs one of the two tools for a model. A failed call is a result with `isError`, one line `MCP
   * error: …` and the error under `_meta["mcp-troupe/error"]`.
   * @throws TroupeError `TOOL_UNKNOWN` for a name that is neither
   */
  call(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<ToolResult>;
}

const mostTools = 50;
// Few enough to read, and usually enough to include the right tool.
const usualLimit = 10;
// A schema may have 256 KB, too much for a model to read in a search result.
const maxSchemaCharacters = 16_384;
// With more unavailable servers than this, `status` is the better list.
const maxUnavailable = 20;

/**
 * Creates the tools `search_tools` and `call_tool`, which a host can show a model instead of
 * hundreds of tools: the model searches by keywords and calls a tool by the name it found. A search
 * covers the current tools, so the pair never changes.
 */
export function createToolPair(
  troupe: Pick<Troupe, 'searchTools' | 'callTool' | 'snapshot'>,
  options: ToolPairOptions = {},
): ToolPair {
  const { names = { search: 'search_tools', call: 'call_tool' }, limit = usualLimit } = options;
  checkLimit(limit);
  const search = (args: Readonly<Record<string, unknown>>): ToolResult => {
    const { query, limit: asked } = args;
    if (typeof query !== 'string' || query.trim() === '')
      throw wrong(`"query" of ${names.search} must be a string with at least one word.`);
    if (asked !== undefined && !(Number.isInteger(asked) && Number(asked) >= 1))
      throw wrong(`"limit" of ${names.search} must be a whole number of at least 1.`);
    const most = Math.min(asked === undefined ? limit : Number(asked), mostTools);
    const tools = troupe.searchTools(query, { limit: most }).map(({ tool }) => described(tool));
    const unavailable = troupe.snapshot().servers.filter(isAway).slice(0, maxUnavailable);
    return textOf(
      JSON.stringify({
        tools,
        ...(unavailable.length > 0 && { unavailable: unavailable.map(told) }),
      }),
    );
  };
  const call = async (
    { name, arguments: given = {} }: Readonly<Record<string, unknown>>,
    callOptions: CallOptions,
  ): Promise<ToolResult> => {
    if (typeof name !== 'string' || name === '')
      throw wrong(`"name" of ${names.call} must be the name of a tool that ${names.search} found.`);
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      throw wrong(`"arguments" of ${names.call} must be an object.`);
    const report = await troupe.callTool(name, given as Record<string, unknown>, callOptions);
    return report.result;
  };
  return {
    tools: definitions(names, limit),
    async call(name, args = {}, callOptions = {}) {
      if (name !== names.search && name !== names.call) {
        const message = `There is no tool ${name} in this pair. Use ${names.search} or ${names.call}.`;
        throw new TroupeError('TOOL_UNKNOWN', message, { tool: name });
      }
      try {
        return name === names.search ? search(args) : await call(args, callOptions);
      } catch (error) {
        if (error instanceof TroupeError) return failed(error);
        throw error;
      }
    },
  };
}

function definitions(
  names: NonNullable<ToolPairOptions['names']>,
  limit: number,
): ToolPair['tools'] {
  const searching: PairedTool = {
    name: names.search,
    description: `Finds tools by words of their names, titles and descriptions, the best first. Answers with their names, descriptions and schemas, and with the servers that cannot be used now and why. Call what was found with ${names.call}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'A few words, such as "create issue".' },
        limit: { type: 'integer', minimum: 1, maximum: mostTools, default: limit },
      },
      required: ['query'],
    },
  };
  const calling: PairedTool = {
    name: names.call,
    description: `Calls a tool by the name under which ${names.search} found it, with arguments that fit its schema.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: `A name that ${names.search} answered with.` },
        arguments: { type: 'object', description: 'As the inputSchema of that tool wants them.' },
      },
      required: ['name'],
    },
  };
  return [searching, calling];
}

function described(tool: ExposedTool): Readonly<Record<string, unknown>> {
  const { tool: _own, catalog: _catalog, inputSchema, ...rest } = tool;
  if (JSON.stringify(inputSchema).length <= maxSchemaCharacters) return { ...rest, inputSchema };
  return { ...rest, inputSchema: { type: 'object' }, note: 'The schema is too large to be shown.' };
}

/** Returns whether a server may offer tools but cannot be called now. */
function isAway({ state, catalog }: ServerStatus): boolean {
  if (isUsable(state)) return false;
  return state !== 'dormant' || catalog === 'none';
}

function told({ name, state, reason, action }: ServerStatus): Readonly<Record<string, unknown>> {
  return { server: name, state, ...defined({ reason, next: action }) };
}

function wrong(message: string): TroupeError {
  return argumentsError(`${message} Correct it and call again.`);
}

function failed(error: TroupeError): ToolResult {
  return {
    ...textOf(`MCP error: ${error.message}`),
    isError: true,
    _meta: { 'mcp-troupe/error': error.toJSON() },
  };
}

function textOf(text: string): ToolResult {
  return { content: [{ type: 'text', text }] };
}
