import type { StdioSpec } from '../../domain/server-spec.ts';
import { referencesIn } from '../expand-variables.ts';

/**
 * Returns whether a command can be resolved without expanding a variable and without searching folders
 * that the entry itself names. Before approval no other command is resolved: a project's file must
 * not cause a path with a secret in it, or a network folder, to be touched.
 */
export function isCommandPlain({ command, cwd, env, values }: StdioSpec): boolean {
  const isOpen = (text: string): boolean =>
    values?.literal !== true && referencesIn(text).length > 0;
  if (isOpen(command)) return false;
  const hasFolder = /[\\/]/u.test(command);
  if (hasFolder) return /^(?:[\\/]|[A-Za-z]:)/u.test(command) || !isOpen(cwd);
  return !Object.keys(env).some((name) => /^PATH(?:EXT)?$/iu.test(name));
}
