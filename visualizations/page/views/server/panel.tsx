/** Everything about the selected server. */

import { useState } from 'preact/hooks';
import { age } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { momentOf, now } from '../../state/clock.ts';
import { closePanel } from '../../state/panel.ts';
import { usePage } from '../../state/store.ts';
import { Empty, IconButton, Tabs } from '../controls.tsx';
import { StateName } from '../marks.tsx';
import { Acts } from './acts.tsx';
import { Attempts } from './attempts.tsx';
import { ContextTab } from './context-tab.tsx';
import { Logs } from './logs.tsx';
import { Overview } from './overview.tsx';
import { Tools } from './tools.tsx';

const tabs = [
  { name: 'overview', label: 'Overview' },
  { name: 'tools', label: 'Tools' },
  { name: 'attempts', label: 'Attempts' },
  { name: 'context', label: 'Context' },
  { name: 'log', label: 'Log' },
] as const;
type TabName = (typeof tabs)[number]['name'];

export function ServerPanel({ name }: { name: string }) {
  const [tab, setTab] = useState<TabName>('overview');
  const status = usePage((state) => (state.revision, state.world.servers.get(name)));
  return (
    <aside class="panel" aria-label={`Server ${shownLine(name, 80)}`}>
      <header class="panel-head">
        <div>
          <h2>{shownLine(name, 120)}</h2>
          {status === undefined ? null : (
            <p class="panel-state">
              <StateName state={status.state} reason={status.reason} />
              <span class="soft">
                <Lasting since={status.since} />
              </span>
            </p>
          )}
        </div>
        <IconButton icon="close" label="Close (Esc)" onPress={closePanel} />
      </header>
      {status === undefined ? (
        <Empty title="Did not exist at this moment">
          The settings had no server of this name then.
        </Empty>
      ) : (
        <>
          <Acts status={status} />
          <Tabs
            label="About this server"
            tabs={tabs}
            chosen={tab}
            onChoose={setTab}
            panel="panel-content"
          />
          <div
            id="panel-content"
            class="panel-content"
            role="tabpanel"
            tabIndex={0}
            aria-label={tab}
          >
            <Content tab={tab} name={name} />
          </div>
        </>
      )}
    </aside>
  );
}

/** How long the server has been in its state. */
function Lasting({ since }: { since: string }) {
  const ms = now() - momentOf(since);
  return <span class="number">{ms < 1_000 ? 'just now' : `for ${age(ms)}`}</span>;
}

function Content({ tab, name }: { tab: TabName; name: string }) {
  switch (tab) {
    case 'overview':
      return <Overview name={name} />;
    case 'tools':
      return <Tools server={name} />;
    case 'attempts':
      return <Attempts server={name} />;
    case 'context':
      return <ContextTab server={name} />;
    case 'log':
      return <Logs server={name} />;
  }
}
