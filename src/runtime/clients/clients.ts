/**
 * A troupe as a client among others, and the further clients that it opens. Each of these is a troupe
 * of its own, with its own settings, approvals, questions and calls; all share the processes of local
 * servers and the counts of limited calls.
 */

import type { ProcessKeeper } from '../../../actors/processes/started-processes.ts';
import type { Clock } from '../../domain/clock.ts';
import type { TroupeStatus } from '../../domain/host/status.ts';
import type { RootFolder } from '../../domain/question.ts';
import { isUsable } from '../../domain/server-state.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { CallQuotas } from '../calls/quotas.ts';
import { checkName, checkOptions } from '../options/check.ts';
import { retain, unusedSince } from '../retention.ts';
import type { Troupe, TroupeOptions } from '../troupe.ts';
import { type ClientLeases, type ClientParts, ServerPool } from './pool.ts';

type ClientOptions = Parameters<Troupe['openClient']>[0];

interface ClientsPorts {
  readonly options: TroupeOptions;
  readonly clock: Clock;
  /** Absent for a troupe that is not a client of another. */
  readonly client: ClientParts | undefined;
  readonly processes: ProcessKeeper | undefined;
  readonly asked: ClientParts['asked'];
  readonly projectRoot: string;
  readonly startAgain: (server: string) => void;
  readonly roots: () => readonly RootFolder[] | undefined;
  readonly create: (options: TroupeOptions, client: ClientParts) => Troupe;
}

export class Clients {
  /** What the troupe's calls count for; a client's name is undefined unless another troupe opened it. */
  readonly forCalls: { readonly clientName: string | undefined; readonly quotas: CallQuotas };
  readonly leases: ClientLeases;
  readonly #ports: ClientsPorts;
  readonly #pool: ServerPool;
  readonly #open = new Map<Troupe, { readonly name: string; readonly since: string }>();

  constructor(ports: ClientsPorts) {
    const { client, clock, processes, projectRoot, roots, startAgain } = ports;
    this.#ports = ports;
    this.forCalls = { clientName: client?.name, quotas: client?.quotas ?? new CallQuotas() };
    this.#pool = client?.pool ?? new ServerPool(clock, processes);
    const name = client?.name ?? 'host';
    this.leases = this.#pool.leasesOf({ name, projectRoot, roots, startAgain });
  }

  /** Lists the open clients, oldest first. */
  list(): NonNullable<TroupeStatus['clients']> {
    return [...this.#open].map(([troupe, facts]) => ({
      ...facts,
      servers: troupe
        .snapshot()
        .servers.flatMap(({ name, state }) => (isUsable(state) ? [name] : [])),
    }));
  }

  /** @throws TroupeError `INVALID_ARGUMENTS` */
  open({ name, deadlineMs, ...own }: ClientOptions): Troupe {
    checkName('name of the client', name);
    checkOptions(own);
    if (deadlineMs !== undefined && !(Number.isFinite(deadlineMs) && deadlineMs > 0))
      throw argumentsError('"deadlineMs" must be a number of milliseconds above 0.');
    const { options, clock, processes, asked, create } = this.#ports;
    const { quotas } = this.forCalls;
    const shared = { name, pool: this.#pool, quotas, asked, processes };
    const troupe: Troupe = create(clientOptions(options, own), {
      ...shared,
      onEnded: () => {
        deadline?.release();
        this.#open.delete(troupe);
      },
    });
    this.#open.set(troupe, { name, since: new Date(clock.wallNow()).toISOString() });
    const deadline =
      deadlineMs === undefined
        ? undefined
        : retain(clock, unusedSince(clock, deadlineMs), () => void troupe.stop());
    return troupe;
  }

  /** Stops the clients that this troupe opened, and keeps no process that no client has. */
  async stop(options: Parameters<Troupe['stop']>[0] = {}): Promise<void> {
    this.leases.beginEnd();
    if (this.#ports.client === undefined) this.#pool.beginEnd(options.force === true);
    await Promise.all([...this.#open.keys()].map((client) => client.stop(options)));
  }

  /** Resolves once the clients have ended, and with the last one every process. */
  async close(): Promise<void> {
    const { client } = this.#ports;
    await this.stop();
    if (client === undefined) await this.#pool.close();
    client?.onEnded();
  }
}

/** A client reads what the troupe reads, and may run no more than it. */
function clientOptions(
  {
    inspect: _inspect,
    onQuestion: _onQuestion,
    questions: _questions,
    roots: _roots,
    ...base
  }: TroupeOptions,
  own: Omit<ClientOptions, 'name' | 'deadlineMs'>,
): TroupeOptions {
  const { allow } = base;
  const bound = own.allow?.filter((name) => allow?.includes(name) !== false) ?? allow;
  const trusted = base.trusted !== false && own.trusted !== false;
  return { ...base, ...own, trusted, ...(bound !== undefined && { allow: bound }) };
}
