/** The troupe's name and state, navigation and actions. */

import { useState } from 'preact/hooks';
import { troupeStateIn } from '../../../src/recorder/picture.ts';
import icon from '../icon.svg';
import { spoken } from '../model/announcements.ts';
import { type View, views } from '../model/route.ts';
import { shownLine } from '../model/shown-text.ts';
import { command, messageOf } from '../state/api.ts';
import { go } from '../state/moments.ts';
import { change, toast, usePage } from '../state/store.ts';
import { switchTheme } from '../state/theme.ts';
import { IconButton } from './controls.tsx';
import { ExportMenu } from './export-menu.tsx';
import { Icon } from './marks.tsx';
import { QuestionBadge } from './questions/badge.tsx';

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
  const canAct = usePage((state) => state.link === 'live' && state.route.at === undefined);
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
        disabled={!canAct}
        onClick={() => change({ dialog: { kind: 'plan' } })}
      >
        <Icon name="list" />
        <span>Plan</span>
      </button>
      <button
        type="button"
        class="head-button"
        disabled={!canAct || isBusy}
        onClick={() => void reload()}
      >
        <Icon name="refresh" />
        <span>Reload</span>
      </button>
    </>
  );
}
