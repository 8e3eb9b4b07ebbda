/** The whole picture in a corner, with the visible part; pressing it goes there. */

import type { RefObject } from 'preact';
import type { Visible } from '../../model/viewport.ts';
import type { ChartDrawing } from './drawing.ts';

const largest = { width: 168, height: 120 } as const;

interface MinimapProps {
  readonly drawing: ChartDrawing;
  readonly lit: ReadonlySet<string>;
  /** Filled here: called whenever the visible part changes. */
  readonly onView: RefObject<((visible: Visible) => void) | undefined>;
  readonly onGo: (x: number, y: number) => void;
}

export function Minimap({ drawing, lit, onView, onGo }: MinimapProps) {
  const { width, height } = drawing.size;
  const scale = Math.min(largest.width / width, largest.height / height);
  const place = (map: SVGSVGElement | null): void => {
    if (map === null) return;
    onView.current = ({ box, isWhole }) => {
      map.toggleAttribute('data-whole', isWhole);
      const seen = map.querySelector('.minimap-seen');
      for (const [name, value] of Object.entries(box)) seen?.setAttribute(name, String(value));
    };
  };
  const go = (event: PointerEvent): void => {
    if (event.buttons === 0) return;
    const map = event.currentTarget as SVGSVGElement;
    const { left, top } = map.getBoundingClientRect();
    onGo((event.clientX - left) / scale, (event.clientY - top) / scale);
  };
  return (
    <svg
      ref={place}
      class="minimap"
      viewBox={`0 0 ${width} ${height}`}
      width={width * scale}
      height={height * scale}
      aria-hidden="true"
      onPointerDown={go}
      onPointerMove={go}
    >
      {[...drawing.states.keys()].map((path) => {
        const box = drawing.boxOf([path]);
        return box === undefined ? null : (
          <rect key={path} class={lit.has(path) ? 'minimap-lit' : 'minimap-state'} {...box} />
        );
      })}
      <rect class="minimap-seen" />
    </svg>
  );
}
