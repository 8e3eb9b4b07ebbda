/**
 * Where a server was declared, in the order of the layers, lowest first; `managed`
 * stands apart, because nothing else counts beside it. Folder scopes (`project`,
 * `workspace`, `local`) are gated: what a folder brings needs approval before it
 * may start.
 */
export const scopes = [
  'managed',
  'user',
  'project',
  'workspace',
  'local',
  'plugin',
  'config',
  'api',
] as const;
export type Scope = (typeof scopes)[number];

/** Returns whether a folder brought it, rather than the user or the host. */
export function isFolderScope(scope: Scope): boolean {
  return scope === 'project' || scope === 'workspace' || scope === 'local';
}
