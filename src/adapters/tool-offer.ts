/**
 * Converts a troupe's tools to the form that all frameworks share: selected by the host, under names
 * that every provider accepts, and each bound to the definition that the model saw. If a tool has
 * been replaced or removed since, its call is refused with the reason; no other tool runs instead.
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

/** Selects the tools for a framework, and sets the options of their calls. */
export interface OfferOptions {
  /** Only tools of these servers. Default: all. */
  readonly servers?: readonly string[];
  /** Only tools for which this returns true. Default: all. */
  readonly filter?: (tool: ExposedTool) => boolean;
  /**
   * Replaces all tools with `search_tools` and `call_tool`, which find and call them; for more tools
   * than a model should see. Default: false.
   */
  readonly pair?: boolean | ToolPairOptions;
  /** Options for every call. The framework provides the signal and the call's id. */
  readonly call?: Omit<CallOptions, 'signal' | 'requestId' | 'round'>;
}

/** A framework's options for one call. */
export interface OwnCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The id that the model gave the call. */
  readonly requestId?: string | undefined;
  /** Overrides `askPermission` in {@link OfferOptions.call}. */
  readonly askPermission?: AskPermission | undefined;
}

/** A tool as the model saw it. */
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

/** Returns the name itself if every provider accepts it, else a stable substitute. */
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
  if (pair !== false) {
    const toolPair = createToolPair(narrowed(troupe, options), pair === true ? {} : pair);
    return toolPair.tools.map((tool) => ({
      ...tool,
      call: boundCall(tool.name, options, (args, own) => toolPair.call(tool.name, args, own)),
    }));
  }
  const catalog = troupe.catalog();
  return catalog.tools
    .filter((tool) => isOffered(tool, options))
    .map((shown) => ({
      name: wireName(shown.name),
      ...(shown.title === undefined ? {} : { title: shown.title }),
      description: shown.description ?? shown.title ?? shown.tool,
      inputSchema: shown.inputSchema,
      shown,
      call: boundCall(shown.name, options, async (args, own) => {
        const { result } = await catalog.callTool(shown.name, args, own);
        return result;
      }),
    }));
}

/**
 * Remembers tools as they were last shown, for frameworks that return only a name: the call runs
 * the tool that the model saw, or reports that the tool is gone.
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
      // Moved to the end, because the tool that was shown longest ago is forgotten first.
      this.#shown.delete(tool.name);
      this.#shown.set(tool.name, tool);
    }
    for (const name of this.#shown.keys()) {
      if (this.#shown.size <= mostShown) break;
      this.#shown.delete(name);
    }
    return offered;
  }

  /** Returns the tool as it was last shown; for an unknown name, a tool whose calls fail. */
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
      call: boundCall(name, this.#options, async (args, own) => {
        if (!isWhole) throw notOffered(name);
        // The troupe waits for a server that is still starting, and reports why a tool is missing.
        return (await this.#troupe.callTool(name, args, own)).result;
      }),
    };
  }
}

// The most tools that a troupe lists.
const mostShown = 10_000;

function isOffered(tool: ExposedTool, { servers, filter }: OfferOptions): boolean {
  if (tool.appOnly === true) return false;
  if (servers !== undefined && !servers.includes(tool.server)) return false;
  return filter === undefined || filter(tool);
}

/** Combines the host's options and the framework's for each call, and checks its arguments. */
function boundCall(
  name: string,
  { call }: OfferOptions,
  run: (args: Readonly<Record<string, unknown>>, options: CallOptions) => Promise<ToolResult>,
): OfferedTool['call'] {
  // Models omit the arguments of tools that take none.
  return async (args, { signal, requestId, askPermission }) => {
    if (typeof (args ?? {}) !== 'object' || Array.isArray(args)) {
      const message = `The arguments of ${name} must be an object. Correct them and call again.`;
      throw new TroupeError('INVALID_ARGUMENTS', message, { tool: name });
    }
    return run((args ?? {}) as Record<string, unknown>, {
      ...call,
      ...(signal === undefined ? {} : { signal }),
      ...(requestId === undefined ? {} : { requestId }),
      ...(askPermission === undefined ? {} : { askPermission }),
    });
  };
}

function notOffered(name: string): TroupeError {
  const message = `There is no tool ${name} here. Use one of the tools that you were given.`;
  return new TroupeError('TOOL_UNKNOWN', message, { tool: name });
}

/** The same troupe with only the tools that the host selected. */
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
      // A tool that is not listed cannot be checked against the host's selection.
      const catalog = troupe.catalog();
      const tool = catalog.tools.find((it) => it.name === name);
      if (tool === undefined || !isOffered(tool, options)) throw notOffered(name);
      return catalog.callTool(name, args, own);
    },
  };
}
