/**
 * The steps that open a session's connection (resolve its settings, launch its process, connect its
 * client) and the step that closes it. The session chart decides which step is next.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Authenticator } from '../../src/domain/authorization.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { ResolveOutcome, SessionEvidence, SessionId } from '../../src/domain/session.ts';
import type { SessionPhase } from '../../src/policies/failures/classify.ts';
import { type Client, createClient, type News } from '../../src/protocol/mcp-client.ts';
import { methods } from '../../src/protocol/methods.ts';
import type { StdioLaunch } from '../processes/system.ts';
import type {
  Connection,
  ConnectionEvents,
  ConnectionSetup,
  Seen,
} from '../transports/connection/connection.ts';
import { MemoryTransport } from '../transports/memory.ts';
import { StdioTransport } from '../transports/stdio/transport.ts';
import { launchAsApproved } from '../values/executable-path.ts';
import { assertFolderFiles } from '../values/folder-files.ts';
import { SettingError } from '../values/setting-error.ts';
import { assertFolder, explainSpawn, type Resolved } from '../values/target.ts';
import { type AskableThings, capabilitiesFor } from './calls/question-reading.ts';
import {
  chooseEra,
  type EraChoice,
  failuresInEveryEra,
  forgetEra,
  noteEra,
  oldHandshake,
} from './era.ts';
import type { Ending, Handshake } from './leaf-actors.ts';
import type { SessionPorts, SessionTarget } from './ports.ts';
import type * as sessionRemote from './remote.ts';
import { SessionValues } from './session-values.ts';
import { mayBeOverSse, sseEra } from './sse-fallback.ts';

export interface OpeningEvents extends ConnectionEvents {
  /** Called with each notification. */
  hear(news: News): void;
}

interface OpeningSetup {
  readonly id: SessionId;
  readonly ports: SessionPorts;
  readonly events: OpeningEvents;
  /** The questions to announce; absent if none. */
  readonly questions: AskableThings | undefined;
}

/** A client that has finished its handshake. */
export interface Connected {
  readonly client: Client;
  readonly connection: Connection;
  readonly era: 'legacy' | 'modern';
}

/** The messages of a handshake in their order, and the phase of a failure that follows each. */
const phases: ReadonlyMap<string, SessionPhase> = new Map([
  [methods.discover.name, 'connect'],
  [methods.initialize.name, 'initialize'],
  [methods.initialized.name, 'initialized'],
]);
const order = [...phases.keys()];

export class Opening {
  readonly values: SessionValues;
  readonly #setup: OpeningSetup;
  readonly #id: SessionId;
  readonly #ports: SessionPorts;
  #resolved: Resolved | undefined;
  /** The current connection, until it is closed. */
  #connection: Connection | undefined;
  #authenticator: Authenticator | undefined;
  /** The era in which the connection begins, or that it is to be probed. */
  #era: EraChoice = sseEra;
  /** The furthest message of the handshake that was sent. */
  #sent = '';

  constructor(setup: OpeningSetup) {
    this.#setup = setup;
    this.#id = setup.id;
    this.#ports = setup.ports;
    this.values = new SessionValues(setup.id, setup.ports, (line) => setup.events.remark(line));
  }

  /** The phase of a failure; an open session is past the handshake. */
  get phase(): SessionPhase {
    return phases.get(this.#sent) ?? 'connect';
  }

  /** The request that a refusal responds to. */
  get asked(): string {
    return order.indexOf(this.#sent) < 1 ? methods.discover.name : methods.initialize.name;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  async resolve(target: SessionTarget, signal: AbortSignal): Promise<ResolveOutcome> {
    const resolved = await this.values.resolve(target, signal);
    this.#resolved = resolved;
    const isOverSse = resolved.type === 'sse';
    this.#era = isOverSse ? sseEra : chooseEra(target.spec, this.#id.generation, this.#ports);
    return { type: 'resolved', hasProcess: resolved.type === 'stdio', asksEra: this.#asksEra };
  }

  /** Starts the process. */
  async launch(isSecond: boolean, signal: AbortSignal): Promise<void> {
    const { target } = this.values;
    const resolved = this.#resolved;
    if (target === undefined || resolved?.type !== 'stdio') return;
    if (isSecond) {
      this.#ports.leftWhenAsked?.add(this.#id.generation);
      this.#setup.events.remark(
        'exited when it was asked for its protocol era; it is started again with the old handshake',
      );
    }
    const launch = await this.#approved(resolved.launch, target);
    await turnToLaunch();
    signal.throwIfAborted();
    const connection = this.#process(launch, target);
    this.#connection = connection;
    try {
      await connection.launch();
    } catch (error) {
      await assertFolder(resolved.launch.cwd);
      if (error instanceof SettingError) this.#ports.onExecutableMoved?.();
      throw explainSpawn(error, resolved.launch);
    }
  }

  async connect(handshake: Handshake, signal: AbortSignal): Promise<Connected> {
    const { target } = this.values;
    const written = this.#resolved;
    if (target === undefined || written === undefined) throw new Error('nothing was resolved');
    const isOverSse = handshake === 'overSse' && 'endpoint' in written;
    const resolved = isOverSse ? { ...written, type: 'sse' as const } : written;
    if (isOverSse) this.#era = sseEra;
    if (handshake === 'old') this.#era = { ...this.#era, prior: oldHandshake };
    this.#sent = '';
    const { questions, events } = this.#setup;
    const client = createClient(
      this.#era.negotiation,
      (news) => events.hear(news),
      questions && capabilitiesFor(questions),
    );
    await this.#carry(resolved, signal);
    const connection = this.#connection as Connection;
    await client.connect(connection.transport, this.#era.prior);
    signal.throwIfAborted();
    // Its environment is no longer needed; a new session resolves its own.
    if (resolved.type === 'stdio') this.#resolved = undefined;
    const era = noteEra(client, target.spec, this.#era.prior, this.#id.generation, this.#ports);
    return { client, connection, era };
  }

  /**
   * Called before a message is sent; returns whether the session's chart follows it, because the
   * handshake probes the era. A second probe changes nothing: a failure is still about the refused
   * `initialize`.
   */
  noteSent(method: string): boolean {
    const place = order.indexOf(method);
    if (place < order.indexOf(this.#sent)) return false;
    this.#sent = method;
    if (!this.#asksEra) return false;
    // Nothing can exit on the probe of an address, so only the answer to it matters.
    if (method === methods.discover.name) return this.#resolved?.type === 'stdio';
    return method === methods.initialize.name;
  }

  /**
   * Returns the sentence that follows a refusal: why there is no valid token, which is known here
   * alone. Empty for other failures.
   */
  reasonFor({ kind }: Pick<Failure, 'kind'>): string {
    const reason = kind === 'authRequired' ? this.#authenticator?.failure?.() : undefined;
    return reason === undefined ? '' : ` ${reason}`;
  }

  /** Resolves when nothing of the connection is left; when draining, resolves at once. */
  async close(how: Ending): Promise<SessionEvidence> {
    const connection = this.#connection;
    if (how === 'draining') {
      // The connection closes by itself once the requests in flight have settled.
      this.#connection = undefined;
      connection?.drain?.();
    } else {
      await connection?.close(how === 'lost');
      this.#connection = undefined;
    }
    const isWaitingForValues = this.values.isFinding;
    return { ...(isWaitingForValues && { isWaitingForValues }), ...connection?.evidence() };
  }

  /** Releases the connection at once, by force. */
  dispose(): void {
    this.#connection?.dispose();
    this.#connection = undefined;
  }

  /** Whether the address refused the way servers of the SSE transport do. */
  mayBeOverSse(seen: Seen): boolean {
    const spec = this.values.target?.spec;
    return spec !== undefined && mayBeOverSse(this.#resolved?.type ?? 'stdio', spec, seen);
  }

  /**
   * Handles a refusal in an era that was assumed and that no response has proved. An older or newer
   * version may have replaced the server since its era was determined, so the next start probes it
   * again, and a refusal of the wrong handshake is not final.
   */
  doubted(failure: Failure): Failure {
    if (this.#era.prior === undefined || failuresInEveryEra.has(failure.kind)) return failure;
    forgetEra(this.#id.generation, this.#ports);
    return { ...failure, kind: 'protocol' };
  }

  #process(launch: StdioLaunch, { spec: { era } }: SessionTarget) {
    const { lease } = this.#ports;
    const { questions } = this.#setup;
    const { server } = this.#id;
    if (lease === undefined) return new StdioTransport(launch, this.#connectionSetup(true));
    return lease({ server, launch, era, questions, connection: this.#connectionSetup() });
  }

  /** Whether the era is unknown, so that the server is probed. */
  get #asksEra(): boolean {
    return this.#era.negotiation.mode === 'auto' && this.#era.prior === undefined;
  }

  async #approved(
    launch: StdioLaunch,
    { spec, executable, within, folder }: SessionTarget,
  ): Promise<StdioLaunch> {
    if (spec.type !== 'stdio') return launch;
    try {
      if (folder !== undefined) await assertFolderFiles(spec, this.#ports.env, folder);
      if (executable === undefined) return launch;
      return await launchAsApproved(launch, spec, executable, within);
    } catch (error) {
      await assertFolder(launch.cwd);
      this.#ports.onExecutableMoved?.();
      throw error;
    }
  }

  /** Creates the connection, unless its process is already running. */
  async #carry(resolved: Resolved, signal: AbortSignal): Promise<void> {
    if (resolved.type === 'stdio') return;
    const connection = this.#connectionSetup();
    if (resolved.type === 'memory') {
      const server = this.#ports.embedded?.get(resolved.server);
      if (server === undefined)
        throw new SettingError(`The host has provided no server named "${resolved.server}".`);
      this.#connection = new MemoryTransport(server, connection);
      return;
    }
    const remote = await loadRemote();
    const setup = { id: this.#id, ports: this.#ports, values: this.values };
    const made = await remote.connectRemote(resolved, { ...setup, connection }, signal);
    this.#authenticator = made.authenticator;
    signal.throwIfAborted();
    this.#connection = made.connection;
  }

  #connectionSetup(isKept = false): ConnectionSetup {
    const kept = isKept ? this.#ports.processes?.expect(this.#id.server) : undefined;
    return {
      clock: this.#ports.clock,
      secrets: this.values.secrets,
      events: this.#setup.events,
      policy: () => this.values.policy(),
      ...(kept !== undefined && { kept }),
    };
  }
}

async function loadRemote(): Promise<typeof sessionRemote> {
  try {
    return await import('./remote.ts');
  } catch (cause) {
    const message = 'The client for HTTP could not be loaded; install this package again';
    throw new Error(message, { cause });
  }
}

let lastLaunch = Promise.resolve();

/**
 * Resolves in a turn of the event loop in which no other process starts. A start blocks for several
 * milliseconds on a busy machine; between two of them, timers fire and servers are heard.
 */
function turnToLaunch(): Promise<void> {
  lastLaunch = lastLaunch.then(() => nextTurn());
  return lastLaunch;
}
