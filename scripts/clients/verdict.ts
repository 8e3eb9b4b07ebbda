/** What a run of many clients must never show, counted from what they saw and what their servers did. */

/** How a call ended; `left` when its client was killed, left or gave it up, so that no answer is due. */
export type CallEnd = 'ok' | 'executed' | 'not_executed' | 'unknown' | 'left';

/** What reaches a client and belongs to one. */
export type Kind = 'answer' | 'question' | 'log line' | 'progress' | 'update' | 'tool';

export interface Sighting {
  readonly kind: Kind;
  readonly server: string;
  /** The client that saw it. */
  readonly by: string;
  /** The client that it belongs to. */
  readonly of: string;
  /** Whether the client has a call in flight at the server, because of which it gets its log lines. */
  readonly hasCall: boolean;
}

/** What a server wrote about a call that it ran. */
export interface Run {
  readonly call: string;
  readonly server: string;
  readonly client: string;
}

/** The processes of a server at a moment at which nothing was being killed. */
export interface Settled {
  readonly server: string;
  readonly processes: number;
  /** As many as the pool allows. */
  readonly most: number;
}

interface Call {
  readonly client: string;
  readonly server: string;
  end: CallEnd | undefined;
}

const ends = ['ok', 'executed', 'not_executed', 'unknown', 'left'] as const;

export class Verdict {
  readonly #calls = new Map<string, Call>();
  /** The servers that a client may reach. */
  readonly #reach = new Map<string, ReadonlySet<string>>();
  readonly #seen = new Map<Kind, number>();
  readonly #violations: string[] = [];
  #sharedLines = 0;
  #runs = 0;
  #settled = 0;

  joined(client: string, servers: readonly string[]): void {
    this.#reach.set(client, new Set(servers));
  }

  sent(call: string, client: string, server: string): void {
    this.#calls.set(call, { client, server, end: undefined });
  }

  ended(call: string, end: CallEnd): void {
    const known = this.#calls.get(call);
    if (known === undefined || (known.end !== undefined && known.end !== 'left'))
      this.broken(`call ${call} was answered twice, or never sent`);
    else known.end ??= end;
  }

  saw({ kind, server, by, of, hasCall }: Sighting): void {
    this.#seen.set(kind, (this.#seen.get(kind) ?? 0) + 1);
    if (this.#reach.get(by)?.has(server) !== true)
      this.broken(`client ${by} saw a ${kind} of ${server}, which it has not approved`);
    if (by === of) return;
    // A line does not say which call it is about.
    if (kind === 'log line' && hasCall) this.#sharedLines += 1;
    else this.broken(`client ${by} saw a ${kind} of client ${of} at ${server}`);
  }

  settled({ server, processes, most }: Settled): void {
    this.#settled += 1;
    if (processes > most)
      this.broken(`${server} has ${processes} processes, where ${most} are allowed`);
  }

  /** Takes any other violation. */
  broken(line: string): void {
    this.#violations.push(line);
  }

  /** Takes what the servers wrote, once nothing runs any more. Returns one line per violation. */
  close(runs: readonly Run[], leftOver: readonly string[]): readonly string[] {
    const times = new Map<string, number>();
    for (const { call, server, client } of runs) {
      this.#runs += 1;
      times.set(call, (times.get(call) ?? 0) + 1);
      if (times.get(call) === 2) this.broken(`call ${call} ran twice at ${server}`);
      if (this.#reach.get(client)?.has(server) !== true)
        this.broken(`call ${call} of client ${client} ran at ${server}, which it has not approved`);
    }
    for (const [call, { client, server, end }] of this.#calls) {
      const about = `call ${call} of client ${client} at ${server}`;
      if (end === undefined) this.broken(`${about} has no end`);
      if (end === 'not_executed' && times.has(call))
        this.broken(`${about} ended as not executed, but ran`);
      if ((end === 'ok' || end === 'executed') && !times.has(call))
        this.broken(`${about} ended as executed, but did not run`);
    }
    for (const process of leftOver) this.broken(`left over: ${process}`);
    return this.#violations;
  }

  /** The counts, for people. */
  summary(): string {
    const count = (end: CallEnd): number =>
      [...this.#calls.values()].filter((call) => call.end === end).length;
    const seen = [...this.#seen].map(([kind, times]) => `${times} ${kind}s`.replace('ss', 'sses'));
    return [
      `${this.#calls.size} calls of ${this.#reach.size} clients: ${ends.map((end) => `${count(end)} ${end}`).join(', ')}; ${this.#runs} ran`,
      `seen: ${seen.join(', ')}; ${this.#sharedLines} log lines of clients with calls at the same time`,
      `processes counted ${this.#settled} times`,
    ].join('\n');
  }
}
