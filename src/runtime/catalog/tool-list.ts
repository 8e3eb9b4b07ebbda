import { grouped } from '../../domain/data/grouped.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool, ListedTool } from '../../domain/tool.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { exposeTools, type ServerTools, sameTools } from '../../policies/tools/expose-tools.ts';
import { passesFilter } from '../../policies/tools/filter.ts';
import { toolAliasesOf, toolNamesOf } from '../../policies/tools/name.ts';
import {
  indexTools,
  searchTools,
  type ToolIndex,
  type ToolMatch,
} from '../../policies/tools/search.ts';
import { needsTask, toolNotes } from '../../policies/tools/tool-notes.ts';
import type { NamelessTool } from '../../policies/tools/unique-names.ts';
import { changedTool, hiddenTool, taskTool } from '../errors/refused.ts';
import type { OfferingView } from '../status/board.ts';
import type { OfferFacts } from '../status/server-view.ts';
import type { CatalogStore, CatalogsPorts } from './store.ts';
import type { ToolAddress, ToolNames } from './tool-names.ts';

/** One tool of one server, by the server's own name. */
interface ToolOrigin {
  readonly server: string;
  readonly tool: string;
}

/** A line for a server's log. */
type Remark = readonly [server: string, line: string];

// More than any model is shown; a host that has more needs filters.
const maxTools = 10_000;

/** The tools that callers see, built from the catalogs of all servers. */
export class ToolList implements ToolNames {
  readonly #store: CatalogStore;
  readonly #ports: CatalogsPorts;
  #tools: readonly ExposedTool[] = [];
  #byName: ReadonlyMap<string, ExposedTool> = new Map();
  #byServer: ReadonlyMap<string, readonly ExposedTool[]> = new Map();
  /** The search index, built at the first search. */
  #index: ToolIndex | undefined;
  #isDirty = true;
  /** What was logged about tools that the latest list omits, each with its server. */
  #remarked: ReadonlySet<string> = new Set();
  /** The tools that each alias may refer to; built when an alias is first used. */
  #aliases: ReadonlyMap<string, readonly ToolOrigin[]> | undefined;
  #announced: ReadonlyMap<string, readonly ExposedTool[]> = this.#byServer;

  constructor(store: CatalogStore, ports: CatalogsPorts) {
    this.#store = store;
    this.#ports = ports;
  }

  /** Returns the tools sorted by exposed name; the same array until something changes. */
  all(): readonly ExposedTool[] {
    if (this.#isDirty) {
      const remarks: Remark[] = [];
      const offering = this.#ports.board().offering();
      const servers = offering.map((view) => this.#shown(view));
      for (const { status } of offering)
        for (const note of status.toolNotes ?? []) remarks.push([status.name, note]);
      const kept = withinLimit(servers, remarks);
      const next = exposeTools(kept, (tool) => remarks.push(remarkAboutNameless(tool)));
      this.#remark(remarks);
      this.#aliases = undefined;
      // Byte-stable: a model's cache stays valid if nothing differs. Frozen, because every caller
      // holds the same one.
      if (!sameTools(next, this.#tools)) this.#show(deepFreeze(next));
      this.#isDirty = false;
    }
    return this.#tools;
  }

  /** Returns the tool that callers reach by this exposed name. */
  named(exposedName: string): ExposedTool | undefined {
    this.all();
    return this.#byName.get(exposedName);
  }

  /**
   * Returns the tools that an alias may refer to, whether or not they are shown: a tool that is
   * withheld or omitted must not give up its alias to another one.
   */
  aliased(name: string): readonly ToolOrigin[] {
    this.all();
    this.#aliases ??= this.#aliasesOf();
    return this.#aliases.get(name) ?? [];
  }

  /** Returns a server's shown tools, in the order of `all`. */
  of(server: string): readonly ExposedTool[] {
    this.all();
    return this.#byServer.get(server) ?? [];
  }

  wholeOf(shown: ExposedTool): ExposedTool {
    return shown;
  }

  shownName(_server: string, ownName: string): string {
    return ownName;
  }

  ownName(address: ToolAddress): string | undefined {
    return 'tool' in address ? address.tool : this.named(address.exposedName)?.tool;
  }

  /** Returns the best matches for a query, best first. */
  search(query: string, limit: number): readonly ToolMatch[] {
    const tools = this.all();
    // Models search them.
    this.#index ??= indexTools(tools.filter(({ appOnly }) => appOnly !== true));
    return searchTools(this.#index, query, limit);
  }

  /**
   * Returns what is shown and withheld of a server's lists. The notes describe which tools are withheld
   * or shown cut, apart from those that wait for an approval.
   */
  offerOf(desired: DesiredServer, generation: string): OfferFacts {
    const { approvals } = this.#ports;
    const held = approvals.heldTools(desired);
    const { tools } = this.#store.get(desired.name, generation);
    const wanted = tools.filter(({ name }) => passesFilter(desired.tools, name));
    const shown = wanted.filter((tool) => !held.has(tool.name) && !needsTask(tool));
    return {
      toolCount: shown.length,
      toolNotes: toolNotes(wanted, desired.policy.catalog.descriptionMaxLength),
      heldCount: approvals.heldCount(desired),
    };
  }

  withheld(desired: DesiredServer, name: string): TroupeError | undefined {
    if (this.isHeld(desired, name)) return changedTool(desired.name, name);
    if (this.#runsAsTask(desired, name)) return taskTool(desired.name, name);
    const hidden = this.#hiddenBy(desired, name);
    return hidden === undefined ? undefined : hiddenTool(desired, hidden);
  }

  /** Whether a tool is withheld, by any of its names, because it runs only as a task. */
  #runsAsTask(desired: DesiredServer, name: string): boolean {
    return this.listed(desired.name).some(
      (tool) => needsTask(tool) && isNameOf(desired, tool.name, name),
    );
  }

  /**
   * Returns whether a tool is withheld, by its own name or by one under which it would be exposed.
   */
  isHeld(desired: DesiredServer, name: string): boolean {
    const held = [...this.#ports.approvals.heldTools(desired)];
    return held.some((tool) => isNameOf(desired, tool, name));
  }

  /** Returns the tool with this name that the settings hide, if there is one. */
  #hiddenBy(desired: DesiredServer, name: string): string | undefined {
    const hidden = this.listed(desired.name).find(
      ({ name: tool }) => !passesFilter(desired.tools, tool) && isNameOf(desired, tool, name),
    );
    return hidden?.name;
  }

  /** Returns the tools as the server lists them, whether or not they are shown. */
  listed(server: string): readonly ListedTool[] {
    const status = this.#ports.board().status(server);
    return status === undefined ? [] : this.#store.get(server, status.generation).tools;
  }

  /** Marks the list as outdated; it is rebuilt when it is next needed. */
  invalidate(): void {
    this.#isDirty = true;
  }

  /** Reports the servers whose shown tools differ from those at the last report. */
  announce(): void {
    this.all();
    const [earlier, present] = [this.#announced, this.#byServer];
    if (earlier === present) return;
    this.#announced = present;
    const servers = new Set([...earlier.keys(), ...present.keys()]);
    const changed = [...servers].filter(
      (server) => !sameTools(earlier.get(server), present.get(server)),
    );
    if (changed.length > 0)
      this.#ports.listeners.emit('tools.changed', { servers: changed.sort() });
  }

  /** Returns the tools that each alias may refer to. */
  #aliasesOf(): ReadonlyMap<string, readonly ToolOrigin[]> {
    const { board, book } = this.#ports;
    const staying = board()
      .views()
      .filter(({ leaving }) => !leaving);
    const named = staying.flatMap(({ status: { name: server } }) => {
      const { naming } = book.policyOf(server);
      const tools = naming.aliases.length === 0 ? [] : this.listed(server);
      return tools.flatMap(({ name: tool }) =>
        [...new Set(toolAliasesOf(server, tool, naming))].map(
          (alias) => [alias, { server, tool }] as const,
        ),
      );
    });
    return grouped(named);
  }

  #show(tools: readonly ExposedTool[]): void {
    this.#tools = tools;
    this.#index = undefined;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    // Grouped once, because searching all tools for each server is slow with many of both.
    this.#byServer = grouped(tools.map((tool) => [tool.server, tool]));
  }

  /** Logs why tools are omitted, unless that was also the case in the previous list. */
  #remark(remarks: readonly Remark[]): void {
    const before = this.#remarked;
    this.#remarked = new Set(remarks.map((remark) => remark.join(' ')));
    for (const remark of remarks)
      if (!before.has(remark.join(' '))) this.#ports.records.remark(...remark);
  }

  #shown(view: OfferingView): ServerTools {
    const { catalog, name, generation } = view.status;
    const desired = this.#ports.book.known(name);
    const { tools: filter, policy, trust } = desired;
    const { naming } = policy;
    const { descriptionMaxLength } = policy.catalog;
    const held = this.#ports.approvals.heldTools(desired);
    const { tools: listed, shownTools = listed } = this.#store.get(name, generation);
    const tools = shownTools.filter((tool) => !held.has(tool.name) && !needsTask(tool));
    return { server: name, filter, catalog, tools, descriptionMaxLength, naming, trust };
  }
}

/**
 * Drops the tools beyond the limit. Which ones are dropped depends only on names, never on the
 * order of starts.
 */
function withinLimit(servers: readonly ServerTools[], remarks: Remark[]): readonly ServerTools[] {
  let left = maxTools;
  return servers
    .toSorted((a, b) => (a.server < b.server ? -1 : 1))
    .map((one) => {
      if (one.tools.length <= left) {
        left -= one.tools.length;
        return one;
      }
      const tools = one.tools.filter(({ name }) => passesFilter(one.filter, name));
      const shown = tools.slice(0, left);
      left -= shown.length;
      if (shown.length < tools.length) {
        const line = `only ${shown.length} of its ${tools.length} tools are shown, because all servers together have too many; leave some out by tools.include or tools.exclude`;
        remarks.push([one.server, line]);
      }
      return { ...one, tools: shown };
    });
}

function remarkAboutNameless({ server, tool, why }: NamelessTool): Remark {
  const reason = why === 'long' ? 'its name is too long' : 'another tool has the same name';
  return [server, `its tool "${tool}" is not shown, because ${reason}; see naming of its policy`];
}

/** Returns whether the name refers to this tool: its own name, an exposed name, or an alias. */
function isNameOf({ name: server, policy }: DesiredServer, tool: string, name: string): boolean {
  const { naming } = policy;
  if (tool === name || toolNamesOf(server, tool, naming).includes(name)) return true;
  return toolAliasesOf(server, tool, naming).includes(name);
}
