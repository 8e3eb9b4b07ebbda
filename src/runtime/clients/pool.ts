/**
 * The processes of local servers, which the clients of a troupe share. A client gets a process if
 * everything that decides its start is equal to what the client would start itself, under whatever
 * name. The lease chart decides how long a process is kept that no client has.
 */

import canonicalize from 'canonicalize';
import { createActor } from 'xstate';
import type { ProcessKeeper } from '../../../actors/processes/started-processes.ts';
import type { WantedProcess } from '../../../actors/session/ports.ts';
import type {
  LeasedConnection,
  Release,
} from '../../../actors/transports/shared/leased-connection.ts';
import { SharedConnection } from '../../../actors/transports/shared/shared-connection.ts';
import { leaseMachine } from '../../../machines/lease.ts';
import { withActors } from '../../../machines/xstate/with-actors.ts';
import type { Clock } from '../../domain/clock.ts';
import type { RootFolder } from '../../domain/question.ts';
import type { CallQuotas } from '../calls/quotas.ts';
import { unheldClock } from '../retention.ts';

const chart = withActors(leaseMachine);

/** A client as the pool knows it. */
interface PoolClient {
  readonly name: string;
  readonly projectRoot: string;
  /** Starts a server again, because its process was replaced. */
  readonly startAgain: (server: string) => void;
  readonly roots: () => readonly RootFolder[] | undefined;
}

/** How a client of the pool gets processes. */
export interface ClientLeases {
  readonly lease: (wanted: WantedProcess) => LeasedConnection;
  /**
   * Makes a client's next session with a server start another process, to which the other clients move
   * once their requests are answered.
   */
  readonly renew: (server: string) => void;
  /** The names of the other clients that have the process of a server. */
  readonly sharedWith: (server: string) => readonly string[];
  /** Keeps the processes for a while that the client releases from now on. */
  readonly beginEnd: () => void;
}

/** What a client has from the troupe that it belongs to. */
export interface ClientParts {
  readonly name: string;
  readonly pool: ServerPool;
  readonly quotas: CallQuotas;
  /** Counts the questions of all clients, so that an id names one. */
  readonly asked: { count: number };
  readonly processes: ProcessKeeper | undefined;
  /** Called once everything of the client is closed. */
  readonly onEnded: () => void;
}

interface Lease {
  readonly client: PoolClient;
  readonly server: string;
  readonly connection: LeasedConnection;
  readonly actor: ReturnType<typeof createActor<typeof chart>>;
}

interface Entry {
  /** What is equal for all clients; undefined for a process that is not shared. */
  readonly key: string | undefined;
  readonly shared: SharedConnection;
  readonly leases: Set<Lease>;
  hasOpened: boolean;
  /** Set once no further client may get it. */
  isRetired: boolean;
}

export class ServerPool {
  readonly #clock: Clock;
  readonly #processes: Pick<ProcessKeeper, 'expect'> | undefined;
  readonly #entries = new Set<Entry>();
  /** The processes that are being ended. */
  readonly #closing = new Set<Promise<void>>();
  readonly #leaving = new WeakSet<PoolClient>();
  /** How the pool ends; undefined until then. */
  #ending: 'orderly' | 'killed' | undefined;

  constructor(clock: Clock, processes: Pick<ProcessKeeper, 'expect'> | undefined) {
    this.#clock = clock;
    this.#processes = processes;
  }

  leasesOf(client: PoolClient): ClientLeases {
    return {
      lease: (wanted) => this.#lease(client, wanted),
      renew: (server) => {
        for (const entry of this.#heldBy(client, server)) this.#renew(entry, client);
      },
      sharedWith: (server) =>
        this.#heldBy(client, server).flatMap((entry) =>
          liveLeases(entry)
            .filter((other) => other.client !== client)
            .map((other) => other.client.name),
        ),
      beginEnd: () => this.#leaving.add(client),
    };
  }

  /** Ends processes as soon as they are released from now on, and at once those that only wait. */
  beginEnd(isForced: boolean): void {
    if (this.#ending !== 'killed') this.#ending = isForced ? 'killed' : 'orderly';
    for (const { leases } of this.#entries)
      for (const { actor } of leases) actor.send({ type: 'lease.revoked' });
  }

  /** Resolves once every process has ended. */
  async close(): Promise<void> {
    this.beginEnd(false);
    for (const entry of this.#entries) void this.#end(entry);
    await Promise.all(this.#closing);
  }

  #lease(client: PoolClient, wanted: WantedProcess): LeasedConnection {
    const { server, connection: setup } = wanted;
    const isShared = setup.policy().connect.sharing !== 'client';
    const key = isShared ? keyOf(client, wanted) : undefined;
    const entry = this.#entryFor(key, client) ?? this.#create(key, wanted);
    const before = [...entry.leases];
    const release: Release = (how) => this.#release(entry, lease, how);
    const connection = entry.shared.join(setup, release);
    const actor = createActor(chart, { clock: unheldClock(this.#clock) });
    const lease: Lease = { client, server, connection, actor };
    entry.leases.add(lease);
    actor.on('connection.released', () => void this.#end(entry));
    actor.on('client.moves', () => client.startAgain(server));
    actor.subscribe({ complete: () => entry.leases.delete(lease) });
    actor.start();
    if (entry.hasOpened) actor.send({ type: 'connection.opened' });
    for (const other of before) other.actor.send({ type: 'lease.acquired' });
    return connection;
  }

  /** A client that has a process under another name, or for its last session, gets a second one. */
  #entryFor(key: string | undefined, client: PoolClient): Entry | undefined {
    return [...this.#entries].find(
      (entry) =>
        key !== undefined &&
        entry.key === key &&
        !entry.isRetired &&
        !liveLeases(entry).some((lease) => lease.client === client),
    );
  }

  #create(key: string | undefined, { server, launch }: WantedProcess): Entry {
    const leaseOf = (holder: LeasedConnection): Lease | undefined =>
      [...entry.leases].find(({ connection }) => connection === holder);
    const shared = new SharedConnection({
      clock: this.#clock,
      launch,
      kept: this.#processes?.expect(server),
      onAnswer: () => {
        if (entry.hasOpened) return;
        entry.hasOpened = true;
        for (const { actor } of [...entry.leases]) actor.send({ type: 'connection.opened' });
      },
      onBroke: () => {
        entry.isRetired = true;
      },
      onEnded: () => {
        for (const { actor } of [...entry.leases]) actor.send({ type: 'connection.lost' });
        void this.#end(entry, 'lost');
      },
      onRootsChanged: (holder) => {
        if (liveLeases(entry).length > 1) move(entry, leaseOf(holder));
        else entry.isRetired = true;
      },
      onUnused: (holder) => leaseOf(holder)?.actor.send({ type: 'calls.ended' }),
    });
    const entry: Entry = { key, shared, leases: new Set(), hasOpened: false, isRetired: false };
    this.#entries.add(entry);
    return entry;
  }

  #release(entry: Entry, lease: Lease, how: Parameters<Release>[0]): Promise<void> {
    const { shared, leases, key } = entry;
    const { actor, client, connection } = lease;
    shared.leave(connection);
    if (how !== 'orderly') entry.isRetired = true;
    if (isLive(lease)) {
      const { drainMs, maxIdleMs } = connection.policy().idle;
      // Another client may want it; a server that was stopped or edited is meant to end.
      const mayWait = this.#leaving.has(client) && this.#ending === undefined;
      actor.send({
        type: 'lease.released',
        isKept: liveLeases(entry).length > 1,
        drainMs: mayWait && key !== undefined && !entry.isRetired ? drainMs : 0,
        unusedMs: shared.unusedMs,
        maxIdleMs,
      });
    }
    // Another client has it, or the chart keeps it.
    return leases.size > 0 ? Promise.resolve() : this.#end(entry, how);
  }

  #renew(entry: Entry, client: PoolClient): void {
    entry.isRetired = true;
    for (const other of liveLeases(entry)) if (other.client !== client) move(entry, other);
  }

  #heldBy(client: PoolClient, server: string): readonly Entry[] {
    return [...this.#entries].filter((entry) =>
      liveLeases(entry).some((lease) => lease.client === client && lease.server === server),
    );
  }

  #end(entry: Entry, how: Parameters<Release>[0] = 'orderly'): Promise<void> {
    entry.isRetired = true;
    this.#entries.delete(entry);
    const closed = entry.shared.close(this.#ending === 'killed' ? 'killed' : how);
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
    return closed;
  }
}

/** Has a client leave a process as soon as none of its requests is in flight. */
function move({ shared }: Entry, lease: Lease | undefined): void {
  if (lease === undefined) return;
  lease.actor.send({ type: 'process.replaced' });
  shared.watchUse(lease.connection);
}

/** The leases of clients that have the process. */
function liveLeases({ leases }: Entry): readonly Lease[] {
  return [...leases].filter(isLive);
}

/** Whether a client has the process. */
function isLive({ actor }: Lease): boolean {
  const { value } = actor.getSnapshot();
  return value === 'acquiring' || value === 'held' || value === 'moving';
}

function keyOf(client: PoolClient, { launch, era, questions, connection }: WantedProcess): string {
  const { sharing } = connection.policy().connect;
  const roots = questions?.hasRoots === true ? client.roots() : undefined;
  const within = sharing === 'project' ? client.projectRoot : undefined;
  return canonicalize({ launch, era, questions, roots, sharing, within }) as string;
}
