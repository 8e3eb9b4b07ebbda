/** Exports: the journal, a test, and pictures of the chart. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { askFile, askText, messageOf } from '../state/api.ts';
import { chosenActor } from '../state/chosen.ts';
import { save, savePicture } from '../state/save-picture.ts';
import { current, toast, usePage } from '../state/store.ts';
import { Icon } from './marks.tsx';

export function ExportMenu() {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const isChart = usePage((state) => state.route.view === 'chart');
  const hasActor = usePage((state) => (state.revision, chosenActor(state)?.machine !== undefined));
  useEffect(() => {
    if (!isOpen) return undefined;
    const leave = (event: Event): void => {
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key === 'Escape' : !menu.current?.contains(event.target as Node))
        setOpen(false);
    };
    window.addEventListener('keydown', leave);
    window.addEventListener('pointerdown', leave);
    return () => {
      window.removeEventListener('keydown', leave);
      window.removeEventListener('pointerdown', leave);
    };
  }, [isOpen]);
  const item = (act: () => Promise<void>) => () => {
    setOpen(false);
    act().catch((error: unknown) => toast('bad', messageOf(error)));
  };
  return (
    <div class="menu" ref={menu}>
      <button
        type="button"
        class="head-button"
        aria-expanded={isOpen}
        aria-controls="export-menu"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="save" />
        <span>Export</span>
      </button>
      {isOpen ? (
        <ul id="export-menu" class="menu-list">
          <li>
            <button type="button" onClick={item(saveJournal)}>
              Journal as a bug report
              <small>The recorded events, without secrets</small>
            </button>
          </li>
          <li>
            <button type="button" disabled={!hasActor} onClick={item(copyTest)}>
              Copy as a model test
              <small>TypeScript that brings the chart to this state</small>
            </button>
          </li>
          <li>
            <button type="button" disabled={!isChart} onClick={item(() => savePicture('svg'))}>
              Chart as SVG
              <small>As it is lit now</small>
            </button>
          </li>
          <li>
            <button type="button" disabled={!isChart} onClick={item(() => savePicture('png'))}>
              Chart as PNG
              <small>As it is lit now</small>
            </button>
          </li>
        </ul>
      ) : null}
    </div>
  );
}

async function saveJournal(): Promise<void> {
  save(await askFile('api/journal'), 'troupe-journal.ndjson');
}

async function copyTest(): Promise<void> {
  const state = current();
  const actor = chosenActor(state);
  if (actor === undefined) return;
  const query = new URLSearchParams({ actor: actor.actor, to: String(state.world.n) });
  await navigator.clipboard.writeText(await askText(`api/test?${query.toString()}`));
  toast('good', 'Test copied.');
}
