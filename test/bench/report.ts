/** Turns rounds into rows, and rows into a table, as pure functions. */

import { alignedTable } from '../lab/table.ts';
import { baseline, control, entries, peers, subject } from './contenders.ts';
import {
  marginOf,
  pairedRatios,
  type Spread,
  spreadOf,
  type Verdict,
  verdictOf,
} from './statistics.ts';
import type { Measure, Round, Work } from './work.ts';

export interface Cell {
  readonly contender: string;
  /** Null: the contender did not finish, or lacks the feature. */
  readonly value: Spread | null;
  /** To the baseline, paired within each round; null for the baseline itself. */
  readonly ratio: Spread | null;
  /** All rounds, and those in which it crashed or was too late. */
  readonly rounds: number;
  readonly failed: number;
}

/** How the baseline, measured twice, compares with itself. */
export interface Noise {
  readonly ratio: Spread | null;
  /** See `marginOf`; infinite, which is null in JSON, when it is not known. */
  readonly margin: number;
}

export interface Row {
  readonly work: string;
  readonly measure: string;
  readonly title: string;
  readonly unit: Measure['unit'];
  /** Shown for a contender without a value. */
  readonly absent: string;
  readonly cells: readonly Cell[];
  readonly target: string;
  /** Undefined for a row whose target is not a ratio. */
  readonly noise?: Noise;
  readonly verdict?: Verdict;
}

/** Whether the work must measure its noise, without which a target for a ratio means nothing. */
export function needsControl({ measures }: Pick<Work, 'measures'>): boolean {
  return measures.some(({ target }) => target?.of === 'ratio');
}

export function rowsOf(work: Work, rounds: readonly Round[]): readonly Row[] {
  return work.measures.map((measure) => rowOf(work.name, measure, rounds));
}

function rowOf(work: string, measure: Measure, rounds: readonly Round[]): Row {
  const { id, title, unit, target, absent = '-' } = measure;
  const valuesOf = (contender: string): readonly (number | null)[] =>
    rounds.map((round) => round[contender]?.[id] ?? null);
  const ratiosOf = (contender: string): readonly number[] =>
    pairedRatios(valuesOf(contender), valuesOf(baseline));
  const cells = Object.keys(entries).map(
    (contender): Cell => ({
      contender,
      value: spreadOf(valuesOf(contender)),
      ratio: contender === baseline ? null : spreadOf(ratiosOf(contender)),
      rounds: rounds.length,
      failed: rounds.filter((round) => round[contender]?.[id] === undefined).length,
    }),
  );
  const equals = ratiosOf(control);
  const noise = { ratio: spreadOf(equals), margin: marginOf(equals) };
  const ours = cells.find(({ contender }) => contender === subject);
  return {
    work,
    measure: id,
    title,
    unit,
    absent,
    cells,
    target: targetText(measure),
    ...(target?.of === 'ratio' && { noise }),
    ...(target !== undefined &&
      ours !== undefined && {
        verdict: verdictOf(target, { ...ours, margin: target.of === 'ratio' ? noise.margin : 0 }),
      }),
  };
}

function targetText({ target, unit }: Measure): string {
  if (target === undefined) return '';
  const always = target.inEveryRound === true ? ', always' : '';
  const suffix = `${target.of === 'ratio' ? 'x' : unitSuffix(unit)}${always}`;
  if (target.atMost !== undefined) return `<= ${target.atMost}${suffix}`;
  if (target.below !== undefined) return `< ${target.below}${suffix}`;
  return `>= ${target.atLeast}${suffix}`;
}

function unitSuffix(unit: Measure['unit']): string {
  return unit === '' ? '' : ` ${unit}`;
}

/** Three significant digits. */
function figure(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return Math.round(value).toString();
  return value.toPrecision(3);
}

function range({ median, min, max }: Spread, digits: (value: number) => string): string {
  return `${digits(median)} (${digits(min)}-${digits(max)})`;
}

/** Reports how many rounds have a value, unless all have one. */
function roundsText({ count }: Spread, rounds: number): string {
  return count === rounds ? '' : `, ${count} of ${rounds} rounds`;
}

const ratioDigits = (ratio: number): string => ratio.toFixed(2);

function valueText({ value, rounds, failed }: Cell, { unit, absent }: Row): string {
  if (value === null) return failed > 0 ? 'failed' : absent;
  return `${range(value, figure)}${unitSuffix(unit)}${roundsText(value, rounds)}`;
}

function ratioText({ ratio, rounds }: Cell): string {
  if (ratio === null) return '-';
  return `x ${range(ratio, ratioDigits)}${roundsText(ratio, rounds)}`;
}

function noiseText(noise: Noise | undefined): string {
  if (noise === undefined) return '';
  if (noise.ratio === null) return 'failed';
  const middle = `x ${ratioDigits(noise.ratio.median)}`;
  if (!Number.isFinite(noise.margin)) return `${middle}, too few rounds`;
  return `${middle} +-${Math.round(noise.margin * 100)} %`;
}

/** What an earlier run found: the ratio where the target is one, else the value. */
function beforeText(row: Row, before: readonly Row[]): string {
  const earlier = before.find(({ work, measure }) => work === row.work && measure === row.measure);
  const cell = earlier?.cells.find(({ contender }) => contender === subject);
  if (cell === undefined || cell.value === null) return '';
  return cell.ratio === null
    ? `${figure(cell.value.median)}${unitSuffix(row.unit)}`
    : `x ${ratioDigits(cell.ratio.median)}`;
}

/** One line per row; medians, with the least and the greatest in brackets. */
export function tableOf(rows: readonly Row[], before?: readonly Row[]): string {
  const titleOf = (name: string): string => entries[name]?.title ?? name;
  const body = rows.map((row) => {
    const cell = (name: string): Cell =>
      row.cells.find(({ contender }) => contender === name) as Cell;
    return [
      row.title,
      valueText(cell(baseline), row),
      valueText(cell(subject), row),
      ratioText(cell(subject)),
      ...(before === undefined ? [] : [beforeText(row, before)]),
      noiseText(row.noise),
      row.target,
      row.verdict ?? '',
    ];
  });
  const earlier = before === undefined ? [] : ['before'];
  const head = ['work', titleOf(baseline), titleOf(subject), 'ratio', ...earlier];
  return alignedTable([[...head, 'noise', 'required', 'verdict'], ...body]);
}

/** The values of the peers, and their ratios to the baseline; empty without any. */
export function peerTableOf(rows: readonly Row[]): string {
  const measured = peers.filter((peer) =>
    rows.some(({ cells }) =>
      cells.some(({ contender, value }) => contender === peer && value !== null),
    ),
  );
  if (measured.length === 0) return '';
  const body = rows.flatMap((row) => {
    const cells = row.cells.filter(({ contender }) => measured.includes(contender));
    if (cells.every(({ value }) => value === null)) return [];
    return [[row.title, ...cells.flatMap((cell) => [valueText(cell, row), ratioText(cell)])]];
  });
  const head = measured.flatMap((peer) => [entries[peer]?.title ?? peer, 'ratio']);
  return alignedTable([['work', ...head], ...body]);
}

/** The rows that docs/speed.md shows: those of the standard works that have a target. */
export function requiredRowsOf(works: readonly Work[]): readonly (readonly [string, string])[] {
  return works.flatMap(({ isOptional = false, measures }) =>
    measures.flatMap((of) =>
      isOptional || of.target === undefined ? [] : [[of.title, targetText(of)] as const],
    ),
  );
}

/** The table of docs/speed.md: medians of the rows that have a target. */
export function markdownOf(rows: readonly Row[]): string {
  const lines = rows.flatMap((row) => {
    const [base, ours] = [baseline, subject].map((name) =>
      row.cells.find(({ contender }) => contender === name),
    );
    if (row.verdict === undefined || base === undefined || ours === undefined) return [];
    const middle = ({ value }: Cell): string =>
      value === null ? '-' : `${figure(value.median)}${unitSuffix(row.unit)}`;
    const ratio = ours.ratio === null ? '-' : `${ratioDigits(ours.ratio.median)}x`;
    return [
      `| ${[row.title, middle(base), middle(ours), ratio, row.target, row.verdict].join(' | ')} |`,
    ];
  });
  const titles = [baseline, subject].map((name) => entries[name]?.title ?? name);
  const head = ['measurement', ...titles, 'ratio', 'required', 'verdict'];
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...lines].join('\n');
}
