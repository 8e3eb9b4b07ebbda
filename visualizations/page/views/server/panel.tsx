/** Everything about the selected server. */

import { useState } from 'preact/hooks';
import type { ServerLogLine } from '../../../../src/domain/server-log.ts';
import { isUsable } from '../../../../src/domain/server-state.ts';
import type { ExposedTool } from '../../../../src/domain/tool.ts';
import { age } from '../../model/durations.ts';
import { shownLine, shownLines, shownSummary } from '../../model/shown-text.ts';
import { actorOf } from '../../model/world.ts';
import { ask, command } from '../../state/api.ts';
import { momentOf, now } from '../../state/clock.ts';
import { closePanel } from '../../state/panel.ts';
import { canAct, usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { CopyButton, Empty, IconButton, Tabs } from '../controls.tsx';
import { StateName } from '../marks.tsx';
import { Acts } from './acts.tsx';
import { Attempts } from './attempts.tsx';
import { Overview } from './overview.tsx';
import { ToolForm } from './tool-form.tsx';

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

function ContextTab({ server }: { server: string }) {
  const actor = usePage((state) => (state.revision, actorOf(state.world, server)));
  const at = usePage((state) => state.route.at);
  const key = actor?.actor;
  const question = key === undefined ? undefined : `context ${key} ${at ?? 'now'}`;
  const { answer, problem } = useAsked(question, actor, () =>
    ask<{ context: unknown; n: number }>(
      `api/actors/${encodeURIComponent(key ?? '')}/context${at === undefined ? '' : `?at=${at}`}`,
    ),
  );
  if (actor === undefined) return <Empty title="No chart at this moment" />;
  if (problem !== undefined) return <Empty title="Not available">{problem}</Empty>;
  if (answer === undefined) return <p class="soft">Loading…</p>;
  const text = JSON.stringify(answer.context, null, 2) ?? 'nothing';
  return (
    <>
      <p class="context-head">
        <span class="soft">
          {actor.id} after record {answer.n}; secrets are left out
        </span>
        <CopyButton text={text} label="Copy" />
      </p>
      <dl class="active-states">
        {actor.leaves.map((leaf) => (
          <div key={leaf}>
            <dt class="unseen">Active state</dt>
            <dd class="mono">{leaf}</dd>
          </div>
        ))}
      </dl>
      <pre class="code">{shownLines(text, 100_000)}</pre>
    </>
  );
}

const mostLines = 300;

function Logs({ server }: { server: string }) {
  const isNow = usePage(canAct);
  const revision = usePage(
    (state) =>
      Math.floor(state.live.n / 20) + (state.live.servers.get(server) === undefined ? 0 : 1),
  );
  const status = usePage((state) => (state.revision, state.live.servers.get(server)));
  const { answer, problem } = useAsked(
    isNow ? `logs ${server}` : undefined,
    `${revision} ${status?.since ?? ''}`,
    () => command<{ lines: readonly ServerLogLine[] }>('logs', { server, lines: mostLines }),
  );
  if (!isNow) return <Empty title="Only available live">Journals contain no logs.</Empty>;
  if (problem !== undefined) return <Empty title="Not available">{problem}</Empty>;
  if (answer === undefined) return <p class="soft">Loading…</p>;
  if (answer.lines.length === 0) return <Empty title="No log lines yet" />;
  return (
    <ol class="log-lines" aria-label="Log">
      {answer.lines.map(({ number, at, session, stream, line }) => (
        <li key={number} class={`log-${stream}`}>
          <span class="soft number" title={`session ${session}`}>
            {new Date(at).toLocaleTimeString(undefined, { hour12: false })}
          </span>
          <span class="log-stream">{stream}</span>
          <span class="log-text">{shownLine(line, 2_000)}</span>
        </li>
      ))}
    </ol>
  );
}

/** Listing starts a dormant server; after this time, the page reports that it is unavailable. */
const listingMs = 15_000;

function Tools({ server }: { server: string }) {
  const status = usePage((state) => (state.revision, state.world.servers.get(server)));
  const isNow = usePage(canAct);
  const [isWanted, setWanted] = useState(false);
  const [filter, setFilter] = useState('');
  const isUp = status !== undefined && isUsable(status.state);
  const mayAsk = isNow && (isUp || isWanted);
  const { answer, problem } = useAsked(
    mayAsk ? `tools ${server}` : undefined,
    `${status?.catalog} ${status?.tools}`,
    () => command<{ tools: readonly ExposedTool[] }>('tools', { server, timeoutMs: listingMs }),
  );
  if (!isNow) return <Empty title="Only available live">Go back to now to call tools.</Empty>;
  if (!mayAsk) {
    return (
      <div class="empty">
        <p class="empty-title">Not connected</p>
        <p>Listing the tools starts the server, if it is allowed to start.</p>
        <button type="button" class="main-button" onClick={() => setWanted(true)}>
          Start it and list its tools
        </button>
      </div>
    );
  }
  if (problem !== undefined) return <Empty title="No tools">{shownLine(problem, 1_000)}</Empty>;
  if (answer === undefined) return <p class="soft">Loading…</p>;
  if (answer.tools.length === 0) return <Empty title="No tools">This server has no tools.</Empty>;
  const shown = answer.tools.filter((tool) =>
    `${tool.tool} ${tool.description ?? ''}`.toLowerCase().includes(filter.toLowerCase()),
  );
  return (
    <>
      <input
        type="search"
        class="field"
        placeholder={`Filter ${answer.tools.length} tools`}
        aria-label="Filter tools"
        value={filter}
        onInput={(event) => setFilter(event.currentTarget.value)}
      />
      <ul class="tools">
        {shown.map((tool) => (
          <ToolEntry key={tool.name} tool={tool} />
        ))}
      </ul>
    </>
  );
}

function ToolEntry({ tool }: { tool: ExposedTool }) {
  const [isOpen, setOpen] = useState(false);
  const traits = traitsOf(tool);
  return (
    <li class="tool">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary data-tool={tool.tool}>
          <span class="tool-name mono">{shownLine(tool.tool)}</span>
          {traits.map((trait) => (
            <span key={trait} class="trait">
              {trait}
            </span>
          ))}
          {isOpen || tool.description === undefined ? null : (
            <span class="tool-line">{shownSummary(tool.description, 140)}</span>
          )}
        </summary>
        {isOpen ? (
          <>
            {tool.description === undefined ? null : (
              <p class="tool-description">{shownLines(tool.description, 4_000)}</p>
            )}
            <p class="soft">
              Shown to clients as <code>{shownLine(tool.name)}</code>
            </p>
            <ToolForm tool={tool} />
          </>
        ) : null}
      </details>
    </li>
  );
}

function traitsOf({ annotations }: ExposedTool): readonly string[] {
  if (annotations === undefined) return [];
  const { readOnlyHint, destructiveHint } = annotations;
  return [
    ...(readOnlyHint === true ? ['reads only'] : []),
    ...(destructiveHint === true && readOnlyHint !== true ? ['destructive'] : []),
  ];
}
