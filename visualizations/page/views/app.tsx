/** The page: header, view, the selected server beside it, and the time bar. */

import { useEffect } from 'preact/hooks';
import { chosenLogin, isBesideChart } from '../state/chosen.ts';
import { listenForKeys } from '../state/keyboard.ts';
import { dismiss, usePage } from '../state/store.ts';
import { ChartView } from './chart/chart.tsx';
import { Empty } from './controls.tsx';
import { ApprovalDialog } from './dialogs/approval-dialog.tsx';
import { HelpDialog } from './dialogs/help-dialog.tsx';
import { PlanDialog } from './dialogs/plan-dialog.tsx';
import { Fleet } from './fleet/fleet.tsx';
import { Header } from './header.tsx';
import { LinkBanner } from './link-banner.tsx';
import { LiveRegion } from './live-region.tsx';
import { LoginPanel } from './login/panel.tsx';
import { Icon } from './marks.tsx';
import { HiddenPanel, PanelEdge } from './panel-edge.tsx';
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
