/** The buttons of a chart: how much it shows, how large, and whether it follows. */

import type { RefObject } from 'preact';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { change, current, usePage } from '../../page/store.ts';
import { endWay, openWay } from '../../page/way.ts';
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
  readonly actor: PicturedActor;
}

export function StageTools({
  scaleText,
  isFollowing,
  zoom,
  fit,
  toggleFollowing,
  actor,
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
      {actor.machine === 'server' ? <WayButton actor={actor.actor} /> : null}
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

function WayButton({ actor }: { actor: string }) {
  const isOpen = usePage((state) => state.way?.actor === actor);
  return (
    <button
      type="button"
      class="small-button"
      aria-pressed={isOpen}
      title="How to get to a state (W)"
      onClick={() => (isOpen ? endWay() : openWay(actor))}
    >
      Way to…
    </button>
  );
}
