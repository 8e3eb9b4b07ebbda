import equal from 'fast-deep-equal';
import type { DesiredServer } from '../domain/settings.ts';
import type { ExposedTool, ListedTool } from '../domain/tool.ts';
import { deepFreeze } from '../policies/deep-freeze.ts';
import { exposeTools, type ServerTools, toolNamesOf } from '../policies/expose-tools.ts';
import { passesFilter } from '../policies/tool-filter.ts';
import {
  indexTools,
  searchTools,
  type ToolIndex,
  type ToolMatch,
} from '../policies/tool-search.ts';
import type { CatalogStore } from './catalog-store.ts';
import type { Sighting } from './status-board.ts';

export interface ToolListPorts {
  readonly sightings: () => readonly Sighting[];
  readonly catalogs: CatalogStore;
  /** Tools that are not what was approved. */
  readonly heldTools: (desired: DesiredServer) => ReadonlySet<string>;
  readonly onChange: (servers: readonly string[]) => void;
  /** Tools of this server are left out, because all together are too many. */
  readonly onCut: (server: string, shownCount: number, count: number) => void;
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
  #isScheduled = false;
  /** Of which servers tools are left out, and how many: told once. */
  #told: ReadonlyMap<string, string> = new Map();
  #announced: ReadonlyMap<string, readonly ExposedTool[]> = this.#byServer;

  constructor(ports: ToolListPorts) {
    this.#ports = ports;
  }

  /** Sorted by exposed name. The same array until something changes. */
  all(): readonly ExposedTool[] {
    if (this.#isDirty) {
      const next = exposeTools(
        this.#cut(this.#ports.sightings().flatMap((sighting) => this.#shown(sighting))),
      );
      // Byte-stable: what a model's cache holds stays valid when nothing differs.
      // Frozen, because every caller holds the same one.
      if (!equal(next, this.#tools)) this.#show(deepFreeze(next));
      this.#isDirty = false;
    }
    return this.#tools;
  }

  /** The tool that callers reach by this exposed name. */
  named(exposedName: string): ExposedTool | undefined {
    this.all();
    return this.#byName.get(exposedName);
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
    return held.some((tool) => tool === name || toolNamesOf(desired.name, tool).includes(name));
  }

  /** What the server itself calls its tools, whether or not they are shown. */
  listed(sighting: Sighting): readonly ListedTool[] {
    return this.#ports.catalogs.get(sighting.desired.name, sighting.status.generation).tools;
  }

  /** Something may have changed: looked at once, after everything that belongs together. */
  invalidate(): void {
    this.#isDirty = true;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#announce();
    });
  }

  #announce(): void {
    this.all();
    const [earlier, present] = [this.#announced, this.#byServer];
    if (earlier === present) return;
    this.#announced = present;
    const servers = new Set([...earlier.keys(), ...present.keys()]);
    const changed = [...servers].filter(
      (server) => !equal(earlier.get(server), present.get(server)),
    );
    if (changed.length > 0) this.#ports.onChange(changed.sort());
  }

  #show(tools: readonly ExposedTool[]): void {
    this.#tools = tools;
    this.#index = undefined;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#byServer = byServer(tools);
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
    const { tools: filter, policy } = sighting.desired;
    const { descriptionMaxLength } = policy.catalog;
    const held = this.#ports.heldTools(sighting.desired);
    const tools = this.listed(sighting).filter((tool) => !held.has(tool.name));
    return [{ server: name, filter, catalog, tools, descriptionMaxLength }];
  }
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
