/** Shows, hides and resizes the panel beside the view. */

import { go } from './moments.ts';
import { change, current } from './store.ts';

const key = 'troupe-inspector-panel';

/** In pixels; the view beside the panel keeps as much. */
export const panelWidths = { least: 300, usual: 420, most: 900 } as const;

/**
 * Closes the panel. A chart or sequence stays that of the chosen server; in the fleet, no server is
 * chosen any more.
 */
export function closePanel(): void {
  const { route, panel } = current();
  if (route.view === 'fleet') go({ server: undefined, actor: undefined });
  else change({ panel: { ...panel, isHidden: true } });
}

export function showPanel(): void {
  change({ panel: { ...current().panel, isHidden: false } });
}

export function resizePanel(width: number): void {
  const room = Math.max(panelWidths.least, window.innerWidth - panelWidths.least);
  const within = Math.round(Math.min(panelWidths.most, room, Math.max(panelWidths.least, width)));
  change({ panel: { ...current().panel, width: within } });
  remember(String(within));
}

export function restorePanel(): void {
  try {
    const width = Number(localStorage.getItem(key) ?? Number.NaN);
    if (Number.isFinite(width)) resizePanel(width);
  } catch {
    // Storage may be disabled for this site.
  }
}

function remember(width: string): void {
  try {
    localStorage.setItem(key, width);
  } catch {
    // As above.
  }
}
