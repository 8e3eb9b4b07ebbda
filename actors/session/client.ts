/**
 * Creates the MCP client. The SDK takes longer to load than this whole package, so a session
 * imports this file, with `import()`, only when it opens. A host without servers never loads it,
 * and a server's process boots in the meantime. Code that imports a value from the SDK must be
 * reachable only through this file or `remote.ts`.
 */

import {
  Client,
  type ClientCapabilities,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client';

import { version } from '../../src/domain/version.ts';
import { shareRequestIds } from './calls/light-calls.ts';

const clientInfo = { name: 'mcp-troupe', version };

/** A notification from the server. */
export type News =
  | { readonly about: 'tools' | 'resources' | 'prompts' }
  | { readonly about: 'resource'; readonly uri: string }
  /** A message from the server's log. */
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
