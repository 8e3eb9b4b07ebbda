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
 * removed server still closes. A spec leaves with the second load after the last one that has its
 * generation: a server of an older generation is stopping and opens no connection.
 */
export class DesiredBook {
  #settings: Settings | null = null;
  #specs: Specs = new Map();
  #specsBefore: Specs = this.#specs;
  readonly #removed = new Map<string, DesiredServer>();

  /** Replaces what is desired; called just before the root gets the settings. */
  put(settings: Settings, specs: Specs): void {
    for (const server of removedServers(this.#settings, settings))
      this.#removed.set(server.name, server);
    this.#settings = settings;
    this.#specsBefore = this.#specs;
    this.#specs = specs;
  }

  /** The settings in force; null before the first are read. */
  get settings(): Settings | null {
    return this.#settings;
  }

  /** Drops the entries of servers that are gone from the settings and from the root. */
  retain(isPresent: (server: string) => boolean): void {
    for (const name of this.#removed.keys()) if (!isPresent(name)) this.#removed.delete(name);
  }

  of(server: string): DesiredServer | undefined {
    return serverNamed(this.#settings, server) ?? this.#removed.get(server);
  }

  /** Returns the entry of a server that has a chart, which it keeps for as long. */
  known(server: string): DesiredServer {
    return this.of(server) as DesiredServer;
  }

  /** Returns the default policy for a server that has no entry any more. */
  policyOf(server: string): ServerPolicy {
    return this.of(server)?.policy ?? defaultPolicy;
  }

  specOf(generation: string): ServerSpec | undefined {
    return this.#specs.get(generation) ?? this.#specsBefore.get(generation);
  }
}
