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
  const text = decodedFully(uri);
  if (!isDecoded(text)) return false;
  const spellings = spellingsOf(uri, text);
  const isIncluded = (spelling: string): boolean =>
    patternsOf(include ?? ['*'], server).some((each) => matchesGlob(each, spelling));
  const isExcluded = (spelling: string): boolean =>
    patternsOf(exclude, server).some((each) => matchesGlob(each.toLowerCase(), spelling));
  return spellings.every(isIncluded) && !looser(spellings).some(isExcluded);
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
    known.get(server) ??
    textsFor(patterns, server).flatMap((text) =>
      isDecoded(decodedFully(text)) ? spellingsOf(text) : [text],
    );
  known.set(server, made);
  return made;
}

// As many rounds of percent-encoding as an address may have; no program uses more than a few.
const mostRounds = 4;
const encodedRuns = /(?:%[\da-f]{2})+/giu;

/**
 * Returns an address as it is written, decoded, and normalised: decoded completely, without dot segments and
 * empty ones.
 */
function spellingsOf(uri: string, text = decodedFully(uri)): readonly string[] {
  return [...new Set([uri, text, ...normalised(uri), ...normalised(text)])];
}

/** Adds the spellings of the part before the query, and returns all in lower case. */
function looser(spellings: readonly string[]): readonly string[] {
  const parts = spellings.flatMap((each) => spellingsOf(each.replace(/[?#].*/su, '')));
  return [...new Set([...spellings, ...parts].map((each) => each.toLowerCase()))];
}

/** Decodes all rounds of encoding that an address may have. */
function decodedFully(uri: string): string {
  let text = uri;
  for (let round = 0; round < mostRounds; round += 1) text = text.replaceAll(encodedRuns, decoded);
  return text.normalize();
}

/** Whether nothing is left to decode. */
function isDecoded(text: string): boolean {
  return text.replaceAll(encodedRuns, decoded) === text;
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
