import type { StdioSpec } from '../domain/server-spec.ts';
import { referencesIn } from './expand-variables.ts';

/**
 * Says whether it can be known what a command leads to without expanding a variable and without
 * searching folders that the entry itself names. Before approval nothing else is looked up: a
 * path with a secret in it, or a folder of a network, must not be touched for a project's file.
 */
export function isCommandPlain({ command, cwd, env, values }: StdioSpec): boolean {
  const isOpen = (text: string): boolean =>
    values?.literal !== true && referencesIn(text).length > 0;
  if (isOpen(command)) return false;
  const hasFolder = /[\\/]/u.test(command);
  if (hasFolder) return /^(?:[\\/]|[A-Za-z]:)/u.test(command) || !isOpen(cwd);
  return !Object.keys(env).some((name) => /^PATH(?:EXT)?$/iu.test(name));
}
