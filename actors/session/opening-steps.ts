/**
 * The steps that open a session's connection (resolve its settings, launch its process, connect its
 * client) and the step that closes it. The session chart decides which step is next.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Authenticator } from '../../src/domain/authorization.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { HeadersReason } from '../../src/domain/host/headers.ts';
import type { ServerPolicy } from '../../src/domain/policy.ts';
import type {
  EraVerdict,
  ResolveOutcome,
  SessionEvidence,
  SessionId,
} from '../../src/domain/session.ts';
import type { SessionPhase } from '../../src/policies/failures/classify.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { type Client, createClient, type News } from '../../src/protocol/mcp-client.ts';
import { methodNamed, methods } from '../../src/protocol/methods.ts';
import type { StdioLaunch } from '../processes/system.ts';
import type {
  Connection,
  ConnectionEvents,
  ConnectionSetup,
  Seen,
} from '../transports/connection/connection.ts';
import type { Liveness } from '../transports/http/liveness.ts';
import { MemoryTransport } from '../transports/memory.ts';
import { StdioTransport } from '../transports/stdio/transport.ts';
import { nameNotApproved } from '../values/env-file.ts';
import { launchAsApproved } from '../values/executable-path.ts';
import { assertFolderFiles } from '../values/folder-files.ts';
import { createFreshHeaders } from '../values/fresh-headers.ts';
import { hasHeaderReferences, headersOnly, logInOnly } from '../values/source.ts';
import {
  assertFolder,
  explainSpawn,
  type HttpEndpoint,
  type Resolved,
  resolveSpec,
  SettingError,
  type SpecValues,
} from '../values/target.ts';
import { findValues } from './approved-values.ts';
import { type AskableThings, capabilitiesFor } from './calls/question-reading.ts';
import { chooseEra, type EraChoice, failuresInEveryEra, oldHandshake } from './era.ts';
import { withCurrentHeaders, withReportedTokens } from './header-authenticator.ts';
import type { Ending, Handshake } from './leaf-actors.ts';
import type { SessionPorts, SessionTarget } from './ports.ts';
import type * as sessionRemote from './remote.ts';
import { fallsBackToSse, mayBeOverSse, sseEra } from './sse-fallback.ts';

export interface OpeningEvents extends ConnectionEvents {
  /** Called with each notification. */
  hear(news: News): void;
  /** Called when an open connection turns out to be lost. */
  lost(error: unknown): void;
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

// A server may still show a token that was replaced; after so many, it has expired.
const rememberedFetches = 10;

/** The requests that the session's chart follows while it probes the era. */
const followedIn = {
  process: new Set<string>([methods.discover.name, methods.initialize.name]),
  // Nothing can exit on the probe, so only the answer to it matters.
  address: new Set<string>([methods.initialize.name]),
} satisfies Readonly<Record<string, ReadonlySet<string>>>;
/** The phase of a handshake, judged by the last message sent. */
const phases: Readonly<Record<string, SessionPhase>> = {
  [methods.initialize.name]: 'initialize',
  [methods.initialized.name]: 'initialized',
};

export class Opening {
  readonly #setup: OpeningSetup;
  readonly #id: SessionId;
  readonly #ports: SessionPorts;
  #target: SessionTarget | undefined;
  #resolved: Resolved | undefined;
  #secrets: string[] = [];
  /** The secrets of headers that were fetched again, and of logins. */
  #fetched: readonly (readonly string[])[] = [];
  /** Values being resolved, which may involve asking the user. */
  #finding: Promise<SpecValues> | undefined;
  /** The current connection, until it is closed. */
  #connection: Connection | undefined;
  #liveness: Liveness | undefined;
  #authenticator: Authenticator | undefined;
  /** The last message sent, and the last request sent. */
  #sent = '';
  #asked: string = methods.discover.name;
  /** The requests that the chart follows; none unless the era is probed. */
  #followed: ReadonlySet<string> | undefined;
  /** The assumed era, until a response proves it. */
  #assumed: EraVerdict | undefined;

  constructor(setup: OpeningSetup) {
    this.#setup = setup;
    this.#id = setup.id;
    this.#ports = setup.ports;
  }

  /** The handshake's current phase; an open session is past it. */
  get phase(): SessionPhase {
    return phases[this.#sent] ?? 'connect';
  }

  /** The request that a refusal responds to. */
  get asked(): string {
    return this.#asked;
  }

  /** Values that must not appear in anything that leaves the session. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  /**
   * Reads the policy from the current settings, otherwise from those with which the session opened.
   */
  policy(): ServerPolicy {
    return (this.#ports.specOf(this.#id) ?? this.#target)?.policy ?? defaultPolicy;
  }

  async resolve(target: SessionTarget, signal: AbortSignal): Promise<ResolveOutcome> {
    this.#target = target;
    const values = await this.#find(target);
    signal.throwIfAborted();
    const resolved = this.#resolve(target, values);
    this.#resolved = resolved;
    this.#secrets = [...resolved.secrets];
    const { negotiation, prior } = this.#eraFor(resolved);
    const asksEra = negotiation.mode === 'auto' && prior === undefined;
    const hasProcess = resolved.type === 'stdio';
    if (asksEra) this.#followed = followedIn[hasProcess ? 'process' : 'address'];
    return { type: 'resolved', hasProcess, asksEra };
  }

  /** Starts the process. */
  async launch(isSecond: boolean, signal: AbortSignal): Promise<void> {
    const target = this.#target;
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
    const connection = new StdioTransport(launch, this.#connectionSetup());
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
    const target = this.#target;
    const written = this.#resolved;
    if (target === undefined || written === undefined) throw new Error('nothing was resolved');
    const resolved =
      handshake === 'overSse' && 'endpoint' in written
        ? { ...written, type: 'sse' as const }
        : written;
    const era = this.#eraFor(resolved);
    const prior = handshake === 'old' ? oldHandshake : era.prior;
    this.#sent = '';
    this.#assumed = prior;
    const isRemote = resolved.type !== 'stdio' && resolved.type !== 'memory';
    const remote = isRemote ? await this.#loadRemote() : undefined;
    signal.throwIfAborted();
    const { questions, events } = this.#setup;
    const client = createClient(
      era.negotiation,
      (news) => events.hear(news),
      questions && capabilitiesFor(questions),
    );
    await this.#carry(resolved, client, remote, signal);
    const connection = this.#connection as Connection;
    await client.connect(connection.transport, prior);
    signal.throwIfAborted();
    // Its environment is no longer needed; a new session resolves its own.
    if (resolved.type === 'stdio') this.#resolved = undefined;
    return { client, connection, era: this.#noteEra(client, target, prior) };
  }

  /**
   * Called before a message is sent; returns whether the session's chart follows it, because the
   * handshake probes the era.
   */
  noteSent(method: string): boolean {
    if (this.#sent === methods.initialized.name) return false;
    // A second probe; a failure is still about the refused `initialize`.
    if (method === methods.discover.name && this.#sent === methods.initialize.name) return false;
    this.#sent = method;
    if (methodNamed(method)?.kind === 'notification') return false;
    this.#asked = method;
    return this.#followed?.has(method) === true;
  }

  /**
   * Returns the sentence that follows a refusal: why there is no valid token, which is known here
   * alone. Empty for other failures.
   */
  reasonFor({ kind }: Pick<Failure, 'kind'>): string {
    const reason = kind === 'authRequired' ? this.#authenticator?.failure?.() : undefined;
    return reason === undefined ? '' : ` ${reason}`;
  }

  /** Called when a failed request suggests that the server may be gone. */
  suspect(): void {
    this.#liveness?.suspect();
  }

  /** Stops probing. */
  stop(): void {
    this.#liveness?.stop();
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
    const isWaitingForValues = this.#finding !== undefined;
    return { ...(isWaitingForValues && { isWaitingForValues }), ...connection?.evidence() };
  }

  /** Releases the connection at once, by force. */
  dispose(): void {
    this.#connection?.dispose();
    this.#connection = undefined;
  }

  /** Returns what to try next after a failed handshake. */
  hintsOf(seen: Seen): { readonly hasLeft: boolean; readonly mayBeOverSse: boolean } {
    const target = this.#target;
    const type = this.#resolved?.type ?? 'stdio';
    return {
      // A response to the era probe, even an error, makes a second start unnecessary.
      hasLeft:
        type === 'stdio' && this.#sent === methods.discover.name && seen.rpcCode === undefined,
      mayBeOverSse: target !== undefined && mayBeOverSse(type, target.spec, seen),
    };
  }

  /** Called when the server has responded in the assumed era. */
  proved(): void {
    this.#assumed = undefined;
  }

  /**
   * Handles a refused handshake. An older or newer version may have replaced the server since its
   * era was determined, so the next start probes it again, and a refusal of the wrong handshake is
   * not final.
   */
  doubted(failure: Failure): Failure {
    if (this.#assumed === undefined || failuresInEveryEra.has(failure.kind)) return failure;
    const { generation } = this.#id;
    this.#ports.eras.forget(generation);
    this.#ports.leftWhenAsked?.delete(generation);
    return { ...failure, kind: 'protocol' };
  }

  #eraFor(resolved: Resolved): EraChoice {
    if (resolved.type === 'sse') return sseEra;
    const { spec } = this.#target as SessionTarget;
    return chooseEra(spec, this.#id.generation, this.#ports);
  }

  /** Stores the era that was found. */
  #noteEra(
    client: Client,
    { spec }: SessionTarget,
    prior: EraVerdict | undefined,
  ): 'legacy' | 'modern' {
    const { generation } = this.#id;
    const era = client.getProtocolEra() ?? 'legacy';
    // The server responded to the old handshake; with a stored era of "modern", nothing has been
    // sent to it yet.
    if (era === 'legacy') this.#assumed = undefined;
    this.#ports.leftWhenAsked?.delete(generation);
    // A stored era keeps its date.
    const isStored = prior !== undefined && prior === this.#ports.eras.get(generation);
    if (spec.era === 'auto' && !isStored) {
      const discover = client.getDiscoverResult();
      const isModern = era === 'modern' && discover !== undefined;
      this.#ports.eras.set(
        generation,
        isModern ? { kind: 'modern', discover } : { kind: 'legacy' },
      );
    }
    return era;
  }

  /** Resolves values; a session that ends in the meantime does not wait. */
  async #find(target: SessionTarget): Promise<SpecValues | undefined> {
    const { spec, envFileNames } = target;
    const { values } = this.#ports;
    if (spec.type === 'memory' || values?.isNeededFor(spec) !== true) return undefined;
    const isBound = envFileNames !== undefined && spec.values?.envFile !== undefined;
    try {
      this.#finding = findValues(spec, target, this.#id, this.#ports);
      const found = await this.#finding;
      this.#finding = undefined;
      const foreign = isBound ? nameNotApproved(found.fileEnv, envFileNames) : undefined;
      if (foreign === undefined) return found;
      throw new SettingError(`The variables file ${foreign}; the server was not started.`);
    } catch (error) {
      // The file has changed and may need another approval.
      if (isBound) this.#ports.onExecutableMoved?.();
      throw error;
    }
  }

  #resolve({ spec, policy }: SessionTarget, values: SpecValues | undefined): Resolved {
    const onMissing = (variable: string, key: string): void =>
      this.#setup.events.remark(
        `the variable ${variable}, which "${key}" refers to, is not set; the reference stays as it is`,
      );
    const { env, projectRoot } = this.#ports;
    const resolved = resolveSpec(spec, env, {
      projectRoot,
      ...(values !== undefined && { values }),
      onMissing: policy.connect.missingVariable === 'keep' ? onMissing : undefined,
    });
    const isOverSse =
      fallsBackToSse(spec) && this.#ports.overSse?.has(this.#id.generation) === true;
    return isOverSse && 'endpoint' in resolved ? { ...resolved, type: 'sse' } : resolved;
  }

  /** Returns functions that fetch the headers again; none if no value can change. */
  #freshHeaders({ headers }: HttpEndpoint): Partial<ReturnType<typeof createFreshHeaders>> {
    const { spec, folder } = this.#target as SessionTarget;
    const { values, env, clock } = this.#ports;
    if (spec.type === 'stdio' || spec.type === 'memory') return {};
    const part = headersOnly(spec);
    if (values?.isNeededFor(part) !== true && !hasHeaderReferences(part)) return {};
    const read = async (reason: HeadersReason): Promise<HttpEndpoint['headers']> => {
      const found = await findValues(part, { spec, folder }, { ...this.#id, reason }, this.#ports);
      const again = resolveSpec(part, env, { values: found });
      if (!('endpoint' in again)) return headers;
      this.#addSecrets(again.secrets);
      return again.endpoint.headers;
    };
    return createFreshHeaders(headers, read, {
      clock,
      aheadMs: () => this.policy().auth.refreshAheadMs,
    });
  }

  /** Returns a function that reads the values of the login again; none if no value can change. */
  #freshLogIn(): Pick<HttpEndpoint, 'readOAuth'> {
    const { spec, folder } = this.#target as SessionTarget;
    const { values, env } = this.#ports;
    if (spec.type === 'stdio' || spec.type === 'memory' || !spec.oauth) return {};
    const part = logInOnly(spec);
    if (values?.isNeededFor(part) !== true) return {};
    return {
      readOAuth: async () => {
        const found = await findValues(part, { spec, folder }, this.#id, this.#ports);
        const again = resolveSpec(part, env, { values: found });
        this.#addSecrets(again.secrets);
        return 'endpoint' in again && again.endpoint.oauth ? again.endpoint.oauth : undefined;
      },
    };
  }

  /** Changes the list in place, because transports and running calls hold it. */
  #addSecrets(secrets: readonly string[]): void {
    this.#fetched = [...this.#fetched, secrets].slice(-rememberedFetches);
    const all = new Set([...(this.#resolved?.secrets ?? []), ...this.#fetched.flat()]);
    // The longest first, so that a secret that contains another is removed completely.
    const sorted = [...all].sort((one, other) => other.length - one.length);
    this.#secrets.splice(0, this.#secrets.length, ...sorted);
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

  async #loadRemote(): Promise<typeof sessionRemote> {
    try {
      return await import('./remote.ts');
    } catch (cause) {
      throw new Error('The client for HTTP could not be loaded; install this package again', {
        cause,
      });
    }
  }

  /** Creates the connection, unless its process is already running. */
  async #carry(
    resolved: Resolved,
    client: Client,
    remote: typeof sessionRemote | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (resolved.type === 'stdio') return;
    const setup = this.#connectionSetup();
    if (resolved.type === 'memory') {
      const server = this.#ports.embedded?.get(resolved.server);
      if (server === undefined)
        throw new SettingError(`The host has provided no server named "${resolved.server}".`);
      this.#connection = new MemoryTransport(server, setup);
      return;
    }
    if (remote === undefined) return;
    const { type } = resolved;
    const { events } = this.#setup;
    const endpoint = {
      ...(await remote.openEndpoint(resolved.endpoint, (line) => events.remark(line))),
      ...this.#freshHeaders(resolved.endpoint),
      ...this.#freshLogIn(),
    };
    const logIn = await this.#ports.authenticatorFor?.(this.#id, endpoint);
    signal.throwIfAborted();
    const reported = withReportedTokens(logIn, (secrets) => this.#addSecrets(secrets));
    const authenticator = withCurrentHeaders(endpoint, reported);
    this.#authenticator = authenticator;
    const authorized = authenticator === undefined ? setup : { ...setup, authenticator };
    // The authenticator sends headers that may change.
    const sent = endpoint.currentHeaders === undefined ? endpoint : { ...endpoint, headers: {} };
    const made = await remote.connectRemote(type, sent, authorized, client, (error) =>
      events.lost(error),
    );
    signal.throwIfAborted();
    this.#liveness = made.liveness;
    this.#connection = made.connection;
  }

  #connectionSetup(): ConnectionSetup {
    const kept = this.#ports.processes?.expect(this.#id.server);
    return {
      clock: this.#ports.clock,
      secrets: this.secrets,
      events: this.#setup.events,
      policy: () => this.policy(),
      ...(kept !== undefined && { kept }),
    };
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
