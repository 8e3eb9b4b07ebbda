/**
 * The tools of a troupe in the form that all frameworks share: chosen by the host, under names that
 * every provider accepts, and each bound to the definition that was shown. If a tool was replaced
 * or removed since, the call is refused with the reason; another tool is never called in its place.
 */

import { createHash } from 'node:crypto';
import {
  type AskPermission,
  type CallOptions,
  createToolPair,
  type ExposedTool,
  type ToolPairOptions,
  type ToolResult,
  type Troupe,
  TroupeError,
} from '../index.ts';

/** The part of a troupe that an adapter needs. */
export type OfferingTroupe = Pick<Troupe, 'catalog' | 'callTool' | 'searchTools' | 'snapshot'>;

/** Which tools are handed to a framework, and how they are called. */
export interface OfferOptions {
  /** Only tools of these servers. Default: all. */
  readonly servers?: readonly string[];
  /** Only tools for which this is true. Default: all. */
  readonly filter?: (tool: ExposedTool) => boolean;
  /**
   * Offers `search_tools` and `call_tool` in place of all others, which they find and call; for
   * more tools than a model should see. Default: false.
   */
  readonly pair?: boolean | ToolPairOptions;
  /** Options of every call. The framework provides the signal and the call's id. */
  readonly call?: Omit<CallOptions, 'signal' | 'requestId' | 'round'>;
}

/** A framework's options for one call. */
export interface OwnCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The id that the model gave the call. */
  readonly requestId?: string | undefined;
  /** Replaces the one in {@link OfferOptions.call}. */
  readonly askPermission?: AskPermission | undefined;
}

/** A tool as it was shown. */
export interface OfferedTool {
  /** At most 64 characters of `A-Z a-z 0-9 _ -`, which all providers accept. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Absent for the two tools of a pair. */
  readonly shown?: ExposedTool;
  /** @throws TroupeError */
  call(args: unknown, own: OwnCallOptions): Promise<ToolResult>;
}

const fittingName = /^[A-Za-z0-9_-]{1,64}$/u;

/** The name itself if it fits, else a stable one that does. */
function wireName(name: string): string {
  if (fittingName.test(name)) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, 55)}_${hash}`;
}

/** The current tools. */
export function offerTools(
  troupe: OfferingTroupe,
  options: OfferOptions = {},
): readonly OfferedTool[] {
  const { pair = false } = options;
  if (pair !== false) return offerPair(troupe, options, pair === true ? {} : pair);
  const catalog = troupe.catalog();
  return catalog.tools
    .filter((tool) => isOffered(tool, options))
    .map((shown) => ({
      name: wireName(shown.name),
      ...(shown.title === undefined ? {} : { title: shown.title }),
      description: shown.description ?? shown.title ?? shown.tool,
      inputSchema: shown.inputSchema,
      shown,
      async call(args, own) {
        const report = await catalog.callTool(
          shown.name,
          asArguments(args, shown.name),
          callOptions(options, own),
        );
        return report.result;
      },
    }));
}

/**
 * Remembers tools as they were last shown, for frameworks that pass back only a name: the model
 * gets the tool it saw, or learns that it is gone.
 */
export class ShownTools {
  readonly #troupe: OfferingTroupe;
  readonly #options: OfferOptions;
  readonly #shown = new Map<string, OfferedTool>();

  constructor(troupe: OfferingTroupe, options: OfferOptions = {}) {
    this.#troupe = troupe;
    this.#options = options;
  }

  /** Returns the current tools and remembers them. */
  show(): readonly OfferedTool[] {
    const offered = offerTools(this.#troupe, this.#options);
    for (const tool of offered) {
      // Moved to the end: the tool that was not shown for longest is forgotten first.
      this.#shown.delete(tool.name);
      this.#shown.set(tool.name, tool);
    }
    for (const name of this.#shown.keys()) {
      if (this.#shown.size <= mostShown) break;
      this.#shown.delete(name);
    }
    return offered;
  }

  /** The tool as it was last shown; one that refuses every call if there is none. */
  named(name: string): OfferedTool {
    const shown = this.#shown.get(name);
    if (shown !== undefined) return shown;
    const offered = offerTools(this.#troupe, this.#options).find((tool) => tool.name === name);
    return offered ?? this.#absent(name);
  }

  #absent(name: string): OfferedTool {
    const { servers, filter, pair = false } = this.#options;
    const isWhole = servers === undefined && filter === undefined && pair === false;
    return {
      name,
      description: name,
      inputSchema: {},
      call: async (args, own) => {
        if (!isWhole) throw notOffered(name);
        // The troupe waits for a server that is still starting, and knows why a tool is not there.
        const given = asArguments(args, name);
        return (await this.#troupe.callTool(name, given, callOptions(this.#options, own))).result;
      },
    };
  }
}

// As many tools as a troupe lists at most.
const mostShown = 10_000;

function isOffered(tool: ExposedTool, { servers, filter }: OfferOptions): boolean {
  if (servers !== undefined && !servers.includes(tool.server)) return false;
  return filter === undefined || filter(tool);
}

function callOptions(
  { call }: OfferOptions,
  { signal, requestId, askPermission }: OwnCallOptions,
): CallOptions {
  return {
    ...call,
    ...(signal === undefined ? {} : { signal }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(askPermission === undefined ? {} : { askPermission }),
  };
}

/** Models omit the arguments of tools that take none. */
function asArguments(args: unknown, name: string): Readonly<Record<string, unknown>> {
  if (args === undefined || args === null) return {};
  if (typeof args === 'object' && !Array.isArray(args)) return args as Record<string, unknown>;
  const message = `The arguments of ${name} must be an object. Correct them and call again.`;
  throw new TroupeError('INVALID_ARGUMENTS', message, { tool: name });
}

function notOffered(name: string): TroupeError {
  const message = `There is no tool ${name} here. Use one of the tools that you were given.`;
  return new TroupeError('TOOL_UNKNOWN', message, { tool: name });
}

function offerPair(
  troupe: OfferingTroupe,
  options: OfferOptions,
  pairOptions: ToolPairOptions,
): readonly OfferedTool[] {
  const pair = createToolPair(narrowed(troupe, options), pairOptions);
  return pair.tools.map((tool) => ({
    ...tool,
    call: (args, own) =>
      pair.call(tool.name, asArguments(args, tool.name), callOptions(options, own)),
  }));
}

/** The same troupe without the tools that the host leaves out. */
function narrowed(
  troupe: OfferingTroupe,
  options: OfferOptions,
): Pick<Troupe, 'searchTools' | 'callTool' | 'snapshot'> {
  const { servers, filter } = options;
  if (servers === undefined && filter === undefined) return troupe;
  return {
    searchTools: (query, { limit = 10 } = {}) =>
      troupe
        .searchTools(query, { limit: mostShown })
        .filter(({ tool }) => isOffered(tool, options))
        .slice(0, limit),
    snapshot() {
      const whole = troupe.snapshot();
      if (servers === undefined) return whole;
      return { ...whole, servers: whole.servers.filter(({ name }) => servers.includes(name)) };
    },
    async callTool(name, args, own) {
      // Whether the host leaves out a tool that is not listed is unknown.
      const catalog = troupe.catalog();
      const tool = catalog.tools.find((it) => it.name === name);
      if (tool === undefined || !isOffered(tool, options)) throw notOffered(name);
      return catalog.callTool(name, args, own);
    },
  };
}
