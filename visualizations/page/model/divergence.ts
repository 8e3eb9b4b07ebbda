/** Compares a fork with what really happened, and two journals step by step. */

import type { ComparedStep } from '../../../src/domain/host/comparison.ts';
import type { ActorKey, InspectionRecord } from '../../../src/domain/host/inspection.ts';
import { labelOf } from './sequence-rows.ts';

export interface ComparedLine {
  readonly n: number;
  /** Milliseconds since the moment of the fork. */
  readonly after: number;
  readonly text: string;
}

export interface Comparison {
  readonly real: readonly ComparedLine[];
  readonly fork: readonly ComparedLine[];
  /** Place of the first line that differs; absent while one is the beginning of the other. */
  readonly differsAt?: number;
}

/** More would not be read; a server that runs for days has thousands. */
const mostLines = 200;

export function comparison(
  actor: ActorKey,
  since: number,
  really: readonly InspectionRecord[],
  forked: readonly InspectionRecord[],
): Comparison {
  const real = linesOf(actor, since, really);
  const fork = linesOf(undefined, since, forked);
  const shorter = Math.min(real.length, fork.length);
  for (let place = 0; place < shorter; place += 1) {
    if (real[place]?.text !== fork[place]?.text) return { real, fork, differsAt: place };
  }
  return { real, fork };
}

/** An actor's events and states; everything else follows from them. */
function linesOf(
  actor: ActorKey | undefined,
  since: number,
  records: readonly InspectionRecord[],
): readonly ComparedLine[] {
  const lines: ComparedLine[] = [];
  let before = '';
  for (const record of records) {
    if (lines.length === mostLines) break;
    const text = lineOf(record, actor);
    // A repeated state is not news.
    if (text === undefined || (record.kind === 'state' && text === before)) continue;
    if (record.kind === 'state') before = text;
    lines.push({ n: record.n, after: record.t - since, text });
  }
  return lines;
}

function lineOf(record: InspectionRecord, actor: ActorKey | undefined): string | undefined {
  switch (record.kind) {
    case 'event':
      return actor === undefined || record.to === actor ? `→ ${labelOf(record)}` : undefined;
    case 'state':
    case 'ignored':
      return actor === undefined || record.actor === actor ? labelOf(record) : undefined;
    default:
      return undefined;
  }
}

/** A step of each journal in the same place; one is absent where only the other did something. */
export interface AlignedRow {
  readonly a?: ComparedStep;
  readonly b?: ComparedStep;
  readonly isSame: boolean;
}

/** Pairs equal steps in order (the longest common subsequence), and the others by their place between these. */
export function alignedSteps(
  a: readonly ComparedStep[],
  b: readonly ComparedStep[],
): readonly AlignedRow[] {
  const rows: AlignedRow[] = [];
  let [i, j] = [0, 0];
  const fill = (toA: number, toB: number): void => {
    while (i < toA || j < toB) {
      const [one, other] = [i < toA ? a[i++] : undefined, j < toB ? b[j++] : undefined];
      rows.push({ ...(one && { a: one }), ...(other && { b: other }), isSame: false });
    }
  };
  for (const [atA, atB] of commonPlaces(a, b)) {
    fill(atA, atB);
    const [one, other] = [a[i++], b[j++]];
    rows.push({ ...(one && { a: one }), ...(other && { b: other }), isSame: true });
  }
  fill(a.length, b.length);
  return rows;
}

function commonPlaces(
  a: readonly ComparedStep[],
  b: readonly ComparedStep[],
): readonly (readonly [number, number])[] {
  const lengths = Array.from({ length: a.length + 1 }, () =>
    Array.from({ length: b.length + 1 }, () => 0),
  );
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  const isEqual = (i: number, j: number): boolean => a[i]?.text === b[j]?.text;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = lengths[i];
      if (row !== undefined)
        row[j] = isEqual(i, j) ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  const places: (readonly [number, number])[] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    if (isEqual(i, j)) places.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return places;
}

/** The words and spaces of a string, each marked if the other string lacks it. */
export function markedWords(
  text: string,
  other: string | undefined,
): readonly { readonly text: string; readonly isDifferent: boolean }[] {
  const words = (line: string): readonly string[] =>
    line.split(/(\s+)/u).filter((word) => word !== '');
  const known = new Set(words(other ?? ''));
  return words(text).map((word) => ({
    text: word,
    isDifferent: other !== undefined && word.trim() !== '' && !known.has(word),
  }));
}
