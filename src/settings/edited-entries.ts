/**
 * Reads an edit inside a few entries without looking at the others: two documents are compared from
 * both ends, and only the entries in between are parsed. All others keep their servers, because
 * nothing but its own text and line decides what an entry of ours means.
 *
 * Whatever is unusual is left to the reader of whole documents, with the same result.
 */

import type { InputDefinition } from '../domain/input.ts';
import type { DocumentOrigin } from './entry/places.ts';
import { type ParsedServer, parseServerEntry } from './entry/server-entry.ts';
import { isOurs } from './formats/mcp-servers.ts';
import { type EntryPlaces, lineBreaksIn, readMembers } from './incremental-parse.ts';
import { placedAt, type TreeMember } from './settings-tree.ts';
import type { TextBounds } from './text-bounds.ts';

/** One reading of a document, whose entries are all ours and became one server each. */
export interface PlainReading {
  readonly places: EntryPlaces;
  readonly origin: DocumentOrigin;
  readonly inputs: readonly InputDefinition[];
  readonly servers: readonly ParsedServer[];
}

// Each costs about 80 µs, and all of them are read in one turn.
const mostEntries = 100;

/** Returns the reading of an edited text; undefined when it needs the whole text. */
export function readEdited(
  body: string,
  last: PlainReading,
  bounds: TextBounds,
): PlainReading | undefined {
  const { places, origin, inputs } = last;
  const part = partBetween(places, body);
  if (part === undefined) return body === places.body ? last : undefined;
  const { first, count, text } = part;
  const lineBreaks = lineBreaksIn(text);
  if (lineBreaks !== lineBreaksIn(part.before)) return undefined;
  const line = lineBreaksIn(body.slice(0, places.starts[first])) + 1;
  const read = readMembers(text, line, bounds);
  if (read?.members.length !== count) return undefined;
  // More than the text has, so that a long series of edits leads to an exact count.
  const tokens = places.tokens + read.tokens;
  if (tokens > bounds.tokens) return undefined;
  const servers = [...last.servers];
  for (const [at, member] of read.members.entries()) {
    const server = serverOf(member, servers[first + at], origin, inputs);
    if (server === undefined) return undefined;
    servers[first + at] = server;
  }
  return {
    places: { body, tokens, ...movedFrom(places, first, count, read) },
    origin,
    inputs,
    servers,
  };
}

interface EditedPart {
  readonly first: number;
  readonly count: number;
  readonly before: string;
  readonly text: string;
}

/** Finds the entries that hold everything that differs. */
function partBetween(
  { body: before, starts, ends }: EntryPlaces,
  body: string,
): EditedPart | undefined {
  const from = commonLength(before, body, (text, at, end) => text.slice(at, end));
  const rest = Math.min(before.length, body.length) - from;
  const behind = commonLength(before, body, (text, at, end) =>
    text.slice(text.length - Math.min(end, rest), text.length - Math.min(at, rest)),
  );
  const to = before.length - Math.min(behind, rest);
  const first = countUpTo(starts, from) - 1;
  const last = countUpTo(ends, to - 1);
  const [start, end] = [starts[first], ends[last]];
  if (start === undefined || end === undefined || last - first >= mostEntries) return undefined;
  return {
    first,
    count: last - first + 1,
    before: before.slice(start, end),
    text: body.slice(start, end + body.length - before.length),
  };
}

/** Compares ever shorter parts, each as a whole. */
function commonLength(
  one: string,
  other: string,
  partOf: (text: string, from: number, to: number) => string,
): number {
  let [low, high] = [0, Math.min(one.length, other.length)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (partOf(one, low, middle) === partOf(other, low, middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** How many of the ascending numbers are at most this. */
function countUpTo(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the server of an edited entry; undefined unless it is ours, and its name is as before. */
function serverOf(
  member: TreeMember,
  before: ParsedServer | undefined,
  origin: DocumentOrigin,
  inputs: readonly InputDefinition[],
): ParsedServer | undefined {
  const { name } = member;
  if (before?.desired.name !== name || before.isMisnamed === true) return undefined;
  const entry = placedAt(member, ['mcpServers', name]);
  if (!isOurs(entry)) return undefined;
  const server = parseServerEntry(entry, origin, inputs);
  // The problems of all entries are in one list.
  return before.problems.length + server.problems.length === 0 ? server : undefined;
}

function movedFrom(
  { starts, ends }: EntryPlaces,
  first: number,
  count: number,
  read: Pick<EntryPlaces, 'starts' | 'ends'>,
): Pick<EntryPlaces, 'starts' | 'ends'> {
  const [start = 0] = starts.slice(first, first + 1);
  const next = first + count;
  const by = start + (read.ends[count - 1] ?? 0) - (ends[next - 1] ?? 0);
  const moved = (numbers: readonly number[], edited: readonly number[]): number[] =>
    numbers.map((at, index) => {
      if (index < first) return at;
      return index < next ? start + (edited[index - first] ?? 0) : at + by;
    });
  return { starts: moved(starts, read.starts), ends: moved(ends, read.ends) };
}
