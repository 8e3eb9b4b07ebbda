/**
 * Where a server was declared, lowest layer first; `managed` is separate, because it replaces
 * all other layers. Folder scopes (`project`, `workspace`, `local`) are gated: their servers
 * need approval before they may start.
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
/** The layer of settings that a value comes from. Later layers win, but `managed` replaces all. */
export type Scope = (typeof scopes)[number];

/** Returns whether a scope belongs to a project folder, rather than to the user or the host. */
export function isFolderScope(scope: Scope): boolean {
  return scope === 'project' || scope === 'workspace' || scope === 'local';
}
