/**
 * Decides what a view shows; one that is not in the settings shows nothing. Every name leads to a server and the
 * server's own name for the item, and only these are compared.
 */

import type { ItemFilter, ItemPattern, ViewSettings } from '../../domain/settings.ts';
import { matchesGlob } from '../text/glob.ts';

type View = ViewSettings | undefined;

export function showsServer(view: View, server: string): view is ViewSettings {
  if (view === undefined) return false;
  return view.servers?.some((pattern) => matchesGlob(pattern, server)) ?? true;
}

/** @param tool - the server's own name */
export function showsTool(view: View, server: string, tool: string): boolean {
  return showsServer(view, server) && passes(view.tools, server, tool);
}

/** @param prompt - the server's own name */
export function showsPrompt(view: View, server: string, prompt: string): boolean {
  return showsServer(view, server) && passes(view.prompts, server, prompt);
}

/**
 * Returns whether a resource or template is shown. A server may read several spellings of an address as one: with
 * percent-encoding, dot segments, other letter case or a query. All must be included, and none excluded.
 */
export function showsResource(view: View, server: string, uri: string): boolean {
  if (!showsServer(view, server)) return false;
  const { include, exclude = [] } = view.resources ?? {};
  if (include === undefined && exclude.length === 0) return true;
  const spellings = spellingsOf(uri);
  const isIncluded = (spelling: string): boolean =>
    patternsOf(include ?? ['*'], server).some((each) => matchesGlob(each, spelling));
  const isExcluded = (spelling: string): boolean =>
    patternsOf(exclude, server).some((each) => matchesGlob(each.toLowerCase(), spelling));
  if (spellings === undefined || !spellings.every(isIncluded)) return false;
  return !looseSpellingsOf(uri).some(isExcluded);
}

function passes({ include, exclude }: ItemFilter = {}, server: string, item: string): boolean {
  const isCovered = (patterns: readonly ItemPattern[]): boolean =>
    textsFor(patterns, server).some((text) => matchesGlob(text, item));
  return isCovered(include ?? ['*']) && !isCovered(exclude ?? []);
}

/** The patterns that apply to items of this server. */
function textsFor(patterns: readonly ItemPattern[], server: string): readonly string[] {
  return patterns.flatMap((pattern) => {
    if (typeof pattern === 'string') return [pattern];
    return pattern.server === server ? [pattern.name] : [];
  });
}

// Lists have many addresses, which are compared with the same patterns.
const spelt = new WeakMap<readonly ItemPattern[], Map<string, readonly string[]>>();

/** The patterns that apply to addresses of this server, in every spelling. */
function patternsOf(patterns: readonly ItemPattern[], server: string): readonly string[] {
  const known = spelt.get(patterns) ?? new Map<string, readonly string[]>();
  spelt.set(patterns, known);
  const made =
    known.get(server) ?? textsFor(patterns, server).flatMap((text) => spellingsOf(text) ?? [text]);
  known.set(server, made);
  return made;
}

// More rounds of percent-encoding than any program uses.
const mostRounds = 5;

/**
 * Returns an address as it is written, decoded, and normalised: decoded completely, without dot segments and
 * empty ones. Undefined if it is encoded too many times over to be read.
 */
function spellingsOf(uri: string): readonly string[] | undefined {
  const text = decodedFully(uri);
  if (text === undefined) return undefined;
  return [...new Set([uri, text, ...normalised(uri), ...normalised(text)])];
}

/** Returns the spellings of an address and of its part before the query, in lower case. */
function looseSpellingsOf(uri: string): readonly string[] {
  const whole = spellingsOf(uri) ?? [uri];
  const parts = whole.flatMap((each) => spellingsOf(each.replace(/[?#].*/su, '')) ?? []);
  return [...new Set([...whole, ...parts].map((each) => each.toLowerCase()))];
}

function decodedFully(uri: string): string | undefined {
  let text = uri;
  for (let round = 0; round < mostRounds; round += 1) {
    const next = text.replaceAll(/(?:%[\da-f]{2})+/giu, decoded);
    if (next === text) return text.normalize();
    text = next;
  }
  return undefined;
}

/** Decodes a run of encoded bytes, or what is ASCII in it if it is no UTF-8. */
function decoded(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return run.replaceAll(/%[0-7][\da-f]/giu, (byte) => decodeURIComponent(byte));
  }
}

/**
 * Removes what does not distinguish addresses: case of the scheme and host, dot segments, empty segments. Programs
 * differ in whether `..` leaves an empty segment, so there are two forms.
 */
function normalised(uri: string): readonly string[] {
  const parsed = URL.canParse(uri) ? new URL(uri).href : uri;
  return [uri, parsed].map((text) => {
    const segments: string[] = [];
    for (const segment of text.split(/[/\\]/u)) {
      if (segment === '..') segments.pop();
      else if (segment !== '.' && segment !== '') segments.push(segment);
    }
    return segments.join('/');
  });
}
