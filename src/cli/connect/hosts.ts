/** The programs that can start `troupe serve`, and how their settings name it. */

import { type PlaceFacts, type ProgramName, placesOf } from '../import/program-places.ts';

/** The name of our entry. */
export const entryName = 'troupe';

export interface Host {
  /** The user's settings file of the program. */
  readonly file: string;
  /** The key that holds the servers. */
  readonly key: string;
  readonly isToml: boolean;
  /** Added to the entry. */
  readonly more: Readonly<Record<string, string>>;
}

const usual = { key: 'mcpServers', isToml: false, more: {} };

const hosts = {
  'claude-code': usual,
  'claude-desktop': usual,
  cursor: usual,
  vscode: { ...usual, key: 'servers', more: { type: 'stdio' } },
  codex: { ...usual, key: 'mcp_servers', isToml: true },
  windsurf: usual,
  gemini: usual,
  qwen: usual,
  kiro: usual,
  zed: { ...usual, key: 'context_servers', more: { source: 'custom' } },
} as const satisfies Partial<Record<ProgramName, Omit<Host, 'file'>>>;

export type HostName = keyof typeof hosts;

export const hostNames = Object.keys(hosts) as readonly HostName[];

export function hostOf(name: HostName, facts: PlaceFacts): Host {
  // The first place is the user's own. A project's file would make the program's servers those of the folder.
  const [file = ''] = placesOf(name, facts);
  return { file, ...hosts[name] };
}
