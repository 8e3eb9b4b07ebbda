/**
 * Fetches the whole tool list of a session: page by page, bounded, and so that
 * one malformed tool costs nobody else its place. Asking again during a list
 * causes exactly one more list after it.
 */

import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client';

import type { ListedTool } from '../src/domain/tool.ts';
import { printableLine } from '../src/policies/printable.ts';
import { isRecord } from './session-messages.ts';
import { readTool } from './session-tool.ts';

const maxPages = 64;
const maxTools = 1_000;
// The deadline of a list belongs to the chart; this is the longest timer there is.
export const longestTimerMs = 2_147_483_647;

export interface ToolList {
  readonly tools: readonly ListedTool[];
  /** What is missing from the list and why; empty when it is whole. */
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

export async function listTools(client: Client): Promise<ToolList> {
  // Without the capability the SDK answers by itself and writes to stdout.
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], gaps: [] };
  const tools = new Map<string, ListedTool>();
  const gaps: string[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; ; page += 1) {
    const params = cursor === undefined ? {} : { params: { cursor } };
    const result = await client.request({ method: 'tools/list', ...params }, anyObject, {
      timeout: longestTimerMs,
    });
    addPage(result, tools, gaps);
    cursor = typeof result['nextCursor'] === 'string' ? result['nextCursor'] : undefined;
    if (cursor === undefined) break;
    if (seen.has(cursor)) {
      gaps.push('the server repeats a page');
      break;
    }
    seen.add(cursor);
    if (page === maxPages || tools.size >= maxTools) {
      gaps.push(
        tools.size >= maxTools
          ? `only ${maxTools} tools are kept`
          : `only ${maxPages} pages are read`,
      );
      break;
    }
  }
  return { tools: [...tools.values()], gaps };
}

function addPage(
  result: Record<string, unknown>,
  tools: Map<string, ListedTool>,
  gaps: string[],
): void {
  const listed = result['tools'];
  if (!Array.isArray(listed)) {
    gaps.push('a page without a list of tools');
    return;
  }
  for (const [index, candidate] of listed.entries()) {
    if (tools.size >= maxTools) {
      gaps.push(`only ${maxTools} of the tools are kept`);
      return;
    }
    const read = readTool(candidate);
    if (typeof read === 'string') gaps.push(`tool ${nameOf(candidate, index)}: ${read}`);
    else if (tools.has(read.name)) gaps.push(`tool ${nameOf(candidate, index)} is listed twice`);
    else tools.set(read.name, read);
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
