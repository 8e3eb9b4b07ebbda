/** Layers of settings in few words, and what comes of them. */

import type { HostRule } from '../../src/domain/host/rule.ts';
import type { Scope, Settings } from '../../src/domain/settings.ts';
import { admitAll, type Gates } from '../../src/policies/admission/admit.ts';
import { byServer } from '../../src/policies/approvals/records.ts';
import { ofPlugin } from '../../src/settings/layers.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { type ParsedSettings, parseSettings } from '../../src/settings/parse-settings.ts';

export const open: Gates = {
  trusted: true,
  excluded: [],
  hostAllowed: null,
  decisions: byServer([]),
};

export function layer(scope: Scope, value: unknown, file = `/${scope}.json`): ParsedSettings {
  const parsed = parseSettings(JSON.stringify(value), { file, scope, projectRoot: '/project' });
  return scope === 'plugin' ? ofPlugin('tools', parsed) : parsed;
}
export function entries(servers: Readonly<Record<string, string | object>>, mcp?: object): object {
  const list = Object.entries(servers).map(([name, entry]) => [
    name,
    typeof entry === 'string' ? { command: entry } : entry,
  ]);
  return { mcpServers: Object.fromEntries(list), ...(mcp === undefined ? {} : { mcp }) };
}
export const merged = (
  layers: readonly ParsedSettings[],
  rules: readonly HostRule[] = [],
): Settings => mergeSettings(layers, undefined, undefined, rules).settings;
export const verdicts = (settings: Settings): Readonly<Record<string, string>> =>
  Object.fromEntries(
    admitAll(settings, open).map(({ desired, verdict }) => [desired.name, verdict]),
  );
export const messages = ({ problems }: Settings): readonly string[] =>
  problems.map(({ message }) => message);
