/**
 * Finds tools by words, offline and in a stable order.
 *
 * Each word of the query is compared with the words of a tool's name, title, server and
 * description. Each of these places has a weight; a whole word counts twice as much as a
 * prefix, and only the best place counts. A tool matches when any word does. Its score is
 * multiplied by the share of words that matched, and ties keep the order of the list.
 */

import type { ExposedTool } from '../../domain/tool.ts';

/** A tool and its score; higher is better. Scores are comparable within one search only. */
export interface ToolMatch {
  /** The tool, as `Troupe.tools` lists it. */
  readonly tool: ExposedTool;
  /** How well it matches; only comparable within one search. */
  readonly score: number;
}

// A name is the best hint, and a title repeats it. The server narrows the choice; descriptions
// also mention other things.
const weights = { name: 8, title: 5, server: 4, description: 2 } as const;
// The first sentences describe the purpose of a tool; examples and warnings follow.
const readCharacters = 400;
const maxQueryCharacters = 400;
const maxQueryWords = 16;

interface Finding {
  /** Index into the tools. */
  readonly at: number;
  readonly weight: number;
}

/** Words of all tools, sorted, each with the tools that have it. */
export interface ToolIndex {
  readonly tools: readonly ExposedTool[];
  readonly words: readonly string[];
  readonly findings: readonly (readonly Finding[])[];
}

/** Builds the index of a list once, so that the cost of a search depends on its matches only. */
export function indexTools(tools: readonly ExposedTool[]): ToolIndex {
  const byWord = new Map<string, Finding[]>();
  tools.forEach((tool, at) => {
    for (const [word, weight] of weightsOf(tool)) {
      const findings = byWord.get(word);
      if (findings === undefined) byWord.set(word, [{ at, weight }]);
      else findings.push({ at, weight });
    }
  });
  const sorted = [...byWord].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    tools,
    words: sorted.map(([word]) => word),
    findings: sorted.map(([, findings]) => findings),
  };
}

/** Returns the best matches first; a query without words matches nothing. */
export function searchTools(
  { tools, words, findings }: ToolIndex,
  query: string,
  limit: number,
): readonly ToolMatch[] {
  const wanted = [...new Set(wordsOf(query.slice(0, maxQueryCharacters)))].slice(0, maxQueryWords);
  // Indexed by position: with thousands of tools, a map for each word would cost more.
  const sums = new Float64Array(tools.length);
  const foundWords = new Uint8Array(tools.length);
  for (const word of wanted) {
    const best = new Uint8Array(tools.length);
    for (let next = firstFrom(words, word); words[next]?.startsWith(word) === true; next += 1) {
      const factor = words[next] === word ? 2 : 1;
      for (const { at, weight } of findings[next] as readonly Finding[]) {
        best[at] = Math.max(best[at] as number, weight * factor);
      }
    }
    best.forEach((score, at) => {
      if (score === 0) return;
      (sums[at] as number) += score;
      (foundWords[at] as number) += 1;
    });
  }
  const scores = sums.map((sum, at) => (sum * (foundWords[at] as number)) / wanted.length);
  const order = tools.flatMap((_tool, at) => ((foundWords[at] as number) > 0 ? [at] : []));
  return order
    .sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b)
    .slice(0, limit)
    .map((at) => ({ tool: tools[at] as ExposedTool, score: scores[at] as number }));
}

/** Returns every word of a tool with the weight of its best place. */
function weightsOf({ server, tool, title, description }: ExposedTool): Map<string, number> {
  const weighed = new Map<string, number>();
  // In ascending order, so that a better place overwrites a worse one.
  for (const [text, weight] of [
    [description?.slice(0, readCharacters) ?? '', weights.description],
    [server, weights.server],
    [title ?? '', weights.title],
    [tool, weights.name],
  ] as const) {
    for (const word of wordsOf(text)) weighed.set(word, weight);
  }
  return weighed;
}

/** `getUserById`, `get_user_by_id` and `Get user by ID` are the same words. */
function wordsOf(text: string): readonly string[] {
  const parted = text.replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ');
  return parted.toLowerCase().match(/[\p{L}\p{M}]+|\p{N}+/gu) ?? [];
}

/** Finds the first word that is not less than this one. */
function firstFrom(words: readonly string[], word: string): number {
  let [low, high] = [0, words.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((words[middle] as string) < word) low = middle + 1;
    else high = middle;
  }
  return low;
}
