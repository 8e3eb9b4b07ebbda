/**
 * Decides what a view shows. Every name leads to a server and the server's own name for the item, and only these
 * are compared.
 */

import type { ItemFilter, ItemPattern, ViewSettings } from '../../domain/settings.ts';
import { matchesGlob } from '../text/glob.ts';
import { looseSpellingsOf, spellingsOf } from './uri-spellings.ts';

export function showsServer({ servers }: ViewSettings, server: string): boolean {
  return servers === undefined || servers.some((pattern) => matchesGlob(pattern, server));
}

/** @param tool - the server's own name */
export function showsTool(view: ViewSettings, server: string, tool: string): boolean {
  return showsServer(view, server) && passes(view.tools, server, tool);
}

/** @param prompt - the server's own name */
export function showsPrompt(view: ViewSettings, server: string, prompt: string): boolean {
  return showsServer(view, server) && passes(view.prompts, server, prompt);
}

/**
 * Returns whether a resource or template is shown. A server may read several spellings of an address as one: with
 * percent-encoding, dot segments, other letter case or a query. All must be included, and none excluded.
 */
export function showsResource(view: ViewSettings, server: string, uri: string): boolean {
  if (!showsServer(view, server)) return false;
  const { include, exclude = [] } = view.resources ?? {};
  if (include === undefined && exclude.length === 0) return true;
  const [spellings, loose] = [spellingsOf(uri), looseSpellingsOf(uri)];
  if (spellings === undefined || loose === undefined) return false;
  const isIncluded = (spelling: string): boolean =>
    include === undefined ||
    textsFor(include, server).some((text) =>
      patternsOf(text).some((each) => matchesGlob(each, spelling)),
    );
  const isExcluded = (spelling: string): boolean =>
    textsFor(exclude, server).some((text) =>
      patternsOf(text).some((each) => matchesGlob(each.toLowerCase(), spelling)),
    );
  return spellings.every(isIncluded) && !loose.some(isExcluded);
}

function passes({ include, exclude = [] }: ItemFilter = {}, server: string, item: string): boolean {
  const isCovered = (patterns: readonly ItemPattern[]): boolean =>
    textsFor(patterns, server).some((text) => matchesGlob(text, item));
  return (include === undefined || isCovered(include)) && !isCovered(exclude);
}

/** The patterns that apply to items of this server. */
function textsFor(patterns: readonly ItemPattern[], server: string): readonly string[] {
  return patterns.flatMap((pattern) => {
    if (typeof pattern === 'string') return [pattern];
    return pattern.server === server ? [pattern.item] : [];
  });
}

const spelt = new Map<string, readonly string[]>();
// More than one user's views have; beyond it they are computed again.
const maxSpelt = 1_000;

function patternsOf(pattern: string): readonly string[] {
  const known = spelt.get(pattern);
  if (known !== undefined) return known;
  const made = spellingsOf(pattern) ?? [pattern];
  if (spelt.size >= maxSpelt) spelt.clear();
  spelt.set(pattern, made);
  return made;
}
