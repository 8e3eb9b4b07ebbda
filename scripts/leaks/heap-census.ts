/** Counts the objects of a V8 heap snapshot by kind. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeHeapSnapshot } from 'node:v8';

export interface HeapSnapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly (readonly string[] | string)[];
    };
  };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

export interface Holding {
  readonly count: number;
  readonly bytes: number;
}

/** By kind: `object Map`, `closure pass`, `string`, {@link engineKind}. */
export type Census = ReadonlyMap<string, Holding>;

// Their names are their values, which would give thousands of kinds.
const nameless: ReadonlySet<string> = new Set([
  'string',
  'concatenated string',
  'sliced string',
  'number',
  'array',
  'regexp',
]);
/** Compiled code and V8's feedback about it, which come and go. */
export const engineKind = 'engine';
const ofTheEngine: ReadonlySet<string> = new Set(['code', 'synthetic', 'object shape']);
// Dependencies of code on object shapes: type hidden, but they belong to the engine.
const listsOfTheEngine = 'system / WeakArrayList';

export function censusOf({ snapshot, nodes, strings }: HeapSnapshot): Census {
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [typeAt, nameAt, sizeAt] = ['type', 'name', 'self_size'].map((it) => fields.indexOf(it));
  if (typeAt === undefined || nameAt === undefined || sizeAt === undefined) return new Map();
  const typeNames = types[typeAt] ?? [];
  const census = new Map<string, { count: number; bytes: number }>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const type = typeNames[nodes[at + typeAt] ?? 0] ?? 'unknown';
    const name = strings[nodes[at + nameAt] ?? 0] ?? '';
    const kind = kindOf(type, name);
    const holding = census.get(kind) ?? { count: 0, bytes: 0 };
    holding.count += 1;
    holding.bytes += nodes[at + sizeAt] ?? 0;
    census.set(kind, holding);
  }
  return census;
}

function kindOf(type: string, name: string): string {
  if (ofTheEngine.has(type) || name === listsOfTheEngine) return engineKind;
  return nameless.has(type) ? type : `${type} ${name.slice(0, 60)}`;
}

/** A heap snapshot on disk; reading it takes more memory than the heap itself. */
export class StoredHeap {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'heap-'));
  readonly #file: string;

  /** Collects garbage and writes the snapshot; takes seconds. */
  constructor() {
    this.#file = writeHeapSnapshot(path.join(this.#folder, 'now.heapsnapshot'));
  }

  census(): Census {
    return censusOf(JSON.parse(readFileSync(this.#file, 'utf8')) as HeapSnapshot);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface Growth extends Holding {
  readonly kind: string;
}

/** The growth of each kind, largest first. */
export function growthOf(before: Census, after: Census): readonly Growth[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((kind) => ({
      kind,
      count: (after.get(kind)?.count ?? 0) - (before.get(kind)?.count ?? 0),
      bytes: (after.get(kind)?.bytes ?? 0) - (before.get(kind)?.bytes ?? 0),
    }))
    .filter(({ count, bytes }) => count !== 0 || bytes !== 0)
    .sort((a, b) => b.bytes - a.bytes);
}

/**
 * Bytes that leaked: the smaller of two growths of each kind, without the engine's. One-time growth
 * is not a leak, and a one-time decrease, such as released source code, hides none.
 */
export function cameTwice(before: Census, between: Census, after: Census): number {
  const second = new Map(growthOf(between, after).map(({ kind, bytes }) => [kind, bytes]));
  return growthOf(before, between)
    .filter(({ kind }) => kind !== engineKind)
    .map(({ kind, bytes }) => Math.max(0, Math.min(bytes, second.get(kind) ?? 0)))
    .reduce((sum, bytes) => sum + bytes, 0);
}
