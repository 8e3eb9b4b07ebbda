/** The server's log. */

import type { ServerLogLine } from '../../../../src/domain/server-log.ts';
import { shownLine } from '../../model/shown-text.ts';
import { command } from '../../state/api.ts';
import { usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { Empty } from '../controls.tsx';

const mostLines = 300;

export function Logs({ server }: { server: string }) {
  const isNow = usePage((state) => state.link === 'live' && state.route.at === undefined);
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
