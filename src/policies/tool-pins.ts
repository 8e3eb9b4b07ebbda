/**
 * Tells whether a tool is still the one that was approved.
 *
 * What counts is what a model is shown and what a call must look like. The order
 * of tools or keys, marks of a protocol era and the dialect a schema names do not.
 */

import type { ToolChange, ToolPin } from '../domain/approval.ts';
import type { ExposedTool, ListedTool } from '../domain/tool.ts';
import { digestOf } from './fingerprint.ts';

// Enough for most tools; of a longer one the digest alone is kept.
const longestKept = 4_096;

/** The tool as it is now, to be compared with later. */
export function pinOf(tool: ListedTool): ToolPin {
  const definition = definitionOf(tool);
  return {
    tool: tool.name,
    digest: digestOf(meaningOf(tool)),
    ...(definition.length > longestKept ? {} : { definition }),
  };
}

/** The tools that have no pin yet, pinned. */
export function newPins(
  pins: readonly ToolPin[],
  tools: readonly ListedTool[],
): readonly ToolPin[] {
  const known = new Set(pins.map(({ tool }) => tool));
  return tools.filter(({ name }) => !known.has(name)).map((tool) => pinOf(tool));
}

/** The tools that are not what was pinned, each with a comparison for a person. */
export function changedTools(
  pins: readonly ToolPin[],
  tools: readonly ListedTool[],
): readonly ToolChange[] {
  const pinned = new Map(pins.map((pin) => [pin.tool, pin]));
  return tools.flatMap((tool) => {
    const pin = pinned.get(tool.name);
    if (pin === undefined || pin.digest === digestOf(meaningOf(tool))) return [];
    return [{ tool: tool.name, diff: compare(pin.definition, definitionOf(tool)) }];
  });
}

/** Says whether callers were twice shown the same, under whatever exposed name. */
export function isSameTool(one: ExposedTool, other: ExposedTool): boolean {
  return one === other || digestOfShown(one) === digestOfShown(other);
}

/** Names all that callers are shown of a tool, under whatever exposed name. */
export function digestOfShown(tool: ExposedTool): string {
  return digestOf(shownMeaningOf(tool));
}

function shownMeaningOf({ tool, ...shown }: ExposedTool): unknown {
  return meaningOf({ ...shown, name: tool });
}

function meaningOf({ name, title, description, annotations, ...tool }: ListedTool): unknown {
  return {
    name,
    title,
    description,
    // None and an empty one promise the same.
    annotations: Object.keys(annotations ?? {}).length === 0 ? undefined : annotations,
    inputSchema: withoutDialect(tool.inputSchema),
    outputSchema: withoutDialect(tool.outputSchema),
  };
}

function withoutDialect(schema: ListedTool['outputSchema']): unknown {
  if (schema === undefined) return undefined;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
}

/** One fact a line, keys in order, so that lines can be compared. */
function definitionOf(tool: ListedTool): string {
  return JSON.stringify(sorted(meaningOf(tool)), undefined, 2);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // A key "__proto__" stays a key.
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** The lines between what both begin and end with. */
function compare(before: string | undefined, now: string): readonly string[] {
  const [old, present] = [(before ?? '').split('\n'), now.split('\n')];
  const shorter = Math.min(old.length, present.length);
  let head = 0;
  while (head < shorter && old[head] === present[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === present.at(-1 - tail)) tail += 1;
  const gone =
    before === undefined ? ['(too long to be kept)'] : old.slice(head, old.length - tail);
  return [
    ...gone.map((line) => `- ${line}`),
    ...present.slice(head, present.length - tail).map((line) => `+ ${line}`),
  ];
}
