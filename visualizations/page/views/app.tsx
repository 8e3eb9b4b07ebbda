/** The page: header, view, the selected server beside it, and the time bar. */

import { useEffect, useState } from 'preact/hooks';
import { announcement } from '../model/announcements.ts';
import { shownLine } from '../model/shown-text.ts';
import { toneOf } from '../model/state-tones.ts';
import { chosenLogin, isBesideChart } from '../state/chosen.ts';
import { wallTime } from '../state/clock.ts';
import { listenForKeys } from '../state/keyboard.ts';
import { connect, takeChanged } from '../state/link.ts';
import { panelWidths, resizePanel, showPanel } from '../state/panel.ts';
import { current, dismiss, type PageState, usePage } from '../state/store.ts';
import { toggleLive } from '../state/travel.ts';
import { ChartView } from './chart/chart.tsx';
import { Empty } from './controls.tsx';
import { ApprovalDialog } from './dialogs/approval-dialog.tsx';
import { HelpDialog } from './dialogs/help-dialog.tsx';
import { PlanDialog } from './dialogs/plan-dialog.tsx';
import { Fleet } from './fleet/fleet.tsx';
import { Header } from './header.tsx';
import { LoginPanel } from './login/panel.tsx';
import { Icon, StateMark } from './marks.tsx';
import { QuestionsDialog } from './questions/dialog.tsx';
import { Sequence } from './sequence/sequence.tsx';
import { ServerPanel } from './server/panel.tsx';
import { TimeBar } from './time-bar.tsx';

export function App() {
  useEffect(listenForKeys, []);
  const server = usePage((state) => state.route.server);
  const view = usePage((state) => state.route.view);
  const isBeside = usePage((state) => state.route.view === 'chart' && isBesideChart(state));
  const login = usePage((state) => (state.revision, chosenLogin(state)));
  // A fork, a way or a comparison takes the place of the panel.
  const isChosen = server !== undefined && !isBeside;
  const { isHidden, width } = usePage((state) => state.panel);
  // In the fleet, a chosen server always has its panel.
  const isShown = isChosen && (!isHidden || view === 'fleet');
  const style = width === undefined ? {} : { '--panel-width': `${width}px` };
  return (
    <div class="app" data-view={view} style={style}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <LinkBanner />
      <main id="main" tabIndex={-1}>
        <CurrentView />
      </main>
      {isBeside ? null : login !== undefined ? (
        <LoginPanel key={login.actor} actor={login} />
      ) : isShown ? (
        <ServerPanel key={server} name={server} />
      ) : isChosen ? (
        <HiddenPanel name={server} />
      ) : null}
      {!isBeside && (login !== undefined || isShown) ? <PanelEdge /> : null}
      <TimeBar />
      <Dialogs />
      <Toasts />
      <LiveRegion />
    </div>
  );
}

function CurrentView() {
  const view = usePage((state) => state.route.view);
  const link = usePage((state) => state.link);
  const isKnown = usePage((state) => state.session !== undefined);
  if (!isKnown) {
    return link === 'loading' ? (
      <Empty title="Connecting to the troupe…" />
    ) : (
      <Empty title="Not connected to a troupe" />
    );
  }
  switch (view) {
    case 'fleet':
      return <Fleet />;
    case 'chart':
      return <ChartView />;
    case 'sequence':
      return <Sequence />;
  }
}

function Dialogs() {
  const dialog = usePage((state) => state.dialog);
  switch (dialog?.kind) {
    case 'help':
      return <HelpDialog />;
    case 'plan':
      return <PlanDialog />;
    case 'decision':
      return <ApprovalDialog server={dialog.server} decision={dialog.decision} />;
    case 'questions':
      return <QuestionsDialog />;
    case undefined:
      return null;
  }
}

function Toasts() {
  const toasts = usePage((state) => state.toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, tone, text }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <span>{text}</span>
          <button type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}

/** Banners for a page that does not show the live troupe. */
function LinkBanner() {
  const link = usePage((state) => state.link);
  const isPast = usePage((state) => state.route.at !== undefined);
  const sameCharts = usePage((state) => state.session?.sameCharts ?? true);
  return (
    <div class="banners">
      <LinkState link={link} />
      {sameCharts ? null : (
        <p class="banner banner-warn">
          These records come from other charts than the ones shown here, so highlighted states may
          be wrong.
        </p>
      )}
      {isPast && link !== 'replay' ? <PastBanner /> : null}
    </div>
  );
}

function LinkState({ link }: { link: PageState['link'] }) {
  switch (link) {
    case 'lost':
      return (
        <p class="banner banner-warn" role="alert">
          <b>Connection lost.</b> The page may be out of date; it reconnects automatically.
        </p>
      );
    case 'ended':
      return (
        <p class="banner banner-bad" role="alert">
          <b>The troupe has ended.</b> The page shows its last known state.
          <button type="button" class="small-button" onClick={() => void connect()}>
            Try again
          </button>
        </p>
      );
    case 'refused':
      return (
        <p class="banner banner-bad" role="alert">
          <b>This page is not authorized.</b> Each link works once, in one tab;{' '}
          <code>troupe inspect</code> prints a new one.
        </p>
      );
    case 'replay':
      return (
        <p class="banner banner-past">
          <b>Replay.</b> This is a recorded journal. Nothing runs, and actions are not available.
        </p>
      );
    case 'loading':
    case 'live':
      return null;
  }
}

function PastBanner() {
  const at = usePage((state) => state.route.at);
  const t = usePage((state) => state.world.t);
  return (
    <p class="banner banner-past">
      <b>The past.</b> This is record {at}, {wallTime(t)}. The troupe continues meanwhile.
      <button type="button" class="small-button" onClick={toggleLive}>
        Back to now
      </button>
    </p>
  );
}

const pauseMs = 3_000;

/** Announces changes to screen readers, at most every three seconds. */
function LiveRegion() {
  const [text, setText] = useState('');
  useEffect(() => {
    const tell = (): void => {
      const { live } = current();
      const changed = takeChanged().flatMap((name) => live.servers.get(name) ?? []);
      const said = announcement(changed);
      if (said !== undefined) setText(shownLine(said, 500));
    };
    const timer = setInterval(tell, pauseMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="unseen" aria-live="polite" data-live-region>
      {text}
    </div>
  );
}

const stepPixels = 40;

function PanelEdge() {
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

function HiddenPanel({ name }: { name: string }) {
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
