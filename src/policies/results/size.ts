/** Measures what a tool answered. */

import type { ToolResult } from '../../domain/tool.ts';

export interface ResultBounds {
  /** Characters of all texts, data and names together. */
  readonly maxLength: number;
  /** Levels, the answer itself included. */
  readonly maxDepth: number;
}

/** What is too much about an answer; undefined = nothing. Looks no further than that. */
export function excessOf(
  result: ToolResult,
  { maxLength, maxDepth }: ResultBounds,
): 'length' | 'depth' | undefined {
  const walk = { left: maxLength, isTooDeep: false };
  look(result, maxDepth, walk);
  if (walk.isTooDeep) return 'depth';
  return walk.left < 0 ? 'length' : undefined;
}

function look(value: unknown, levels: number, walk: { left: number; isTooDeep: boolean }): void {
  if (typeof value === 'string') walk.left -= value.length;
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) walk.isTooDeep = true;
  for (const [name, part] of Object.entries(value)) {
    if (walk.left < 0 || walk.isTooDeep) return;
    // A list has no names; each of its parts takes a comma at least.
    walk.left -= Array.isArray(value) ? 1 : name.length;
    look(part, levels - 1, walk);
  }
}
