import equal from 'fast-deep-equal';
import type { DesiredServer } from '../domain/settings.ts';
import type { ExposedTool, ListedTool } from '../domain/tool.ts';
import { deepFreeze } from '../policies/deep-freeze.ts';
import { exposeTools, type ServerTools } from '../policies/expose-tools.ts';
import { passesFilter } from '../policies/tool-filter.ts';
import type { CatalogStore } from './catalog-store.ts';
import type { Sighting } from './status-board.ts';

export interface ToolListPorts {
  readonly sightings: () => readonly Sighting[];
  readonly catalogs: CatalogStore;
  readonly onChange: (servers: readonly string[]) => void;
}

/** The tools that callers see, made from the catalogs of all servers. */
export class ToolList {
  readonly #ports: ToolListPorts;
  #tools: readonly ExposedTool[] = [];
  #byName: ReadonlyMap<string, ExposedTool> = new Map();
  #byServer: ReadonlyMap<string, readonly ExposedTool[]> = new Map();
  #isDirty = true;
  #isScheduled = false;
  #announced: ReadonlyMap<string, readonly ExposedTool[]> = this.#byServer;

  constructor(ports: ToolListPorts) {
    this.#ports = ports;
  }

  /** Sorted by exposed name. The same array until something changes. */
  all(): readonly ExposedTool[] {
    if (this.#isDirty) {
      const next = exposeTools(
        this.#ports.sightings().flatMap((sighting) => this.#shown(sighting)),
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

  countOf(desired: DesiredServer, generation: string): number {
    const tools = this.#ports.catalogs.get(desired.name, generation);
    return tools.filter(({ name }) => passesFilter(desired.tools, name)).length;
  }

  /** What the server itself calls its tools, whether or not they are shown. */
  listed(sighting: Sighting): readonly ListedTool[] {
    return this.#ports.catalogs.get(sighting.desired.name, sighting.status.generation);
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
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#byServer = byServer(tools);
  }

  #shown(sighting: Sighting): ServerTools[] {
    const { catalog, name } = sighting.status;
    if (catalog === 'none' || sighting.leaving) return [];
    return [
      { server: name, filter: sighting.desired.tools, catalog, tools: this.listed(sighting) },
    ];
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
