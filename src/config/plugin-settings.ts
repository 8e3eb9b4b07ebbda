/**
 * What a plugin of the host brings: servers whose names say whose they are, so that
 * two plugins, or a plugin and the user, may both have a server of one name.
 */

import type { Problem } from '../domain/settings.ts';
import { isServerName, legibleServerName } from '../policies/text/name-rule.ts';
import type { ParsedServer } from './entry/server-entry.ts';
import type { ParsedSettings } from './parse-settings.ts';

/** The same settings with `plugin:<plugin>:` before each name, and without a section `mcp`. */
export function ofPlugin(plugin: string, parsed: ParsedSettings): ParsedSettings {
  if (parsed.document === undefined) return parsed;
  const servers = parsed.document.servers.map((server) => renamed(server, `plugin:${plugin}:`));
  return { ...parsed, document: { ...parsed.document, servers, mcp: {} } };
}

function renamed(server: ParsedServer, prefix: string): ParsedServer {
  const { desired } = server;
  const name = `${prefix}${desired.name}`;
  if (isServerName(name)) return { ...server, desired: { ...desired, name } };
  const { file, line, key, scope } = desired.source;
  const invalid: Problem = {
    file: file ?? scope,
    ...(line === undefined ? {} : { line }),
    key,
    message: `with the name of its plugin, the name of this server is too long; shorten one of the two to 100 characters in all`,
  };
  const { spec: _spec, ...rest } = server;
  return {
    ...rest,
    isMisnamed: true,
    desired: { ...desired, name: legibleServerName(name), invalid: desired.invalid ?? invalid },
  };
}
