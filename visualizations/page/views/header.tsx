/** The troupe's name and state, navigation and actions. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { troupeStateIn } from '../../../src/recorder/picture.ts';
import icon from '../icon.svg';
import { spoken } from '../model/announcements.ts';
import { type View, views } from '../model/route.ts';
import { shownLine } from '../model/shown-text.ts';
import { askFile, askText, command, messageOf } from '../state/api.ts';
import { chosenActor } from '../state/chosen.ts';
import { go } from '../state/moments.ts';
import { useQuestions } from '../state/question-list.ts';
import { save, savePicture } from '../state/save-picture.ts';
import { canAct, change, current, toast, usePage } from '../state/store.ts';
import { switchTheme } from '../state/theme.ts';
import { IconButton } from './controls.tsx';
import { Icon } from './marks.tsx';

const names: Readonly<Record<View, string>> = {
  fleet: 'Fleet',
  chart: 'Chart',
  sequence: 'Sequence',
};

export function Header() {
  return (
    <header class="head">
      <div class="brand">
        <img src={icon} alt="" width="26" height="26" />
        <TroupeName />
      </div>
      <nav aria-label="Views">
        <ViewLinks />
      </nav>
      <div class="head-tools">
        <QuestionBadge />
        <TroupeActs />
        <ExportMenu />
        <IconButton icon="sun" label="Light or dark (T)" onPress={switchTheme} />
        <IconButton
          icon="help"
          label="Keys and colours (?)"
          onPress={() => change({ dialog: { kind: 'help' } })}
        />
      </div>
    </header>
  );
}

function TroupeName() {
  const title = usePage((state) => state.session?.title);
  const troupe = usePage((state) => (state.revision, state.world.troupe));
  const now = usePage((state) => (state.revision, troupeStateIn(state.world)));
  const problems = troupe?.problems.length ?? 0;
  return (
    <div class="troupe-name">
      <h1 title={title}>{title === undefined ? 'Troupe' : shownLine(lastPart(title), 80)}</h1>
      <p>
        {troupe === undefined
          ? 'inspector'
          : `${spoken(now ?? troupe.state)} · pid ${troupe.pid} · ${troupe.version}`}
        {problems === 0 ? null : (
          <button
            type="button"
            class="problem-count"
            title="Problems in the settings"
            onClick={() => change({ dialog: { kind: 'plan' } })}
          >
            {problems === 1 ? '1 problem' : `${problems} problems`}
          </button>
        )}
      </p>
    </div>
  );
}

function lastPart(path: string): string {
  return path.split(/[\\/]/u).findLast((part) => part !== '') ?? path;
}

function ViewLinks() {
  const chosen = usePage((state) => state.route.view);
  return (
    <>
      {views.map((view, place) => (
        <button
          key={view}
          type="button"
          aria-current={view === chosen ? 'page' : undefined}
          title={`${names[view]} (${place + 1})`}
          onClick={() => go({ view })}
        >
          {names[view]}
        </button>
      ))}
    </>
  );
}

function TroupeActs() {
  const mayAct = usePage(canAct);
  const [isBusy, setBusy] = useState(false);
  const reload = async (): Promise<void> => {
    setBusy(true);
    try {
      await command('reload');
      toast('good', 'Reading the settings again.');
    } catch (error) {
      toast('bad', messageOf(error));
    }
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        class="head-button"
        disabled={!mayAct}
        onClick={() => change({ dialog: { kind: 'plan' } })}
      >
        <Icon name="list" />
        <span>Plan</span>
      </button>
      <button
        type="button"
        class="head-button"
        disabled={!mayAct || isBusy}
        onClick={() => void reload()}
      >
        <Icon name="refresh" />
        <span>Reload</span>
      </button>
    </>
  );
}

function ExportMenu() {
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

function QuestionBadge() {
  const { length } = useQuestions();
  return (
    <span role="status" class="question-status">
      {length === 0 ? null : (
        <button
          type="button"
          class="question-badge"
          title="Answer (Q)"
          data-questions={length}
          onClick={() => change({ dialog: { kind: 'questions' } })}
        >
          {length === 1 ? '1 question' : `${length} questions`}
        </button>
      )}
    </span>
  );
}
