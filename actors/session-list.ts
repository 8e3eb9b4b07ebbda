/**
 * Fetches the whole tool list of a session: page by page, bounded, and so that
 * one malformed tool costs nobody else its place. Asking again during a list
 * causes exactly one more list after it.
 */

import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../src/domain/clock.ts';
import type { ListedTool } from '../src/domain/tool.ts';
import { printableLine } from '../src/policies/printable.ts';
import { isRecord } from './session-messages.ts';
import { readTool } from './session-tool.ts';

const maxPages = 64;
const maxTools = 1_000;
// Every tool twice over: who lists more that cannot be used is not looked through to the end.
const maxEntries = 2 * maxTools;
// A thousand schemas at their limit would be a quarter of a gigabyte; 64 KB each is still generous.
const maxListCharacters = 64 * 1024 * 1024;
// Marks of pages are a few dozen characters; all of them are kept to notice a loop.
const maxCursorCharacters = 65_536;
// The first few say what is wrong; the rest is alike.
const namedGaps = 5;
const onlyTools = `only ${maxTools} tools are kept`;

export interface ToolList {
  readonly tools: readonly ListedTool[];
  /** How much is missing from the list; zero when it is whole. */
  readonly gapCount: number;
  /** What the first of it is, and why. */
  readonly gaps: readonly string[];
}

const anyObject: StandardSchemaV1<unknown, Record<string, unknown>> = {
  '~standard': {
    version: 1,
    vendor: 'mcp-troupe',
    validate: (value: unknown) =>
      isRecord(value) ? { value } : { issues: [{ message: 'the result is not an object' }] },
  },
};

/** Rejects as soon as the signal is aborted. */
export async function listTools(client: Client, signal: AbortSignal): Promise<ToolList> {
  const list = new GrowingList();
  // Without the capability the SDK answers by itself and writes to stdout.
  if (client.getServerCapabilities()?.tools === undefined) return list.result();
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; ; page += 1) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const result = await client.request({ method: 'tools/list', ...params }, anyObject, {
      // Bounded by a timer of our own; the SDK's must not end it before.
      timeout: longestTimerMs,
      signal,
    });
    list.addPage(result);
    cursor = typeof result['nextCursor'] === 'string' ? result['nextCursor'] : undefined;
    if (cursor === undefined || list.isFull) break;
    const end = endOf(cursor, seen, page);
    if (end !== undefined) {
      list.addGap(end);
      break;
    }
    seen.add(cursor);
  }
  return list.result();
}

/** Why the page behind this cursor is not read. */
function endOf(cursor: string, seen: ReadonlySet<string>, page: number): string | undefined {
  if (cursor.length > maxCursorCharacters)
    return `a cursor has more than ${maxCursorCharacters} characters`;
  if (seen.has(cursor)) return 'the server repeats a page';
  return page === maxPages ? `only ${maxPages} pages are read` : undefined;
}

class GrowingList {
  readonly #tools = new Map<string, ListedTool>();
  readonly #gaps: string[] = [];
  #gapCount = 0;
  #entries = 0;
  #characters = 0;
  /** A bound was reached: nothing more is taken. */
  isFull = false;

  result(): ToolList {
    return { tools: [...this.#tools.values()], gapCount: this.#gapCount, gaps: this.#gaps };
  }

  addGap(gap: string): void {
    this.#gapCount += 1;
    if (this.#gaps.length < namedGaps) this.#gaps.push(gap);
  }

  addPage(result: Record<string, unknown>): void {
    const listed = result['tools'];
    if (!Array.isArray(listed)) {
      this.addGap('a page without a list of tools');
      return;
    }
    for (const [index, candidate] of listed.entries()) {
      this.#add(candidate, index);
      if (this.isFull) return;
    }
    // Full with the last of a page: another page would not be kept.
    if (this.#tools.size === maxTools && result['nextCursor'] !== undefined) this.#end(onlyTools);
  }

  #add(candidate: unknown, index: number): void {
    this.#entries += 1;
    if (this.#tools.size >= maxTools) return this.#end(onlyTools);
    if (this.#entries > maxEntries) return this.#end(`only ${maxEntries} entries are read`);
    const read = readTool(candidate);
    if (typeof read === 'string') {
      this.addGap(`tool ${nameOf(candidate, index)}: ${read}`);
      return;
    }
    const { tool, characters } = read;
    if (this.#tools.has(tool.name)) {
      this.addGap(`tool ${nameOf(candidate, index)} is listed twice`);
      return;
    }
    if (this.#characters + characters > maxListCharacters)
      return this.#end('only 64 MB of tools are kept');
    this.#characters += characters;
    this.#tools.set(tool.name, tool);
  }

  #end(why: string): void {
    this.addGap(why);
    this.isFull = true;
  }
}

function nameOf(candidate: unknown, index: number): string {
  const name = isRecord(candidate) ? candidate['name'] : undefined;
  return typeof name === 'string' && name !== ''
    ? `"${printableLine(name, 64)}"`
    : `number ${index + 1}`;
}

/** Runs one list at a time; any number of wishes during one cause one more. */
export function createCoalescer(run: () => Promise<void>): () => void {
  let isRunning = false;
  let isWanted = false;
  const loop = async (): Promise<void> => {
    isRunning = true;
    do {
      isWanted = false;
      await run();
    } while (isWanted);
    isRunning = false;
  };
  return () => {
    isWanted = true;
    if (!isRunning) void loop();
  };
}
