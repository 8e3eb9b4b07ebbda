/**
 * Records servers' logs and the history that explains their states. Recording never affects a
 * server.
 */

import type { Clock } from '../domain/clock.ts';
import type { Explanation } from '../domain/host/explanation.ts';
import type { ServerStatus } from '../domain/host/status.ts';
import type { LogOrigin, ServerLogLine } from '../domain/server-log.ts';
import { explainServer } from './explain/explain.ts';
import { ServerHistories } from './explain/server-history.ts';
import type { Listeners } from './listeners.ts';
import type { TroupeParts } from './root-actor.ts';
import type { RootSnapshot, StatusBoard } from './status/board.ts';
import { lifecycleLines, ServerLogs } from './status/server-log.ts';

import { ServerTelemetry } from './telemetry/servers.ts';

type RootContext = RootSnapshot['context'];

export class ServerRecords {
  readonly #clock: Clock;
  readonly #listeners: Listeners;
  readonly #histories: ServerHistories;
  /** Records a snapshot. Must be called for every snapshot of every server, in order. */
  readonly noteSnapshot: ServerHistories['observe'];
  readonly #logs = new ServerLogs();
  /** Each server's last status. */
  readonly #statuses = new Map<string, ServerStatus>();
  /** The root's context when the servers were last compared. */
  #seen: RootContext | undefined;
  readonly #telemetry: ServerTelemetry | undefined;

  constructor(
    { clock, telemetry }: Pick<TroupeParts, 'clock' | 'telemetry'>,
    listeners: Listeners,
  ) {
    this.#clock = clock;
    this.#histories = new ServerHistories(clock);
    this.noteSnapshot = this.#histories.observe;
    this.#listeners = listeners;
    this.#telemetry = telemetry && new ServerTelemetry(telemetry, clock);
    if (this.#telemetry !== undefined) listeners.on('reconciled', this.#telemetry.notePass);
  }

  /** The given parts, with an inspector that also records what the charts decide. */
  watching(parts: TroupeParts): TroupeParts {
    const inspect: TroupeParts['inspect'] = (event) => {
      this.#histories.inspect(event);
      parts.inspect?.(event);
    };
    return { ...parts, inspect };
  }

  /** Adds a line of our own to a server's log. */
  readonly remark = (server: string, line: string): void => {
    this.noteLine(server, line, { session: 0, stream: 'troupe' });
  };

  readonly noteLine = (server: string, line: string, from: LogOrigin): void => {
    const atMs = this.#clock.wallNow();
    const entry = this.#logs.append(server, { ...from, atMs, line });
    this.#listeners.emit('server.log', { server, ...entry });
  };

  /**
   * Records a status; returns the previous one.
   *
   * @param session - the number of its current or last session, 0 before the first
   */
  noteStatus(status: ServerStatus, session: number): ServerStatus | undefined {
    const nowMs = this.#clock.wallNow();
    this.#histories.noteStatus(status);
    this.#telemetry?.noteStatus(status);
    const before = this.#statuses.get(status.name);
    this.#statuses.set(status.name, status);
    for (const line of lifecycleLines(before, status, nowMs))
      this.noteLine(status.name, line, { session, stream: 'troupe' });
    return before;
  }

  /** Forgets the servers that the root has forgotten. Returns those that it knows, if they may be others. */
  forgetWithRoot(context: RootContext): ReadonlySet<string> | undefined {
    const { live, settings, removed } = context;
    const seen = this.#seen;
    if (live === seen?.live && settings === seen.settings && removed === seen.removed)
      return undefined;
    this.#seen = context;
    const present = new Set([...live.keys(), ...(settings?.servers ?? []).map(({ name }) => name)]);
    this.#telemetry?.retain(present);
    if (removed === seen?.removed) return present;
    this.#histories.retain(new Set([...present, ...removed]));
    this.#logs.retain(present, removed);
    for (const name of this.#statuses.keys()) if (!present.has(name)) this.#statuses.delete(name);
    return present;
  }

  /** Ends the telemetry of all servers. */
  close(): void {
    this.#telemetry?.close();
  }

  explain(server: string, board: StatusBoard, root: RootSnapshot): Explanation | undefined {
    return explainServer(server, board, root, this.#histories, this.#clock);
  }

  /** Returns a server's log; undefined if the server has never been recorded. */
  logs(server: string): readonly ServerLogLine[] | undefined {
    return this.#logs.of(server);
  }
}
