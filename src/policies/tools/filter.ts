/** Decides by name which tools of a server are shown. */

import type { ToolFilter } from '../../domain/settings.ts';
import { matchesGlob } from '../text/glob.ts';

/**
 * Returns whether a tool is shown: some include pattern matches and no exclude does.
 * Without `include` all are included; with an empty one, none. One that is switched off by its own
 * name is not shown either.
 *
 * In a pattern `*` stands for any run of characters, even an empty one; every
 * other character stands for itself. Upper and lower case differ.
 *
 * @param toolName - the server's own name of the tool
 */
export function passesFilter(filter: Partial<ToolFilter>, toolName: string): boolean {
  const { include = ['*'], exclude = [], overrides = [] } = filter;
  if (overrides.some(({ tool, enabled }) => tool === toolName && enabled === false)) return false;
  const matches = (pattern: string) => matchesGlob(pattern, toolName);
  return include.some(matches) && !exclude.some(matches);
}
