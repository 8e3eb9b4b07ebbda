/** The buttons of a chart: how much it shows, how large, and whether it follows. */

import type { RefObject } from 'preact';
import { change, current, usePage } from '../../state/store.ts';
import { IconButton } from '../controls.tsx';

/** Switches between the overview and everything that the chart says. */
export function toggleDetails(): void {
  change({ isDetailed: !current().isDetailed });
}

export function toggleCoverage(): void {
  change({ isCovering: !current().isCovering });
}

interface StageToolsProps {
  readonly scaleText: RefObject<HTMLSpanElement | null>;
  readonly isFollowing: boolean;
  readonly zoom: (factor: number) => void;
  readonly fit: () => void;
  readonly toggleFollowing: () => void;
}

export function StageTools({
  scaleText,
  isFollowing,
  zoom,
  fit,
  toggleFollowing,
}: StageToolsProps) {
  const isDetailed = usePage((state) => state.isDetailed);
  const isCovering = usePage((state) => state.isCovering);
  return (
    <div class="chart-zoom" role="group" aria-label="Zoom">
      <button
        type="button"
        class="small-button"
        aria-pressed={isDetailed}
        title="Show actions, guards and all events (D)"
        onClick={toggleDetails}
      >
        Details
      </button>
      <button
        type="button"
        class="small-button"
        aria-pressed={isCovering}
        title="Show which transitions were taken in the recording (C)"
        onClick={toggleCoverage}
      >
        Coverage
      </button>
      <IconButton icon="minus" label="Smaller (−)" onPress={() => zoom(1 / 1.25)} />
      <span class="number zoom-scale" ref={scaleText} />
      <IconButton icon="plus" label="Larger (+)" onPress={() => zoom(1.25)} />
      <IconButton icon="fit" label="The whole chart (0)" onPress={fit} />
      <IconButton
        icon="target"
        label="Follow what is active (F)"
        pressed={isFollowing}
        onPress={toggleFollowing}
      />
    </div>
  );
}
