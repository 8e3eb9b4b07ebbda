/** Counts how calls ended and finds those with a wrong outcome. */

import { alignedTable } from '../../test/lab/table.ts';
import { type CallEnd, carriers } from './effect-calls.ts';
import { places } from './effect-places.ts';

/** A call whose outcome contradicts the runs on disk. */
export interface Lie {
  readonly what: 'ran twice' | 'not executed, but ran' | 'executed, but did not run';
  readonly call: CallEnd;
}

export function liesIn(ends: readonly CallEnd[]): readonly Lie[] {
  return ends.flatMap((call): Lie[] => {
    const { end, effects } = call;
    if (effects > 1) return [{ what: 'ran twice', call }];
    if (end === 'not_executed' && effects > 0) return [{ what: 'not executed, but ran', call }];
    const isSure = end === 'ok' || end === 'executed';
    return isSure && effects === 0 ? [{ what: 'executed, but did not run', call }] : [];
  });
}

export function effectTable(ends: readonly CallEnd[]): string {
  const head = [
    'server',
    'dies',
    'calls',
    'ok',
    'not executed',
    'executed',
    'unknown',
    'ran',
    'twice',
    'lies',
  ];
  const lies = new Set(liesIn(ends).map(({ call }) => call));
  const rows = carriers.flatMap((carrier) =>
    places.map((place) => {
      const of = ends.filter((call) => call.carrier === carrier && call.place === place);
      const count = (fits: (call: CallEnd) => boolean): string => String(of.filter(fits).length);
      return [
        carrier,
        place,
        String(of.length),
        ...(['ok', 'not_executed', 'executed', 'unknown'] as const).map((end) =>
          count((call) => call.end === end),
        ),
        count(({ effects }) => effects > 0),
        count(({ effects }) => effects > 1),
        count((call) => lies.has(call)),
      ];
    }),
  );
  return alignedTable([head, ...rows], 2);
}
