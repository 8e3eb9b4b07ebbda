/** The programs that can start `troupe serve`, and how their settings name it. */

import { type PlaceFacts, placesOf } from '../import/program-places.ts';

export const hostNames = [
  'claude-code',
  'claude-desktop',
  'cursor',
  'vscode',
  'codex',
  'zed',
] as const;

export type HostName = (typeof hostNames)[number];

/** The name of our entry. */
export const entryName = 'troupe';

export interface Host {
  /** The user's settings file of the program. */
  readonly file: string;
  /** The key that holds the servers. */
  readonly key: 'mcpServers' | 'servers' | 'mcp_servers' | 'context_servers';
  readonly isToml: boolean;
  /** Added to the entry. */
  readonly more: Readonly<Record<string, string>>;
}

export function hostOf(name: HostName, facts: PlaceFacts): Host {
  // The first place is the user's own. A project's file would make the program's servers those of the folder.
  const [file = ''] = placesOf(name, facts);
  switch (name) {
    case 'vscode':
      return { file, key: 'servers', isToml: false, more: { type: 'stdio' } };
    case 'codex':
      return { file, key: 'mcp_servers', isToml: true, more: {} };
    case 'zed':
      return { file, key: 'context_servers', isToml: false, more: { source: 'custom' } };
    default:
      return { file, key: 'mcpServers', isToml: false, more: {} };
  }
}
