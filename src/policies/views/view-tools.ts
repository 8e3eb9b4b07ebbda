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
 * @param namingOf - the naming of a server's policy
 */
export function viewTools(
  view: ViewSettings,
  tools: readonly ExposedTool[],
  namingOf: (server: string) => NamingPolicy,
): readonly ViewTool[] {
  const names = namesIn(view, tools);
  const items = tools.flatMap((whole) => {
    const { server } = whole;
    const tool = names.get(whole);
    return tool === undefined
      ? []
      : { server, tool, naming: namingIn(view, namingOf(server)), whole };
  });
  return uniqueNames(items).map(([name, { tool, whole }]) => {
    const shown = keepNumbers({ ...whole, name, tool }, whole);
    return { shown: madeFrom(shown, originOf(whole)), whole };
  });
}

/** Returns how a view names the tools of a server with this naming. */
function namingIn({ naming = {} }: ViewSettings, ofServer: NamingPolicy): NamingPolicy {
  // Parsed, so no field is undefined.
  return { ...ofServer, ...(naming as Partial<NamingPolicy>) };
}

/** The view's name for each tool that it shows, in place of the server's own. */
function namesIn(
  view: ViewSettings,
  tools: readonly ExposedTool[],
): ReadonlyMap<ExposedTool, string> {
  const { renames = [] } = view;
  const shown = tools.filter(({ server, tool }) => showsTool(view, server, tool));
  const names = new Map<ExposedTool, string>();
  const taken = new Set<string>();
  for (const tool of shown) {
    const to = renames.find((each) => each.server === tool.server && each.tool === tool.tool)?.to;
    if (to === undefined || to === tool.tool) continue;
    names.set(tool, to);
    taken.add(JSON.stringify([tool.server, to]));
  }
  for (const tool of shown)
    if (!names.has(tool) && !taken.has(JSON.stringify([tool.server, tool.tool])))
      names.set(tool, tool.tool);
  return names;
}
