/** The edge of the panel, which resizes it, or the tab that shows a hidden panel again. */

import { shownLine } from '../model/shown-text.ts';
import { toneOf } from '../model/state-tones.ts';
import { panelWidths, resizePanel, showPanel } from '../state/panel.ts';
import { usePage } from '../state/store.ts';
import { Icon, StateMark } from './marks.tsx';

const stepPixels = 40;

export function PanelEdge() {
  const width = usePage((state) => state.panel.width) ?? panelWidths.usual;
  const drag = (event: PointerEvent): void => {
    if (event.buttons !== 0) resizePanel(window.innerWidth - event.clientX);
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: stepPixels, ArrowRight: -stepPixels }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    resizePanel(width + by);
  };
  return (
    <div
      class="panel-edge"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the panel"
      aria-valuenow={width}
      aria-valuemin={panelWidths.least}
      aria-valuemax={panelWidths.most}
      tabIndex={0}
      title="Drag to resize; double-click for the usual width"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={drag}
      onDblClick={() => resizePanel(panelWidths.usual)}
      onKeyDown={press}
    />
  );
}

export function HiddenPanel({ name }: { name: string }) {
  const state = usePage((page) => (page.revision, page.world.servers.get(name)?.state));
  return (
    <button
      type="button"
      class={state === undefined ? 'hidden-panel' : `hidden-panel tone-${toneOf[state]}`}
      title="Show the panel"
      onClick={showPanel}
    >
      <Icon name="back" />
      {state === undefined ? null : <StateMark state={state} />}
      <span>{shownLine(name, 40)}</span>
    </button>
  );
}
