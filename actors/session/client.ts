/**
 * What speaks MCP. The SDK takes longer to load than all of this package, so this
 * file is imported by a session that opens and by nobody else, with `import()`: a
 * host that has no server to start never pays for it, and a process that serves one
 * boots meanwhile. Whoever imports a value of the SDK belongs behind this file or `remote.ts`.
 */

import {
  Client,
  type ClientCapabilities,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client';

import { version } from '../../src/domain/version.ts';
import { shareRequestIds } from './calls/request-ids.ts';

const clientInfo = { name: 'mcp-troupe', version };

/** What a server says unasked. */
export type News =
  | { readonly about: 'tools' | 'resources' | 'prompts' }
  | { readonly about: 'resource'; readonly uri: string }
  /** A line of its log, for whoever listens. */
  | { readonly about: 'message'; readonly params: Readonly<Record<string, unknown>> };

export function createClient(
  versionNegotiation: VersionNegotiationOptions,
  onNews: (news: News) => void,
  capabilities: ClientCapabilities = {},
): Client {
  const client = shareRequestIds(new Client(clientInfo, { versionNegotiation, capabilities }));
  for (const about of ['tools', 'resources', 'prompts'] as const) {
    client.setNotificationHandler(`notifications/${about}/list_changed`, () => onNews({ about }));
  }
  client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
    onNews({ about: 'resource', uri: params.uri }),
  );
  client.setNotificationHandler('notifications/message', ({ params }) =>
    onNews({ about: 'message', params }),
  );
  return client;
}
