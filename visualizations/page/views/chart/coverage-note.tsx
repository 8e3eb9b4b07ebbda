/** Shows in the chart which transitions were taken, and says how many. */

import { useLayoutEffect, useMemo } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { type MachineFacts, type PictureFacts, sourceOf } from '../../model/chart-facts.ts';
import { coverageOf, coveredIn } from '../../model/coverage.ts';
import { usePage } from '../../state/store.ts';
import type { ChartDrawing } from './drawing.ts';

interface CoverageNoteProps {
  readonly drawing: ChartDrawing;
  readonly actor: PicturedActor;
  readonly machine: MachineFacts;
  readonly picture: PictureFacts;
}

// While records arrive, it is counted again after so many.
const grain = 250;

export function CoverageNote({ drawing, actor, machine, picture }: CoverageNoteProps) {
  const isCovering = usePage((state) => state.isCovering);
  const history = usePage((state) => state.history);
  const age = usePage((state) => Math.floor((state.revision, history.records.length) / grain));
  const key = actor.machine;
  const coverage = useMemo(
    () =>
      isCovering && key !== undefined
        ? coverageOf(history.records, key, (other) => history.known.get(other)?.machine)
        : undefined,
    [isCovering, history, age, key],
  );
  useLayoutEffect(() => drawing.showCoverage(coverage), [drawing, coverage]);
  if (coverage === undefined || key === undefined) return null;
  const isShown = (transition: string): boolean => {
    const source = sourceOf(key, transition);
    return picture.of === key || source === picture.of || source.startsWith(`${picture.of}.`);
  };
  const { taken, all } = coveredIn(machine, coverage, isShown);
  const whose = key === 'server' ? 'all servers' : `every ${key}`;
  return (
    <p class="coverage-note" role="status">
      <b>
        {taken} of {all}
      </b>{' '}
      transitions taken by {whose} in this recording
    </p>
  );
}
