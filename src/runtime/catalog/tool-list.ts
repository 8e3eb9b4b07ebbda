import type { Catalog } from '../../domain/catalog.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool, ListedTool } from '../../domain/tool.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalData } from '../../policies/equal-data.ts';
import {
  exposeTools,
  type NamelessTool,
  type ServerTools,
} from '../../policies/tools/expose-tools.ts';
import { passesFilter } from '../../policies/tools/filter.ts';
import { toolAliasesOf, toolNamesOf } from '../../policies/tools/name.ts';
import {
  indexTools,
  searchTools,
  type ToolIndex,
  type ToolMatch,
} from '../../policies/tools/search.ts';
import type { ServerView } from '../status/board.ts';
import type { CatalogStore } from './store.ts';

export interface ToolListPorts {
  readonly views: () => readonly ServerView[];
  readonly catalogs: CatalogStore;
  /** Tools that differ from the approved ones. */
  readonly heldTools: (desired: DesiredServer) => ReadonlySet<string>;
  readonly onChange: (servers: readonly string[]) => void;
  /** Tools of this server are left out, because there are too many in all. */
  readonly onCut: (server: string, shownCount: number, count: number) => void;
  /** A tool is left out, because its server's policy gives it no name. */
  readonly onNameless: (tool: NamelessTool) => void;
}

/** One tool of one server, by the server's own name. */
interface ToolOrigin {
  readonly server: string;
  readonly tool: string;
}

// More than any model is shown; a host that has more needs filters.
const maxTools = 10_000;

/** The tools that callers see, built from the catalogs of all servers. */
export class ToolList {
  readonly #ports: ToolListPorts;
  #tools: readonly ExposedTool[] = [];
  #byName: ReadonlyMap<string, ExposedTool> = new Map();
  #byServer: ReadonlyMap<string, readonly ExposedTool[]> = new Map();
  /** Built at the first search. */
  #index: ToolIndex | undefined;
  #isDirty = true;
  /** The servers whose tools are left out, and how many, as last reported. */
  #reported: ReadonlyMap<string, string> = new Map();
  /** Tools without a name that were reported. */
  #nameless: ReadonlySet<string> = new Set();
  /** What each alias may mean; built when one is first used. */
  #aliases: ReadonlyMap<string, readonly ToolOrigin[]> | undefined;
  #announced: ReadonlyMap<string, readonly ExposedTool[]> = this.#byServer;

  constructor(ports: ToolListPorts) {
    this.#ports = ports;
  }

  /** Sorted by exposed name. The same array until something changes. */
  all(): readonly ExposedTool[] {
    if (this.#isDirty) {
      const servers = this.#ports.views().flatMap((view) => this.#shown(view));
      const nameless: NamelessTool[] = [];
      const next = exposeTools(this.#cut(servers), (tool) => nameless.push(tool));
      this.#reportNameless(nameless);
      this.#aliases = undefined;
      // Byte-stable: what a model's cache holds stays valid when nothing differs.
      // Frozen, because every caller holds the same one.
      if (!equalData(next, this.#tools)) this.#show(deepFreeze(next));
      this.#isDirty = false;
    }
    return this.#tools;
  }

  /** The tool that callers reach by this exposed name. */
  named(exposedName: string): ExposedTool | undefined {
    this.all();
    return this.#byName.get(exposedName);
  }

  /**
   * The tools that an alias may mean, whether or not they are shown: a tool that is held back or left
   * out must not give its alias to another one.
   */
  aliased(name: string): readonly ToolOrigin[] {
    this.all();
    this.#aliases ??= aliasesOf(this.#ports.views(), (view) => this.listed(view));
    return this.#aliases.get(name) ?? [];
  }

  /** A server's shown tools, in the order of `all`. */
  of(server: string): readonly ExposedTool[] {
    this.all();
    return this.#byServer.get(server) ?? [];
  }

  /** The best matches for these words, best first. */
  search(query: string, limit: number): readonly ToolMatch[] {
    const tools = this.all();
    this.#index ??= indexTools(tools);
    return searchTools(this.#index, query, limit);
  }

  countOf(desired: DesiredServer, generation: string): number {
    const { tools } = this.#ports.catalogs.get(desired.name, generation);
    const held = this.#ports.heldTools(desired);
    return tools.filter(({ name }) => passesFilter(desired.tools, name) && !held.has(name)).length;
  }

  /** Whether a tool is held back, by its own name or by one under which it would be exposed. */
  isHeld({ desired }: ServerView, name: string): boolean {
    const held = [...this.#ports.heldTools(desired)];
    return held.some((tool) => isNameOf(desired, tool, name));
  }

  /** The tool of this name that the settings leave out, if there is one. */
  hiddenBy(view: ServerView, name: string): string | undefined {
    const { desired } = view;
    const hidden = this.listed(view).find(
      ({ name: tool }) => !passesFilter(desired.tools, tool) && isNameOf(desired, tool, name),
    );
    return hidden?.name;
  }

  /** The tools as the server lists them, whether or not they are shown. */
  listed(view: ServerView): readonly ListedTool[] {
    return this.#catalogOf(view).tools;
  }

  #catalogOf({ desired, status }: ServerView): Catalog {
    return this.#ports.catalogs.get(desired.name, status.generation);
  }

  /** The list may have changed, and is built again when it is next needed. */
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
      (server) => !equalData(earlier.get(server), present.get(server)),
    );
    if (changed.length > 0) this.#ports.onChange(changed.sort());
  }

  #show(tools: readonly ExposedTool[]): void {
    this.#tools = tools;
    this.#index = undefined;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#byServer = byServer(tools);
  }

  #reportNameless(nameless: readonly NamelessTool[]): void {
    const keyOf = ({ server, tool, why }: NamelessTool) => JSON.stringify([server, tool, why]);
    for (const tool of nameless) {
      if (!this.#nameless.has(keyOf(tool))) this.#ports.onNameless(tool);
    }
    this.#nameless = new Set(nameless.map(keyOf));
  }

  /** Which tools are left out depends on names alone, never on the order of starts. */
  #cut(servers: readonly ServerTools[]): readonly ServerTools[] {
    let left = maxTools;
    const cut = new Map<string, string>();
    const kept = servers
      .toSorted((a, b) => (a.server < b.server ? -1 : 1))
      .map((one) => {
        if (one.tools.length <= left) {
          left -= one.tools.length;
          return one;
        }
        const tools = one.tools.filter(({ name }) => passesFilter(one.filter, name));
        const shown = tools.slice(0, left);
        left -= shown.length;
        if (shown.length < tools.length) cut.set(one.server, `${shown.length} ${tools.length}`);
        return { ...one, tools: shown };
      });
    for (const [server, counts] of cut) {
      if (this.#reported.get(server) === counts) continue;
      const [shownCount, count] = counts.split(' ').map(Number);
      this.#ports.onCut(server, shownCount ?? 0, count ?? 0);
    }
    this.#reported = cut;
    return kept;
  }

  #shown(view: ServerView): ServerTools[] {
    const { catalog, name } = view.status;
    if (catalog === 'none' || view.leaving) return [];
    const { tools: filter, policy, trust } = view.desired;
    const { naming } = policy;
    const { descriptionMaxLength } = policy.catalog;
    const held = this.#ports.heldTools(view.desired);
    const { tools: listed, shownTools = listed } = this.#catalogOf(view);
    const tools = shownTools.filter((tool) => !held.has(tool.name));
    return [{ server: name, filter, catalog, tools, descriptionMaxLength, naming, trust }];
  }
}

/** Whether the name refers to this tool: its own name, an exposed name, or an alias. */
function isNameOf({ name: server, policy }: DesiredServer, tool: string, name: string): boolean {
  const { naming } = policy;
  if (tool === name || toolNamesOf(server, tool, naming).includes(name)) return true;
  return toolAliasesOf(server, tool, naming).includes(name);
}

function aliasesOf(
  views: readonly ServerView[],
  listed: (view: ServerView) => readonly ListedTool[],
): ReadonlyMap<string, readonly ToolOrigin[]> {
  const found = new Map<string, ToolOrigin[]>();
  const note = (alias: string, origin: ToolOrigin): void => {
    const meant = found.get(alias);
    if (meant === undefined) found.set(alias, [origin]);
    else meant.push(origin);
  };
  for (const view of views) {
    const { name: server, policy } = view.desired;
    if (policy.naming.aliases.length === 0 || view.leaving) continue;
    for (const { name: tool } of listed(view)) {
      const aliases = new Set(toolAliasesOf(server, tool, policy.naming));
      for (const alias of aliases) note(alias, { server, tool });
    }
  }
  return found;
}

// Grouped once, because searching all tools for each server is slow with many of both.
function byServer(tools: readonly ExposedTool[]): ReadonlyMap<string, readonly ExposedTool[]> {
  const groups = new Map<string, ExposedTool[]>();
  for (const tool of tools) {
    const group = groups.get(tool.server);
    if (group === undefined) groups.set(tool.server, [tool]);
    else group.push(tool);
  }
  return groups;
}
