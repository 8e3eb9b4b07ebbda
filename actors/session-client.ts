/**
 * What speaks MCP. The SDK takes longer to load than all of this package, so this
 * file is imported by a session that opens and by nobody else, with `import()`: a
 * host that has no server to start never pays for it, and a process that serves one
 * boots meanwhile. Whoever imports a value of the SDK belongs behind this file or `session-remote.ts`.
 */

import { Client, type VersionNegotiationOptions } from '@modelcontextprotocol/client';

import { version } from '../src/domain/version.ts';

const clientInfo = { name: 'mcp-troupe', version };

export function createClient(
  versionNegotiation: VersionNegotiationOptions,
  onToolsChanged: () => void,
): Client {
  const client = new Client(clientInfo, { versionNegotiation, capabilities: {} });
  client.setNotificationHandler('notifications/tools/list_changed', onToolsChanged);
  return client;
}
