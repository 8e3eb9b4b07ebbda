/**
 * Compares a server's definitions with the approved ones.
 *
 * Only the texts that a model sees and the form of a call count. The order of tools or keys,
 * fields of a protocol era and a schema's dialect do not.
 */

import type { Catalog } from '../../domain/catalog.ts';
import { defined } from '../../domain/data/defined.ts';
import type { PinKind, ToolChange, ToolPin } from '../../domain/host/approval.ts';
import type { ExposedTool, ListedTool } from '../../domain/tool.ts';
import { digestOf } from '../fingerprint.ts';
import { pinKey } from './records.ts';

/** A definition that is pinned under the name that its server announces. */
export interface Announced {
  /** Absent: a tool. */
  readonly kind?: PinKind;
  readonly tool: string;
  /** The part of the definition that is compared. */
  readonly meaning: unknown;
}

// Enough for most tools; only the digest of a longer definition is kept.
const longestKept = 4_096;
// The length of instructions that a session keeps.
const longestInstructions = 16_384;
/**
 * Maximum number of pinned prompts, of resources and of templates of one server. Resource
 * addresses come and go (one for each log, for example), so their pins must not grow forever.
 */
const maxPinsOfKind = 1_000;

/** Returns the prefix of a definition's name in a list; empty for a tool. */
export function kindWords(kind: PinKind | undefined): string {
  if (kind === undefined || kind === 'instructions') return kind ?? '';
  return kind === 'resourceTemplate' ? 'resource template ' : `${kind} `;
}

/** Lists a catalog's pinned definitions, in its order. */
export function announcedBy(catalog: Catalog): readonly Announced[] {
  const { tools, prompts, resources, resourceTemplates, instructions = '' } = catalog;
  return [
    ...tools.map((tool) => announcedTool(tool)),
    // Also without instructions: those that a server adds later were not approved.
    { kind: 'instructions', tool: '', meaning: instructions },
    ...joined(prompts, 'prompt', ({ name, title, description, arguments: args }) => [
      name,
      {
        name,
        title,
        description: withPlainEnds(description),
        arguments: args?.map(({ extra: _extra, ...each }) => each),
      },
    ]),
    ...joined(resources, 'resource', ({ uri, name, title, description, mimeType }) => [
      uri,
      { uri, name, title, description: withPlainEnds(description), mimeType },
    ]),
    ...joined(
      resourceTemplates,
      'resourceTemplate',
      ({ uriTemplate, name, title, description, mimeType }) => [
        uriTemplate,
        { uriTemplate, name, title, description: withPlainEnds(description), mimeType },
      ],
    ),
  ];
}

export function announcedTool(tool: ListedTool): Announced {
  return { tool: tool.name, meaning: meaningOf(tool) };
}

/** Joins definitions of the same name into one, which is withheld as a whole. */
function joined<Item>(
  items: readonly Item[],
  kind: PinKind,
  split: (item: Item) => readonly [tool: string, meaning: unknown],
): readonly Announced[] {
  const byName = new Map<string, Announced>();
  for (const [tool, meaning] of items.map(split)) {
    const before = byName.get(tool);
    byName.set(tool, { kind, tool, meaning: before ? [before.meaning, meaning] : meaning });
  }
  return [...byName.values()];
}

/** Pins a definition as it is now, for later comparison. */
export function pinOf({ kind, tool, meaning }: Announced): ToolPin {
  const definition = definitionOf(meaning);
  const longest = kind === 'instructions' ? longestInstructions : longestKept;
  return {
    ...(kind && { kind }),
    tool,
    digest: digestOf(meaning),
    ...(definition.length <= longest && { definition }),
  };
}

/** Pins definitions that have no pin yet, up to the limit of each kind. */
export function newPins(
  pins: readonly ToolPin[],
  announced: readonly Announced[],
): readonly ToolPin[] {
  const known = new Set(pins.map(pinKey));
  const counts = new Map<PinKind, number>();
  const hasRoom = (kind: PinKind): boolean => {
    const count = (counts.get(kind) ?? pins.filter((pin) => pin.kind === kind).length) + 1;
    counts.set(kind, count);
    return count <= maxPinsOfKind;
  };
  return announced
    .filter((one) => !known.has(pinKey(one)) && (one.kind === undefined || hasRoom(one.kind)))
    .map(pinOf);
}

/** Lists definitions that differ from their pins, each with a diff for the user. A missing definition is not a change. */
export function changedTools(
  pins: readonly ToolPin[],
  announced: readonly Announced[],
): readonly ToolChange[] {
  const pinned = new Map(pins.map((pin) => [pinKey(pin), pin]));
  return announced.flatMap((one) => {
    const { kind, tool, meaning } = one;
    const pin = pinned.get(pinKey(one));
    if (pin === undefined || meaning === '' || pin.digest === digestOf(meaning)) return [];
    const diff = compare(pin.definition, definitionOf(meaning));
    return [{ ...(kind && { kind }), tool, diff }];
  });
}

/** Returns whether callers were shown the same tool twice, under whatever exposed name. */
export function isSameTool(one: ExposedTool, other: ExposedTool): boolean {
  return one === other || digestOfShown(one) === digestOfShown(other);
}

/** Returns a digest of everything that callers see of a tool, except its exposed name. */
export function digestOfShown({ tool, ...shown }: ExposedTool): string {
  return digestOf(meaningOf({ ...shown, name: tool }));
}

function meaningOf({ name, title, description, annotations, ...tool }: ListedTool): unknown {
  const known = defined(Object.fromEntries(hints.map((hint) => [hint, annotations?.[hint]])));
  return {
    name,
    title,
    description: withPlainEnds(description),
    // Missing and empty annotations mean the same.
    annotations: Object.keys(known).length === 0 ? undefined : known,
    inputSchema: withoutDialect(tool.inputSchema),
    outputSchema: withoutDialect(tool.outputSchema),
  };
}

const hints = ['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/** Line ends are not a change. */
function withPlainEnds(text: string | undefined): string | undefined {
  return text?.replace(/\r\n?/gu, '\n');
}

function withoutDialect(schema: ListedTool['outputSchema']): unknown {
  if (schema === undefined) return undefined;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
}

/** Formats a definition with one field per line and sorted keys, so that lines can be compared. */
function definitionOf(meaning: unknown): string {
  return typeof meaning === 'string' ? meaning : JSON.stringify(sorted(meaning), undefined, 2);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // A key "__proto__" stays a key.
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** Returns the changed lines, without the common beginning and end. */
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
