import { actorsOf, type TroupeContext } from '../../../machines/troupe/context.ts';
import type { ServerPolicy } from '../../domain/policy.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import { removedServers, serverNamed } from '../../policies/admission/server-place.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import type { Specs } from '../../settings/merge-settings.ts';

/**
 * How servers should be, as the settings source last reported: policy, source and the rest of an
 * entry by the server's name, and its spec by generation. Specs are here only, neither in charts nor
 * in records, because they may contain secrets.
 *
 * A *generation* is a digest of what decides a connection. An edit of the command or the address
 * gives another one, an edit of a policy or a filter does not; so a server's name has one entry,
 * which applies in place, and two specs while one generation replaces another.
 *
 * An entry leaves once neither the settings nor the root has a server with its name: until then, a
 * removed server still closes. A spec leaves once neither has its generation: a replaced server may
 * serve for as long as its successor starts.
 */
export class DesiredBook {
  #settings: Settings | null = null;
  #specs: Specs = new Map();
  /** Specs that the settings no longer have. */
  readonly #replacedSpecs = new Map<string, ServerSpec>();
  readonly #removed = new Map<string, DesiredServer>();

  /** Replaces what is desired; called just before the root gets the settings. */
  put(settings: Settings, specs: Specs): void {
    for (const server of removedServers(this.#settings, settings))
      this.#removed.set(server.name, server);
    for (const [place, server] of (this.#settings?.servers ?? []).entries()) {
      // Unchanged servers keep their object.
      if (server === settings.servers[place]) continue;
      const { generation } = server;
      const spec = this.#specs.get(generation);
      if (spec !== undefined && specs.get(generation) === undefined)
        this.#replacedSpecs.set(generation, spec);
    }
    this.#settings = settings;
    this.#specs = specs;
  }

  /** The settings in force; null before the first are read. */
  get settings(): Settings | null {
    return this.#settings;
  }

  /** Drops the entries and specs that are gone from the settings and from the root. */
  retain(isPresent: (server: string) => boolean, { live }: Pick<TroupeContext, 'live'>): void {
    for (const name of this.#removed.keys()) if (!isPresent(name)) this.#removed.delete(name);
    if (this.#replacedSpecs.size === 0) return;
    const actors = [...live.values()].flatMap(actorsOf);
    const present = new Set(actors.map(({ generation }) => generation));
    for (const generation of this.#replacedSpecs.keys())
      if (!present.has(generation)) this.#replacedSpecs.delete(generation);
  }

  of(server: string): DesiredServer | undefined {
    return serverNamed(this.#settings, server) ?? this.#removed.get(server);
  }

  /**
   * Returns the entry of a server that has a chart.
   *
   * @throws Error if there is none, which would be a bug: an entry stays for as long as a chart
   */
  known(server: string): DesiredServer {
    const desired = this.of(server);
    if (desired === undefined) throw new Error(`There is no entry for the server "${server}".`);
    return desired;
  }

  /** Returns the default policy for a server that has no entry any more. */
  policyOf(server: string): ServerPolicy {
    return this.of(server)?.policy ?? defaultPolicy;
  }

  specOf(generation: string): ServerSpec | undefined {
    return this.#specs.get(generation) ?? this.#replacedSpecs.get(generation);
  }
}
