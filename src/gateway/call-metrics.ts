/**
 * Metrics as OpenMetrics 1.0 text, from public events, the snapshot and the calls of the gateway's clients.
 */

import { serverStates } from '../domain/server-state.ts';
import { quotedFor } from '../policies/text/quoted.ts';
import type { Troupe } from '../runtime/troupe.ts';

export const metricsContentType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

// From a fast tool to the longest call, in steps coarse enough to keep the number of series small.
const callBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const passBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
// Names come from settings, so a troupe edited for weeks would otherwise grow its counters forever.
const maxSeries = 5_000;
// Counters of the users who called last; an older user's begin again at zero.
const maxUsers = 256;

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Finished calls, and their durations by server. */
interface CallCounters {
  readonly calls: Map<string, number>;
  readonly durations: Map<string, Histogram>;
}

export class CallMetrics {
  readonly #troupe: Pick<Troupe, 'on' | 'snapshot'>;
  readonly #transitions = new Map<string, number>();
  readonly #states = new Map<string, string>();
  readonly #all = emptyCounters();
  readonly #byUser = new Map<string, CallCounters>();
  readonly #refusals = new Map<string, number>();
  #unread = 0;
  #dropped = 0;
  readonly #passes = emptyHistogram(passBuckets);
  readonly #ends: readonly (() => void)[];

  constructor(troupe: Pick<Troupe, 'on' | 'snapshot'>) {
    this.#troupe = troupe;
    for (const { name, state } of troupe.snapshot().servers) this.#states.set(name, state);
    this.#ends = [
      troupe.on('status.changed', ({ status: { name, state } }) => {
        if (this.#states.get(name) === state) return;
        this.#states.set(name, state);
        count(this.#transitions, labels({ server: name, state }));
      }),
      troupe.on('reconciled', ({ durationMs }) => {
        observe(this.#passes, passBuckets, durationMs / 1_000);
      }),
    ];
  }

  /** Counts a finished call; `code` is `ok`, `toolError` or the code of the error. */
  ended(server: string, code: string, durationMs: number, user?: string): void {
    const own = user === undefined ? [] : [this.#countersOf(user)];
    for (const { calls, durations } of [this.#all, ...own]) {
      count(calls, labels({ server, code }));
      const key = labels({ server });
      const histogramOfServer = durations.get(key) ?? emptyHistogram(callBuckets);
      if (durations.size < maxSeries) durations.set(key, histogramOfServer);
      observe(histogramOfServer, callBuckets, durationMs / 1_000);
    }
  }

  #countersOf(user: string): CallCounters {
    const counters = this.#byUser.get(user) ?? emptyCounters();
    this.#byUser.delete(user);
    this.#byUser.set(user, counters);
    const [oldest] = this.#byUser.keys();
    if (this.#byUser.size > maxUsers && oldest !== undefined) this.#byUser.delete(oldest);
    return counters;
  }

  /** Counts a request refused with this HTTP status before it reached the protocol. */
  refused(status: number): void {
    count(this.#refusals, labels({ status: String(status) }));
  }

  /** Counts a client disconnected because it did not read its answers. */
  leftUnread(): void {
    this.#unread += 1;
  }

  /** Counts a log line or progress notification dropped for a slow client. */
  droppedNote(): void {
    this.#dropped += 1;
  }

  /** All metrics; with `user`, those of the servers and of this user's calls only. */
  text({
    clients,
    callsInFlight,
    user,
  }: {
    readonly clients: number;
    readonly callsInFlight?: number;
    readonly user?: string;
  }): string {
    const { servers } = this.#troupe.snapshot();
    const { calls, durations } =
      user === undefined ? this.#all : (this.#byUser.get(user) ?? emptyCounters());
    const lines = [
      ...family('server_state', 'gauge', "One for a server's current state, zero for the others."),
      ...servers.flatMap(({ name, state }) =>
        serverStates.map((each) =>
          sample('server_state', labels({ server: name, state: each }), each === state ? 1 : 0),
        ),
      ),
      ...family('server_transitions', 'counter', 'How often a server entered a state.'),
      ...samples('server_transitions_total', this.#transitions),
      ...family('server_restarts', 'counter', 'Sessions started after the first one.'),
      ...servers.map(({ name, restarts }) =>
        sample('server_restarts_total', labels({ server: name }), restarts),
      ),
      ...family('server_tools', 'gauge', 'Tools that a server offers to clients.'),
      ...servers.map(({ name, tools }) => sample('server_tools', labels({ server: name }), tools)),
      ...family('calls', 'counter', 'Finished calls of clients, by outcome.'),
      ...samples('calls_total', calls),
      ...family('call_duration_seconds', 'histogram', 'Duration of calls, including waiting.'),
      ...[...durations].flatMap(([key, each]) =>
        histogram('call_duration_seconds', key, callBuckets, each),
      ),
      ...(callsInFlight === undefined
        ? []
        : [
            ...family('calls_in_flight', 'gauge', 'Calls of clients in progress.'),
            sample('calls_in_flight', '', callsInFlight),
          ]),
      ...family('clients', 'gauge', 'Connected clients.'),
      sample('clients', '', clients),
      ...(user === undefined ? this.#ofTheGateway() : []),
      '# EOF',
    ];
    return `${lines.join('\n')}\n`;
  }

  /** What all clients caused together. */
  #ofTheGateway(): readonly string[] {
    return [
      ...family('refusals', 'counter', 'Refused HTTP requests, by status.'),
      ...samples('refusals_total', this.#refusals),
      ...family(
        'unread_answers',
        'counter',
        'Answers cut off because the client did not read them.',
      ),
      sample('unread_answers_total', '', this.#unread),
      ...family(
        'dropped_notes',
        'counter',
        'Log lines and progress notifications dropped for clients that read too slowly.',
      ),
      sample('dropped_notes_total', '', this.#dropped),
      ...family('reconcile_duration_seconds', 'histogram', 'Duration of reconciler passes.'),
      ...histogram('reconcile_duration_seconds', '', passBuckets, this.#passes),
    ];
  }

  close(): void {
    for (const end of this.#ends) end();
  }
}

function family(name: string, type: string, help: string): string[] {
  return [
    `# TYPE mcp_troupe_${name} ${type}`,
    ...(name.endsWith('_seconds') ? [`# UNIT mcp_troupe_${name} seconds`] : []),
    `# HELP mcp_troupe_${name} ${help}`,
  ];
}

function sample(name: string, key: string, value: number): string {
  return `mcp_troupe_${name}${key === '' ? '' : `{${key}}`} ${value}`;
}

function samples(name: string, values: ReadonlyMap<string, number>): string[] {
  return [...values].map(([key, value]) => sample(name, key, value));
}

function histogram(
  name: string,
  key: string,
  buckets: readonly number[],
  { counts, sum, count: total }: Histogram,
): string[] {
  const with_ = (label: string): string => (key === '' ? label : `${key},${label}`);
  return [
    ...buckets.map((limit, index) =>
      sample(`${name}_bucket`, with_(`le="${bucketLabel(limit)}"`), counts[index] ?? 0),
    ),
    sample(`${name}_bucket`, with_('le="+Inf"'), total),
    sample(`${name}_count`, key, total),
    sample(`${name}_sum`, key, sum),
  ];
}

// The format requires floats here.
function bucketLabel(limit: number): string {
  return Number.isInteger(limit) ? `${limit}.0` : String(limit);
}

function labels(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quotedFor('metrics', value)}`)
    .join(',');
}

function count(values: Map<string, number>, key: string): void {
  const before = values.get(key);
  if (before === undefined && values.size >= maxSeries) return;
  values.set(key, (before ?? 0) + 1);
}

function emptyCounters(): CallCounters {
  return { calls: new Map(), durations: new Map() };
}

function emptyHistogram(buckets: readonly number[]): Histogram {
  return { counts: buckets.map(() => 0), sum: 0, count: 0 };
}

function observe(histogramToFill: Histogram, buckets: readonly number[], value: number): void {
  // Buckets are cumulative.
  buckets.forEach((limit, index) => {
    if (value <= limit) histogramToFill.counts[index] = (histogramToFill.counts[index] ?? 0) + 1;
  });
  histogramToFill.sum += value;
  histogramToFill.count += 1;
}
