/** The tools of a server, each with a form to try it. */

import { useState } from 'preact/hooks';
import { isUsable } from '../../../../src/domain/server-state.ts';
import type { ExposedTool } from '../../../../src/domain/tool.ts';
import { shownLine, shownLines, shownSummary } from '../../model/shown-text.ts';
import { command } from '../../state/api.ts';
import { usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { Empty } from '../controls.tsx';
import { ToolForm } from './tool-form.tsx';

/** Listing starts a dormant server; after this time, the page reports that it is unavailable. */
const timeoutMs = 15_000;

export function Tools({ server }: { server: string }) {
  const status = usePage((state) => (state.revision, state.world.servers.get(server)));
  const isNow = usePage((state) => state.link === 'live' && state.route.at === undefined);
  const [isWanted, setWanted] = useState(false);
  const [filter, setFilter] = useState('');
  const isUp = status !== undefined && isUsable(status.state);
  const mayAsk = isNow && (isUp || isWanted);
  const { answer, problem } = useAsked(
    mayAsk ? `tools ${server}` : undefined,
    `${status?.catalog} ${status?.tools}`,
    () => command<{ tools: readonly ExposedTool[] }>('tools', { server, timeoutMs }),
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
