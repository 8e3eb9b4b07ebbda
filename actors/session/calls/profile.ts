import type { Client } from '@modelcontextprotocol/client';

import type { ServerProfile } from '../../../src/domain/session.ts';
import { printableLine } from '../../../src/policies/text/printable.ts';

// As much of a name as is shown of any other.
const nameCharacters = 128;

/** Who the server of an open session says it is. */
export function profileOf(client: Client): ServerProfile | undefined {
  const info = client.getServerVersion();
  if (info === undefined) return undefined;
  const { name, version, title } = info;
  return {
    name: printableLine(name, nameCharacters),
    version: printableLine(version, nameCharacters),
    ...(title !== undefined && { title: printableLine(title, nameCharacters) }),
    capabilities: { ...client.getServerCapabilities() },
  };
}
