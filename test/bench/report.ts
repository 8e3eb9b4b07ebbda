/** Turns rounds into rows, and rows into a table. Pure. */

import { alignedTable } from '../lab/table.ts';
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
  /** Null: it did not finish, or has no such feature. */
  readonly value: Spread | null;
  /** To the baseline, paired within each round; null for the baseline itself. */
  readonly ratio: Spread | null;
  /** All rounds, and those in which it crashed or was not there in time. */
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
  /** What to show for a contender without a value. */
  readonly absent: string;
  readonly cells: readonly Cell[];
  readonly target: string;
  /** Undefined where the baseline was measured once. */
  readonly noise?: Noise;
  /** Of the contender that has the targets; undefined where there is none. */
  readonly verdict?: Verdict;
}

export interface Roles {
  readonly contenders: readonly string[];
  readonly baseline: string;
  /** The contender that the targets are for. */
  readonly subject: string;
  /** The baseline a second time, for the works whose targets are ratios. */
  readonly control?: string;
}

/** Whether the work must measure its noise, without which a target for a ratio means nothing. */
export function needsControl({ measures }: Pick<Work, 'measures'>): boolean {
  return measures.some(({ target }) => target?.of === 'ratio');
}

export function rowsOf(work: Work, rounds: readonly Round[], roles: Roles): readonly Row[] {
  return work.measures.map((measure) => rowOf(work.name, measure, rounds, roles));
}

function rowOf(work: string, measure: Measure, rounds: readonly Round[], roles: Roles): Row {
  const answersOf = (contender: string): readonly (number | null | undefined)[] =>
    rounds.map((round) => round[contender]?.[measure.id]);
  const valuesOf = (contender: string): readonly (number | null)[] =>
    answersOf(contender).map((value) => value ?? null);
  const base = valuesOf(roles.baseline);
  const cells = roles.contenders.map((contender): Cell => {
    const values = valuesOf(contender);
    const isBase = contender === roles.baseline;
    return {
      contender,
      value: spreadOf(values),
      ratio: isBase ? null : spreadOf(pairedRatios(values, base)),
      rounds: rounds.length,
      failed: answersOf(contender).filter((value) => value === undefined).length,
    };
  });
  const noise =
    roles.control === undefined || measure.target?.of !== 'ratio'
      ? undefined
      : noiseOf(pairedRatios(valuesOf(roles.control), base));
  const { target, title, unit } = measure;
  const subject = cells.find(({ contender }) => contender === roles.subject);
  return {
    work,
    measure: measure.id,
    title,
    unit,
    absent: measure.absent ?? '-',
    cells,
    target: targetText(measure),
    ...(noise !== undefined && { noise }),
    ...(target !== undefined &&
      subject !== undefined && {
        verdict: verdictOf(target, { ...subject, margin: noise?.margin ?? 0 }),
      }),
  };
}

function noiseOf(ratios: readonly number[]): Noise {
  return { ratio: spreadOf(ratios), margin: marginOf(ratios) };
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

/** Notes the rounds without a number. */
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

/** One line per row; medians, with the least and the greatest in brackets. */
export function tableOf(
  rows: readonly Row[],
  roles: Roles,
  titles: Readonly<Record<string, string>>,
): string {
  const head = ['work'];
  for (const contender of roles.contenders) {
    head.push(titles[contender] ?? contender);
    if (contender !== roles.baseline) head.push('ratio');
  }
  const hasNoise = rows.some(({ noise }) => noise !== undefined);
  head.push(...(hasNoise ? ['noise'] : []), 'target', 'verdict');
  const body = rows.map((row) => [
    row.title,
    ...row.cells.flatMap((cell) => [
      valueText(cell, row),
      ...(cell.contender === roles.baseline ? [] : [ratioText(cell)]),
    ]),
    ...(hasNoise ? [noiseText(row.noise)] : []),
    row.target,
    row.verdict ?? '',
  ]);
  return alignedTable([head, ...body]);
}
