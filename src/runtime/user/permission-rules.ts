/** The settings' permission rules: their verdict on a tool, and the rule behind it. */

import type { PermissionVerdict } from '../../domain/permission.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import {
  type PermittedTool,
  patternBehind,
  strictestVerdict,
  verdictByRules,
} from '../../policies/calls/permission-decision.ts';
import { type ServerInName, serverInName } from '../../policies/tools/name.ts';
import type { DecidingRule } from '../errors/permission-refusal.ts';

/** The current settings; null before they were read. */
export type RuledSettings = () => Pick<Settings, 'permissions' | 'servers'> | null;

export class PermissionRules {
  readonly #settings: RuledSettings;
  #inNames: {
    readonly of: readonly DesiredServer[];
    readonly named: readonly ServerInName[];
  } = { of: [], named: [] };

  constructor(settings: RuledSettings) {
    this.#settings = settings;
  }

  /** Whether no rule can apply to this server's tools. */
  isSilent({ tools }: DesiredServer): boolean {
    return tools.permissions === undefined && this.#settings()?.permissions === undefined;
  }

  verdict(desired: DesiredServer, shown: ExposedTool): PermissionVerdict | undefined {
    const { own = {}, narrowing = {} } = this.#settings()?.permissions ?? {};
    const servers = this.#serversInNames();
    const ofServer = desired.tools.permissions ?? {};
    return strictestVerdict(
      verdictByRules(own, shown, servers),
      verdictByRules(narrowing, shown, servers),
      verdictByRules(ofServer, inEntry(shown)),
    );
  }

  /** The rule behind a verdict; undefined when no rule led to it. */
  behind(
    verdict: 'ask' | 'deny',
    { source, tools }: DesiredServer,
    shown: ExposedTool,
  ): DecidingRule | undefined {
    const inOwnEntry = patternBehind(tools.permissions ?? {}, inEntry(shown), verdict);
    if (inOwnEntry !== undefined) {
      const key = `tools.permissions.${verdict} of ${source.key}`;
      return { pattern: inOwnEntry, source: { ...source, key } };
    }
    for (const { rules, source: place } of this.#settings()?.permissions?.places ?? []) {
      const pattern = patternBehind(rules, shown, verdict, this.#serversInNames());
      if (pattern !== undefined) return { pattern, source: place };
    }
    return undefined;
  }

  /** The prefix of each server's tool names; computed once per settings. */
  #serversInNames(): readonly ServerInName[] {
    const servers = this.#settings()?.servers ?? [];
    if (this.#inNames.of !== servers) {
      const named = servers.map(({ name, policy }) => serverInName(name, policy.naming));
      this.#inNames = { of: servers, named };
    }
    return this.#inNames.named;
  }
}

/** The tool as the rules in a server's entry see it: by the server's own name for it. */
function inEntry({ server, tool }: Pick<ExposedTool, 'server' | 'tool'>): PermittedTool {
  return { server, tool, name: tool };
}
