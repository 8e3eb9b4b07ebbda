/** The tools of a view, under the names that it gives them. */

import { keepNumbers } from '../../domain/data/exact-json.ts';
import type { NamingPolicy } from '../../domain/policy.ts';
import type { ViewSettings } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { madeFrom, originOf } from '../tools/announced.ts';
import { uniqueNames } from '../tools/unique-names.ts';
import { showsTool } from './shown-items.ts';

/** A tool as the view shows it, and as the troupe does. */
export interface ViewTool {
  readonly shown: ExposedTool;
  readonly whole: ExposedTool;
}

/**
 * Lists a view's tools, sorted by their exposed names in it. A tool whose name another tool of its server was
 * given is left out.
 *
 * @param tools - those of the troupe
 * @param namingOf - how the view names a server's tools
 */
export function viewTools(
  view: ViewSettings,
  tools: readonly ExposedTool[],
  namingOf: (server: string) => NamingPolicy,
): readonly ViewTool[] {
  const newNames = new Map(view.renames?.map(({ server, tool, to }) => [keyOf(server, tool), to]));
  const named = tools
    .filter(({ server, tool }) => showsTool(view, server, tool))
    .map((whole) => {
      const { server, tool } = whole;
      const to = newNames.get(keyOf(server, tool)) ?? tool;
      return { server, tool: to, naming: namingOf(server), whole, isNew: to !== tool };
    });
  const taken = new Set(named.flatMap((it) => (it.isNew ? keyOf(it.server, it.tool) : [])));
  const kept = named.filter((it) => it.isNew || !taken.has(keyOf(it.server, it.tool)));
  return uniqueNames(kept).map(([name, { tool, whole }]) => {
    const shown = keepNumbers({ ...whole, name, tool }, whole);
    return { shown: madeFrom(shown, originOf(whole)), whole };
  });
}

function keyOf(server: string, tool: string): string {
  return JSON.stringify([server, tool]);
}
