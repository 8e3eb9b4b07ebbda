/**
 * How a session comes about: from the settings of a server to a client that has shaken
 * hands, over whatever carries it, in the era that the server speaks.
 */

import type { Client } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { EmbeddedServer } from '../../src/domain/host/embedded.ts';
import type { SessionInput } from '../../src/domain/session.ts';
import type { SessionPhase } from '../../src/policies/failures/classify.ts';
import type { StdioLaunch } from '../processes/system.ts';
import type {
  Connection,
  ConnectionEvents,
  ConnectionSetup,
} from '../transports/connection/connection.ts';
import { describeError } from '../transports/connection/failure.ts';
import type { Liveness } from '../transports/http/liveness.ts';
import { MemoryTransport } from '../transports/memory.ts';
import { StdioTransport } from '../transports/stdio/transport.ts';
import { nameNotApproved } from '../values/env-file.ts';
import { launchAsApproved } from '../values/executable-path.ts';
import { needsFinding } from '../values/source.ts';
import {
  assertFolder,
  explainSpawn,
  type Resolved,
  resolveSpec,
  SettingError,
  type SpecValues,
} from '../values/target.ts';
import { type AskableThings, capabilitiesFor } from './calls/question.ts';
// A type only: what speaks MCP is loaded late, which the file itself explains.
import type * as speech from './client.ts';
import { chooseEra, type EraChoice, oldHandshake, saysNothingOfEra } from './era.ts';
import type { SessionPorts, SessionTarget } from './ports.ts';
import type * as sessionRemote from './remote.ts';
import { isOverSse, mayBeOverSse, sseEra } from './sse-fallback.ts';

type Speech = typeof speech;
/** What a session needs of late: what speaks MCP, and what reaches remote servers. */
type Loaded = readonly [Speech, typeof sessionRemote | undefined];
/** Loads what speaks MCP. */
export type LoadSpeech = () => Promise<Speech>;

export interface OpeningSetup {
  readonly input: SessionInput;
  readonly ports: SessionPorts;
  readonly load: LoadSpeech;
  /** False as soon as the session was told to end. */
  readonly isWanted: () => boolean;
  readonly events: Omit<ConnectionEvents, 'sending'>;
  /** What to announce that can be asked of us; absent = nothing. */
  readonly questions: AskableThings | undefined;
  readonly onNews: (news: speech.News) => void;
  /** The handshake is over. Not called when the session was told to end before. */
  readonly onOpened: (client: Client, connection: Connection, era: 'legacy' | 'modern') => void;
  /** An open connection turned out to be lost. */
  readonly onLost: (error: unknown) => void;
}

export class Opening {
  readonly #setup: OpeningSetup;
  readonly #input: SessionInput;
  readonly #ports: SessionPorts;
  /** Values that must not appear in anything that leaves the session. */
  secrets: readonly string[] = [];
  /** The one there is by now; whoever gives the opening up closes it. */
  connection: Connection | undefined;
  liveness: Liveness | undefined;
  /** It waits for what its settings refer to, perhaps for a person. */
  isFinding = false;
  phase: SessionPhase = 'connect';
  /** What the server was asked last while it opened. */
  asked = 'server/discover';
  #isProbing = false;
  /** What was known of the era was taken at its word, and no answer has proved it yet. */
  #isVerdictUnproven = false;
  /** A server that leaves when it is asked for its era is started once more. */
  #mayReopen = false;
  /** The era was not asked for: an earlier session had found it out. */
  #isEraGiven = false;

  constructor(setup: OpeningSetup) {
    this.#setup = setup;
    this.#input = setup.input;
    this.#ports = setup.ports;
  }

  /** Its process left while it was asked for its era, and is about to be started again. */
  get isToReopen(): boolean {
    return this.#isProbing && this.#mayReopen && this.#setup.isWanted();
  }

  /** Resolves when the session has opened, or was told to end meanwhile. */
  async open(target: SessionTarget): Promise<void> {
    const values = await this.#find(target);
    if (!this.#setup.isWanted()) return;
    const resolved = this.#resolve(target, values);
    this.secrets = resolved.secrets;
    const setup = this.#connectionSetup(target);
    // First of all, so that the process boots while the SDK is loaded.
    if (resolved.type === 'stdio') await this.#launch(resolved.launch, setup, target);
    if (!this.#setup.isWanted()) return;
    const loaded = await this.#loadSpeech(resolved.type);
    // Closed meanwhile: whoever closed it takes care of what is left.
    if (!this.#setup.isWanted()) return;
    const era =
      resolved.type === 'sse'
        ? sseEra
        : chooseEra(target.spec, this.#input.generation, this.#ports);
    try {
      await this.#connect(loaded, resolved, setup, target, era);
    } catch (error) {
      if (!this.#setup.isWanted()) throw error;
      if (resolved.type !== 'stdio') {
        await this.#connectOverSse(error, loaded, resolved, target);
        return;
      }
      // Whoever answers the question for its era has said its last word on it.
      const isAnswer = describeError(error, this.secrets).rpcCode !== undefined;
      if (!this.#isProbing || !this.#mayReopen || isAnswer) throw error;
      await this.#reopen(loaded, resolved, target, era);
    }
  }

  /** Remembers the era that was found. */
  #succeeded(client: Client, { spec }: SessionTarget): 'legacy' | 'modern' {
    const { generation } = this.#input;
    const era = client.getProtocolEra() ?? 'legacy';
    this.phase = 'ready';
    // The old handshake was answered; a verdict "modern" has asked the server nothing yet.
    if (era === 'legacy') this.#isVerdictUnproven = false;
    this.#ports.leftWhenAsked?.delete(generation);
    // What was taken from the store is not found out anew: its date stays.
    if (spec.era === 'auto' && !this.#isEraGiven) {
      const discover = client.getDiscoverResult();
      const isModern = era === 'modern' && discover !== undefined;
      this.#ports.eras.set(
        generation,
        isModern ? { kind: 'modern', discover } : { kind: 'legacy' },
      );
    }
    return era;
  }

  /** The server answered in the era that it was taken for. */
  proved(): void {
    this.#isVerdictUnproven = false;
  }

  /**
   * Perhaps the server was replaced by an older or newer one since its era was found out. It is
   * asked at the next start, so what it said to the wrong question is not final.
   */
  doubted(failure: Failure): Failure {
    if (!this.#isVerdictUnproven || saysNothingOfEra.has(failure.kind)) return failure;
    const { generation } = this.#input;
    this.#ports.eras.forget(generation);
    this.#ports.leftWhenAsked?.delete(generation);
    return { ...failure, kind: 'protocol' };
  }

  /** Who ends the session meanwhile does not wait for it. */
  async #find({ spec, envFileNames }: SessionTarget): Promise<SpecValues | undefined> {
    const { values } = this.#ports;
    if (values === undefined || !needsFinding(spec)) return undefined;
    this.isFinding = true;
    const isBound = envFileNames !== undefined && spec.values?.envFile !== undefined;
    try {
      const found = await values.find(spec, this.#input.server);
      this.isFinding = false;
      const foreign = isBound ? nameNotApproved(found.fileEnv, envFileNames) : undefined;
      if (foreign === undefined) return found;
      throw new SettingError(`The variables file ${foreign}; the server was not started.`);
    } catch (error) {
      // Read again, the file may need another approval.
      if (isBound) this.#ports.onExecutableMoved?.();
      throw error;
    }
  }

  #resolve({ spec, policy }: SessionTarget, values: SpecValues | undefined): Resolved {
    const onMissing = (variable: string, key: string): void =>
      this.#setup.events.remark(
        `the variable ${variable}, which "${key}" refers to, is not set; the reference stays as it is`,
      );
    const resolved = resolveSpec(spec, this.#ports.env, {
      ...(values !== undefined && { values }),
      onMissing: policy.connect.missingVariable === 'keep' ? onMissing : undefined,
    });
    const isKnown = isOverSse(spec, this.#input.generation, this.#ports.overSse);
    return isKnown && 'endpoint' in resolved ? { ...resolved, type: 'sse' } : resolved;
  }

  /**
   * Some servers leave when they are asked anything before the handshake: they are
   * started once more, with the old handshake. That is no crash and no second attempt.
   */
  async #reopen(
    loaded: Loaded,
    resolved: Extract<Resolved, { type: 'stdio' }>,
    target: SessionTarget,
    era: EraChoice,
  ): Promise<void> {
    this.#isProbing = false;
    this.#mayReopen = false;
    this.#ports.leftWhenAsked?.add(this.#input.generation);
    this.#setup.events.remark(
      'left when it was asked for its protocol era; it is started with the old handshake',
    );
    await this.connection?.close(true);
    if (!this.#setup.isWanted()) return;
    const setup = this.#connectionSetup(target);
    await this.#launch(resolved.launch, setup, target);
    if (!this.#setup.isWanted()) return;
    await this.#connect(loaded, resolved, setup, target, { ...era, prior: oldHandshake });
  }

  async #launch(
    written: StdioLaunch,
    setup: ConnectionSetup,
    target: SessionTarget,
  ): Promise<void> {
    await assertFolder(written.cwd);
    const launch = await this.#approved(written, target);
    if (!this.#setup.isWanted()) return;
    const connection = new StdioTransport(launch, setup);
    this.connection = connection;
    try {
      await connection.launch();
    } catch (error) {
      if (error instanceof SettingError) this.#ports.onExecutableMoved?.();
      throw explainSpawn(error, written);
    }
  }

  async #approved(
    launch: StdioLaunch,
    { spec, executable, within }: SessionTarget,
  ): Promise<StdioLaunch> {
    if (spec.type !== 'stdio' || executable === undefined) return launch;
    try {
      return await launchAsApproved(launch, spec, executable, within);
    } catch (error) {
      this.#ports.onExecutableMoved?.();
      throw error;
    }
  }

  async #loadSpeech(type: Resolved['type']): Promise<Loaded> {
    try {
      return await Promise.all([
        this.#setup.load(),
        type === 'stdio' || type === 'memory' ? undefined : import('./remote.ts'),
      ]);
    } catch (cause) {
      throw new Error('The client for MCP could not be loaded; install this package again', {
        cause,
      });
    }
  }

  async #connect(
    [{ createClient }, remote]: Loaded,
    resolved: Resolved,
    setup: ConnectionSetup,
    target: SessionTarget,
    { negotiation, prior }: EraChoice,
  ): Promise<void> {
    this.#mayReopen = target.spec.era === 'auto' && prior === undefined;
    this.#isVerdictUnproven = prior !== undefined;
    this.#isEraGiven =
      prior !== undefined && prior === this.#ports.eras.get(this.#input.generation);
    const { questions } = this.#setup;
    const capabilities = questions && capabilitiesFor(questions);
    const client = createClient(negotiation, this.#setup.onNews, capabilities);
    if (resolved.type === 'memory') {
      this.connection = new MemoryTransport(this.#embedded(resolved.server), setup);
    } else if (resolved.type !== 'stdio' && remote !== undefined) {
      const { type, endpoint } = resolved;
      const { onLost } = this.#setup;
      const made = await remote.connectRemote(type, endpoint, setup, client, onLost);
      // Closed while the transport was loaded: nothing was opened.
      if (!this.#setup.isWanted()) return;
      this.liveness = made.liveness;
      this.connection = made.connection;
    }
    const connection = this.connection as Connection;
    const options = { timeout: longestTimerMs, ...(prior !== undefined && { prior }) };
    await client.connect(connection.transport, options);
    if (!this.#setup.isWanted()) return;
    this.#setup.onOpened(client, connection, this.#succeeded(client, target));
  }

  /** An address that refused today's protocol is asked once for that of 2024. */
  async #connectOverSse(
    refusal: unknown,
    loaded: Loaded,
    resolved: Resolved,
    target: SessionTarget,
  ): Promise<void> {
    const { generation } = this.#input;
    const { overSse } = this.#ports;
    overSse?.delete(generation);
    const seen = describeError(refusal, this.secrets);
    if (!('endpoint' in resolved) || !mayBeOverSse(resolved.type, target.spec, seen)) throw refusal;
    await this.connection?.close(true);
    if (!this.#setup.isWanted()) return;
    this.phase = 'connect';
    const older = { ...resolved, type: 'sse' } as const;
    // Told before `session.opened`, so that the status is right from the first.
    overSse?.add(generation);
    try {
      await this.#connect(loaded, older, this.#connectionSetup(target), target, sseEra);
    } catch {
      overSse?.delete(generation);
      // What the address said to the protocol of today tells more than its silence to that of then.
      throw refusal;
    }
  }

  #embedded(name: string): EmbeddedServer['connect'] {
    const server = this.#ports.embedded?.get(name);
    if (server === undefined)
      throw new SettingError(`The host has handed in no server named "${name}".`);
    return () => server.connect();
  }

  #connectionSetup(target: SessionTarget): ConnectionSetup {
    const kept = this.#ports.processes?.expect(this.#input.server);
    return {
      clock: this.#ports.clock,
      secrets: this.secrets,
      events: { ...this.#setup.events, sending: (method) => this.#trackPhase(method) },
      // Of the settings, as they are then.
      policy: () => (this.#ports.specOf(this.#input) ?? target).policy,
      ...(kept !== undefined && { kept }),
    };
  }

  #trackPhase(method: string): void {
    if (this.phase === 'ready') return;
    this.#isProbing = method === 'server/discover';
    if (!method.startsWith('notifications/')) this.asked = method;
    if (method === 'initialize') this.phase = 'initialize';
    if (method === 'notifications/initialized') this.phase = 'initialized';
  }
}
