/** Decides by name which tools of a server are shown. */

import type { ToolFilter } from '../../domain/settings.ts';
import { matchesGlob } from '../text/glob.ts';

/**
 * Returns whether a tool is shown: an `include` pattern matches, no `exclude` pattern does, and no
 * override disables the tool. Without `include` all tools are included; with an empty list, none.
 *
 * In a pattern `*` matches any number of characters. Matching is case-sensitive.
 *
 * @param toolName - the server's own name of the tool
 */
export function passesFilter(filter: Partial<ToolFilter>, toolName: string): boolean {
  const { include = ['*'], exclude = [], overrides = [] } = filter;
  if (overrides.some(({ tool, enabled }) => tool === toolName && enabled === false)) return false;
  const matches = (pattern: string) => matchesGlob(pattern, toolName);
  return include.some(matches) && !exclude.some(matches);
}
