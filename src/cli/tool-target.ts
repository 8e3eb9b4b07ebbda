/** Finds server and tool in the words of a command: `SERVER TOOL …`, `SERVER.TOOL …` or `SERVER/TOOL …`. */

import { printableLine } from '../domain/data/printable.ts';
import { usageError } from '../domain/user-errors.ts';
import { closestName } from '../policies/text/closest-name.ts';

export interface ToolTarget {
  readonly server: string;
  /** Absent: no word names one. */
  readonly tool?: string;
  /** The words that follow. */
  readonly rest: readonly string[];
}

/** Whether `server.tool` or `server/tool` may be meant, so that the servers' names are needed. */
export function mayBeJoined(word: string): boolean {
  return /^[^./][^./]*[./]/u.test(word);
}

/**
 * Reads the first words. A server of exactly the first word's name wins; names of servers and tools may
 * contain dots.
 *
 * @param names - the known servers; needed only for a word that {@link mayBeJoined}
 * @throws TroupeError `USAGE` when the first word may mean tools of several servers
 */
export function toolTarget(words: readonly string[], names: readonly string[]): ToolTarget {
  const [first = '', ...rest] = words;
  const [second, ...further] = rest;
  const isSplit = second !== undefined && !isPair(second);
  const split: ToolTarget = isSplit
    ? { server: first, tool: second, rest: further }
    : { server: first, rest };
  if (names.includes(first) || !mayBeJoined(first)) return split;
  const joined = names
    .filter(
      (name) =>
        /^[./]/u.test(first.slice(name.length)) &&
        first.startsWith(name) &&
        first.length > name.length + 1,
    )
    .map((server): ToolTarget & { tool: string } => ({
      server,
      tool: first.slice(server.length + 1),
      rest,
    }));
  if (joined.length > 1) {
    const shown = printableLine(first, 200);
    const ways = joined.map(({ server, tool }) => `${server} ${tool}`).join(', or ');
    throw usageError(
      `${shown} may mean several tools; write the server and the tool as two words: ${printableLine(ways, 500)}`,
    );
  }
  if (joined[0] !== undefined) return joined[0];
  const isMistyped = closestName(first.slice(0, first.search(/[./]/u)), names) !== undefined;
  if (isSplit && !isMistyped) return split;
  // Neither a server's name nor one with a tool: the part before the mark is the likelier mistake.
  const at = first.search(/[./]/u);
  return { server: first.slice(0, at), tool: first.slice(at + 1), rest };
}

/** Whether a word is an argument of a tool rather than a name. */
function isPair(word: string): boolean {
  return word.indexOf('=') > 0;
}
