/** The last states of a server, oldest first, as a row of small bars. */

import { spoken } from '../../model/announcements.ts';
import { type Tone, toneOf } from '../../model/state-tones.ts';
import { usePage } from '../../state/store.ts';

/** The better a server is, the higher its bar. */
const heightOf: Readonly<Record<Tone, number>> = {
  good: 16,
  busy: 11,
  waiting: 8,
  person: 6,
  quiet: 4,
  bad: 3,
};
const step = 5;
const height = 18;

export function Sparkline({ name }: { name: string }) {
  const trail = usePage((state) => state.world.trails.get(name));
  if (trail === undefined || trail.length < 2) return null;
  const said = trail
    .slice(-4)
    .map(({ state }) => spoken(state))
    .join(', ');
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${trail.length * step} ${height}`}
      width={trail.length * step}
      height={height}
      role="img"
      aria-label={`Last states: ${said}`}
    >
      <title>{`Last states: ${said}. The higher a bar, the better.`}</title>
      {trail.map(({ n, state }, place) => {
        const bar = heightOf[toneOf[state]];
        return (
          <rect
            key={n}
            class={`bar-${toneOf[state]}`}
            x={place * step}
            y={height - bar}
            width={step - 1.5}
            height={bar}
            rx="1"
          />
        );
      })}
    </svg>
  );
}
