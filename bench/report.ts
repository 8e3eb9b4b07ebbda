/** Turns rounds into rows, and rows into a table. Pure. */

import { pairedRatios, type Spread, spreadOf, type Verdict, verdictOf } from './statistics.ts';
import type { Measure, Round, Work } from './work.ts';

export interface Cell {
  readonly contender: string;
  /** Null = it did not get there, or has no such thing. */
  readonly value: Spread | null;
  /** To the baseline, paired within each round; null for the baseline itself. */
  readonly ratio: Spread | null;
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
  /** Of the contender that has the targets; undefined where there is none. */
  readonly verdict?: Verdict;
}

export interface Roles {
  readonly contenders: readonly string[];
  readonly baseline: string;
  /** Whom the targets are for. */
  readonly subject: string;
}

export function rowsOf(work: Work, rounds: readonly Round[], roles: Roles): readonly Row[] {
  return work.measures.map((measure) => rowOf(work.name, measure, rounds, roles));
}

function rowOf(work: string, measure: Measure, rounds: readonly Round[], roles: Roles): Row {
  const valuesOf = (contender: string): readonly (number | null)[] =>
    rounds.map((round) => round[contender]?.[measure.id] ?? null);
  const base = valuesOf(roles.baseline);
  const cells = roles.contenders.map((contender): Cell => {
    const values = valuesOf(contender);
    const isBase = contender === roles.baseline;
    return {
      contender,
      value: spreadOf(values),
      ratio: isBase ? null : spreadOf(pairedRatios(values, base)),
    };
  });
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
    ...(target !== undefined &&
      subject !== undefined && { verdict: verdictOf(target, subject.value, subject.ratio) }),
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

/** Three digits that count. */
export function figure(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return Math.round(value).toString();
  return value.toPrecision(3);
}

function range({ median, min, max }: Spread, digits: (value: number) => string): string {
  return `${digits(median)} (${digits(min)}-${digits(max)})`;
}

const ratioDigits = (ratio: number): string => ratio.toFixed(2);

function valueText(value: Spread | null, { unit, absent }: Row): string {
  return value === null ? absent : `${range(value, figure)}${unitSuffix(unit)}`;
}

function ratioText(ratio: Spread | null): string {
  return ratio === null ? '-' : `x ${range(ratio, ratioDigits)}`;
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
  head.push('target', 'verdict');
  const body = rows.map((row) => [
    row.title,
    ...row.cells.flatMap(({ contender, value, ratio }) => [
      valueText(value, row),
      ...(contender === roles.baseline ? [] : [ratioText(ratio)]),
    ]),
    row.target,
    row.verdict ?? '',
  ]);
  const lines = [head, ...body];
  const widths = head.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}
