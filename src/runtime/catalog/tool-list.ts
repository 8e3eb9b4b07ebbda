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
import type { Sighting } from '../status/board.ts';
import type { CatalogStore } from './store.ts';

export interface ToolListPorts {
  readonly sightings: () => readonly Sighting[];
  readonly catalogs: CatalogStore;
  /** Tools that are not what was approved. */
  readonly heldTools: (desired: DesiredServer) => ReadonlySet<string>;
  readonly onChange: (servers: readonly string[]) => void;
  /** Tools of this server are left out, because all together are too many. */
  readonly onCut: (server: string, shownCount: number, count: number) => void;
  /** A tool of this server is left out, because its policy gives it no name. */
  readonly onNameless: (tool: NamelessTool) => void;
}

/** One tool of one server, by its own name there. */
interface ToolOrigin {
  readonly server: string;
  readonly tool: string;
}

// More than any model is shown; a host that has more needs filters.
const maxTools = 10_000;

/** The tools that callers see, made from the catalogs of all servers. */
export class ToolList {
  readonly #ports: ToolListPorts;
  #tools: readonly ExposedTool[] = [];
  #byName: ReadonlyMap<string, ExposedTool> = new Map();
  #byServer: ReadonlyMap<string, readonly ExposedTool[]> = new Map();
  /** Made at the first search of a list. */
  #index: ToolIndex | undefined;
  #isDirty = true;
  /** Of which servers tools are left out, and how many: told once. */
  #told: ReadonlyMap<string, string> = new Map();
  /** Tools without a name: each told once. */
  #nameless: ReadonlySet<string> = new Set();
  /** What each alias may mean; made when one is first used. */
  #aliases: ReadonlyMap<string, readonly ToolOrigin[]> | undefined;
  #announced: ReadonlyMap<string, readonly ExposedTool[]> = this.#byServer;

  constructor(ports: ToolListPorts) {
    this.#ports = ports;
  }

  /** Sorted by exposed name. The same array until something changes. */
  all(): readonly ExposedTool[] {
    if (this.#isDirty) {
      const servers = this.#ports.sightings().flatMap((sighting) => this.#shown(sighting));
      const nameless: NamelessTool[] = [];
      const next = exposeTools(this.#cut(servers), (tool) => nameless.push(tool));
      this.#tell(nameless);
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
   * The tools that an alias may mean, whether or not they are shown: what is held back or left out
   * must not make room for another tool of the same name.
   */
  aliased(name: string): readonly ToolOrigin[] {
    this.all();
    this.#aliases ??= aliasesOf(this.#ports.sightings(), (sighting) => this.listed(sighting));
    return this.#aliases.get(name) ?? [];
  }

  /** What of a server's tools is shown, in the order of `all`. */
  of(server: string): readonly ExposedTool[] {
    this.all();
    return this.#byServer.get(server) ?? [];
  }

  /** The tools that fit these words best, the best first. */
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

  /** Says whether a tool is held back, by its own name or by one under which it would be exposed. */
  isHeld({ desired }: Sighting, name: string): boolean {
    const held = [...this.#ports.heldTools(desired)];
    return held.some((tool) => isNameOf(desired, tool, name));
  }

  /** The tool of this name that the settings leave out, if there is one. */
  hiddenBy(sighting: Sighting, name: string): string | undefined {
    const { desired } = sighting;
    const hidden = this.listed(sighting).find(
      ({ name: tool }) => !passesFilter(desired.tools, tool) && isNameOf(desired, tool, name),
    );
    return hidden?.name;
  }

  /** What the server itself calls its tools, whether or not they are shown. */
  listed(sighting: Sighting): readonly ListedTool[] {
    return this.#catalogOf(sighting).tools;
  }

  #catalogOf({ desired, status }: Sighting): Catalog {
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

  #tell(nameless: readonly NamelessTool[]): void {
    const keyOf = ({ server, tool, why }: NamelessTool) => JSON.stringify([server, tool, why]);
    for (const tool of nameless) {
      if (!this.#nameless.has(keyOf(tool))) this.#ports.onNameless(tool);
    }
    this.#nameless = new Set(nameless.map(keyOf));
  }

  /** Which tools are left out depends on names alone, never on which server came up first. */
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
      if (this.#told.get(server) === counts) continue;
      const [shownCount, count] = counts.split(' ').map(Number);
      this.#ports.onCut(server, shownCount ?? 0, count ?? 0);
    }
    this.#told = cut;
    return kept;
  }

  #shown(sighting: Sighting): ServerTools[] {
    const { catalog, name } = sighting.status;
    if (catalog === 'none' || sighting.leaving) return [];
    const { tools: filter, policy, trust } = sighting.desired;
    const { naming } = policy;
    const { descriptionMaxLength } = policy.catalog;
    const held = this.#ports.heldTools(sighting.desired);
    const { tools: listed, shownTools = listed } = this.#catalogOf(sighting);
    const tools = shownTools.filter((tool) => !held.has(tool.name));
    return [{ server: name, filter, catalog, tools, descriptionMaxLength, naming, trust }];
  }
}

/** Whether callers could mean this tool by the name, its own or any other. */
function isNameOf({ name: server, policy }: DesiredServer, tool: string, name: string): boolean {
  const { naming } = policy;
  if (tool === name || toolNamesOf(server, tool, naming).includes(name)) return true;
  return toolAliasesOf(server, tool, naming).includes(name);
}

function aliasesOf(
  sightings: readonly Sighting[],
  listed: (sighting: Sighting) => readonly ListedTool[],
): ReadonlyMap<string, readonly ToolOrigin[]> {
  const found = new Map<string, ToolOrigin[]>();
  const note = (alias: string, origin: ToolOrigin): void => {
    const meant = found.get(alias);
    if (meant === undefined) found.set(alias, [origin]);
    else meant.push(origin);
  };
  for (const sighting of sightings) {
    const { name: server, policy } = sighting.desired;
    if (policy.naming.aliases.length === 0 || sighting.leaving) continue;
    for (const { name: tool } of listed(sighting)) {
      const aliases = new Set(toolAliasesOf(server, tool, policy.naming));
      for (const alias of aliases) note(alias, { server, tool });
    }
  }
  return found;
}

// Grouped once: to search all tools for each server is slow with many of both.
function byServer(tools: readonly ExposedTool[]): ReadonlyMap<string, readonly ExposedTool[]> {
  const groups = new Map<string, ExposedTool[]>();
  for (const tool of tools) {
    const group = groups.get(tool.server);
    if (group === undefined) groups.set(tool.server, [tool]);
    else group.push(tool);
  }
  return groups;
}
