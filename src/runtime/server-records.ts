/**
 * Records servers' logs and the history that explains their states. Recording never affects a
 * server.
 */

import type { Clock } from '../domain/clock.ts';
import type { Explanation } from '../domain/host/explanation.ts';
import type { ServerStatus } from '../domain/host/status.ts';
import type { LogOrigin, ServerLogLine } from '../domain/server-log.ts';
import { removedServers, serverNamed } from '../policies/admission/server-place.ts';
import { GroupedMap } from '../policies/grouped-map.ts';
import { type ExplainPorts, explainServer } from './explain/explain.ts';
import { ServerHistories } from './explain/server-history.ts';
import type { Listeners } from './listeners.ts';
import type { TroupeParts } from './root-actor.ts';
import type { RootSnapshot } from './status/board.ts';
import { lifecycleLines, ServerLogs } from './status/server-log.ts';
import { ServerTelemetry } from './telemetry/servers.ts';

type RootContext = RootSnapshot['context'];

export class ServerRecords {
  readonly #clock: Clock;
  readonly #listeners: Listeners;
  readonly #histories: ServerHistories;
  /** Records a snapshot. Must be called for every snapshot of every server, in order. */
  readonly noteSnapshot: ServerHistories['observe'];
  /** Records what the charts decide. Must be called for every inspection event. */
  readonly observe: ServerHistories['inspect'];
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
    this.observe = this.#histories.inspect;
    this.#listeners = listeners;
    this.#telemetry = telemetry && new ServerTelemetry(telemetry, clock);
    if (this.#telemetry !== undefined) listeners.on('reconciled', this.#telemetry.notePass);
  }

  /** Adds a line of our own to a server's log. */
  readonly remark = (server: string, line: string): void => {
    this.noteLine(server, line, { session: 0, stream: 'troupe' });
  };

  readonly noteLine = (server: string, line: string, from: LogOrigin): void => {
    const entry = this.#logs.append(server, line, from, this.#clock.wallNow());
    if (this.#listeners.has('server.log')) this.#listeners.emit('server.log', { server, ...entry });
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

  /**
   * Forgets the servers that the root has forgotten. Returns whether it knows a server, if it may
   * have forgotten some.
   */
  forgetWithRoot(context: RootContext): ((server: string) => boolean) | undefined {
    const { live, settings, removed } = context;
    const seen = this.#seen;
    if (live === seen?.live && settings === seen.settings && removed === seen.removed)
      return undefined;
    this.#seen = context;
    const isPresent = (name: string): boolean =>
      live.has(name) || serverNamed(settings, name) !== undefined;
    const ended = live.changesSince(seen?.live ?? GroupedMap.of());
    const unwanted = removedServers(seen?.settings ?? null, settings).map(({ name }) => name);
    const gone = [...ended, ...unwanted].filter((name) => !isPresent(name));
    this.#forget(gone);
    if (removed !== seen?.removed) {
      const remembered = new Set(removed);
      this.#histories.retain((name) => isPresent(name) || remembered.has(name));
      this.#logs.retain(isPresent, removed);
    }
    return gone.length > 0 || settings !== seen?.settings ? isPresent : undefined;
  }

  #forget(servers: readonly string[]): void {
    this.#telemetry?.forget(servers);
    for (const name of servers) this.#statuses.delete(name);
  }

  /** Ends the telemetry of all servers. */
  close(): void {
    this.#telemetry?.close();
  }

  explain(server: string, ports: ExplainPorts, root: RootSnapshot): Explanation | undefined {
    return explainServer(server, ports, root, this.#histories, this.#clock);
  }

  /** Returns a server's log; undefined if the server has never been recorded. */
  logs(server: string): readonly ServerLogLine[] | undefined {
    return this.#logs.of(server);
  }
}
