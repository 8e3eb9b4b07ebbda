/** The life of one session: idle, opening, open, closing, over. */

import type { Client } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../src/domain/clock.ts';
import type { EmbeddedServer } from '../src/domain/embedded.ts';
import type { Failure } from '../src/domain/failure.ts';
import type { ClassifyRule, ServerPolicy } from '../src/domain/policy.ts';
import type { LogStream } from '../src/domain/server-log.ts';
import type { SessionEvidence, SessionFact, SessionInput } from '../src/domain/session.ts';
import {
  asLoss,
  classifyFailure,
  endsSession,
  type SessionPhase,
} from '../src/policies/classify-failure.ts';
import { printableLine } from '../src/policies/printable.ts';
import type { Liveness } from './http-liveness.ts';
import { MemoryTransport } from './memory-transport.ts';
import { createHandle } from './session-call.ts';
import { SessionCatalog } from './session-catalog.ts';
// A type only: what speaks MCP is loaded late, which the file itself explains.
import type * as speech from './session-client.ts';
import type { Connection, ConnectionSetup, Seen } from './session-connection.ts';
import { endOf, lastWordsOf } from './session-ending.ts';
import { chooseEra, type EraChoice, oldHandshake, saysNothingOfEra } from './session-era.ts';
import { describeError } from './session-failure.ts';
import type { SessionPorts, SessionTarget } from './session-ports.ts';
import { createProbe, type Probe, type ProbeAnswer } from './session-probe.ts';
import type * as sessionRemote from './session-remote.ts';
import {
  assertFolder,
  explainSpawn,
  type Resolved,
  resolveSpec,
  SettingError,
} from './session-target.ts';
import { isOverSse, mayBeOverSse, sseEra } from './sse-fallback.ts';
import { type StdioLaunch, StdioTransport } from './stdio-transport.ts';

const remarkCharacters = 2_000;
// As long as the message of a failure may be.
const messageCharacters = 500;

type Speech = typeof speech;
/** What a session needs of late: what speaks MCP, and what reaches remote servers. */
type Loaded = readonly [Speech, typeof sessionRemote | undefined];
/** Loads what speaks MCP. */
export type LoadSpeech = () => Promise<Speech>;

type Body<Fact> = Fact extends SessionFact ? Omit<Fact, 'session' | 'at'> : never;

export class Session {
  readonly #input: SessionInput;
  readonly #ports: SessionPorts;
  readonly #load: LoadSpeech;
  readonly #sendBack: (fact: SessionFact) => void;
  #state: 'idle' | 'opening' | 'open' | 'closing' | 'over' = 'idle';
  #phase: SessionPhase = 'connect';
  #isProbing = false;
  /** What the server was asked last while it opened. */
  #asked = 'server/discover';
  /** Its connection ends by itself, within a moment; what is in flight is still answered. */
  #isDraining = false;
  /** It was open until it was told to end: what it had in flight did not fail by itself. */
  #wasClosed = false;
  /** What was known of the era was taken at its word, and no answer has proved it yet. */
  #isVerdictUnproven = false;
  /** A server that leaves when it is asked for its era is started once more. */
  #mayReopen = false;
  /** The era was not asked for: an earlier session had found it out. */
  #isEraGiven = false;
  #secrets: readonly string[] = [];
  #connection: Connection | undefined;
  #policy: (() => ServerPolicy) | undefined;
  #liveness: Liveness | undefined;
  #probe: Probe | undefined;
  #catalog: SessionCatalog | undefined;

  constructor(
    input: SessionInput,
    ports: SessionPorts,
    load: LoadSpeech,
    sendBack: (fact: SessionFact) => void,
  ) {
    this.#input = input;
    this.#ports = ports;
    this.#load = load;
    this.#sendBack = sendBack;
  }

  /** Fetches the tools; a wish during a list causes one more list after it. */
  list(): void {
    this.#catalog?.list();
  }

  /** Asks the server whether it is alive. */
  probe(): void {
    this.#probe?.ask();
  }

  open(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'opening';
    this.#open().catch((error: unknown) => this.#finish(this.#failureToOpen(error)));
  }

  close(): void {
    this.#wasClosed ||= this.#state === 'open';
    this.#finish();
  }

  dispose(): void {
    if (this.#state === 'over') return;
    this.#withdraw();
    this.#wasClosed ||= this.#state === 'open';
    this.#state = 'over';
    if (!this.#isDraining) this.#connection?.dispose();
  }

  async #open(): Promise<void> {
    const target = this.#ports.specOf(this.#input);
    if (target === undefined) {
      this.#finish({ kind: 'notStarted', message: 'The settings of this server are gone.' });
      return;
    }
    const resolved = this.#resolve(target);
    this.#secrets = resolved.secrets;
    const setup = this.#setupOf(target);
    // First of all, so that the process boots while the SDK is loaded.
    if (resolved.type === 'stdio') await this.#launch(resolved.launch, setup);
    if (!this.#isOpening()) return;
    const loaded = await this.#loadSpeech(resolved.type);
    // Closed meanwhile: whoever closed it takes care of what is left.
    if (!this.#isOpening()) return;
    const era =
      resolved.type === 'sse'
        ? sseEra
        : chooseEra(target.spec, this.#input.generation, this.#ports);
    try {
      await this.#connect(loaded, resolved, setup, target, era);
    } catch (error) {
      if (!this.#isOpening()) throw error;
      if (resolved.type !== 'stdio') {
        await this.#connectOverSse(error, loaded, resolved, target);
        return;
      }
      // Whoever answers the question for its era has said its last word on it.
      const isAnswer = describeError(error, this.#secrets).rpcCode !== undefined;
      if (!this.#isProbing || !this.#mayReopen || isAnswer) throw error;
      await this.#reopen(loaded, resolved, target, era);
    }
  }

  #resolve({ spec }: SessionTarget): Resolved {
    const resolved = resolveSpec(spec, this.#ports.env);
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
    this.#remark(
      'left when it was asked for its protocol era; it is started with the old handshake',
    );
    await this.#connection?.close(true);
    if (!this.#isOpening()) return;
    const setup = this.#setupOf(target);
    await this.#launch(resolved.launch, setup);
    if (!this.#isOpening()) return;
    await this.#connect(loaded, resolved, setup, target, { ...era, prior: oldHandshake });
  }

  async #launch(launch: StdioLaunch, setup: ConnectionSetup): Promise<void> {
    await assertFolder(launch.cwd);
    if (!this.#isOpening()) return;
    const connection = new StdioTransport(launch, setup);
    this.#connection = connection;
    try {
      await connection.launch();
    } catch (error) {
      throw explainSpawn(error, launch);
    }
  }

  async #loadSpeech(type: Resolved['type']): Promise<Loaded> {
    try {
      return await Promise.all([
        this.#load(),
        type === 'stdio' || type === 'memory' ? undefined : import('./session-remote.ts'),
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
    const client = createClient(negotiation, (news) => this.#hear(news));
    if (resolved.type === 'memory') {
      this.#connection = new MemoryTransport(this.#embedded(resolved.server), setup);
    } else if (resolved.type !== 'stdio' && remote !== undefined) {
      const { type, endpoint } = resolved;
      const onLost = (error: unknown): void => this.#lose(error);
      const made = await remote.connectRemote(type, endpoint, setup, client, onLost);
      // Closed while the transport was loaded: nothing was opened.
      if (!this.#isOpening()) return;
      this.#liveness = made.liveness;
      this.#connection = made.connection;
    }
    const connection = this.#connection as Connection;
    const options = { timeout: longestTimerMs, ...(prior !== undefined && { prior }) };
    await client.connect(connection.transport, options);
    if (this.#isOpening()) this.#opened(client, connection, target);
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
    const seen = describeError(refusal, this.#secrets);
    if (!('endpoint' in resolved) || !mayBeOverSse(resolved.type, target.spec, seen)) throw refusal;
    await this.#connection?.close(true);
    if (!this.#isOpening()) return;
    this.#phase = 'connect';
    const older = { ...resolved, type: 'sse' } as const;
    // Told before `session.opened`, so that the status is right from the first.
    overSse?.add(generation);
    try {
      await this.#connect(loaded, older, this.#setupOf(target), target, sseEra);
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

  #setupOf(target: SessionTarget): ConnectionSetup {
    const policy = () => (this.#ports.specOf(this.#input) ?? target).policy;
    this.#policy = policy;
    const kept = this.#ports.processes?.expect(this.#input.server, this.#input.actorId);
    return {
      clock: this.#ports.clock,
      secrets: this.#secrets,
      events: {
        remark: (line, stream) => this.#remark(line, stream),
        ended: (seen) => this.#ended(seen),
        sending: (method) => this.#trackPhase(method),
      },
      policy,
      ...(kept !== undefined && { kept }),
    };
  }

  #opened(client: Client, connection: Connection, target: SessionTarget): void {
    const { actorId, generation, session } = this.#input;
    const era = client.getProtocolEra() ?? 'legacy';
    const discover = client.getDiscoverResult();
    this.#phase = 'ready';
    this.#state = 'open';
    // The old handshake was answered; a verdict "modern" has asked the server nothing yet.
    if (era === 'legacy') this.#isVerdictUnproven = false;
    this.#ports.leftWhenAsked?.delete(generation);
    // What was taken from the store is not found out anew: its date stays.
    if (target.spec.era === 'auto' && !this.#isEraGiven) {
      const isModern = era === 'modern' && discover !== undefined;
      this.#ports.eras.set(
        generation,
        isModern ? { kind: 'modern', discover } : { kind: 'legacy' },
      );
    }
    const catalog = this.#createCatalog(client, target);
    this.#catalog = catalog;
    const handle = createHandle({
      server: this.#input.server,
      session,
      clock: this.#ports.clock,
      client,
      connection,
      secrets: this.#secrets,
      isOpen: () => this.#state === 'open',
      wasClosed: () => this.#wasClosed,
      toolNamed: (name) => catalog.toolNamed(name),
      lookAtWatched: () => catalog.lookAtWatched(),
      rules: () => this.#rules(),
      onTrouble: (failure, seen) => this.#reconsider(failure, seen),
    });
    this.#probe = createProbe(client, (answer, error) => this.#onProbed(answer, error));
    this.#ports.registry.opened(actorId, handle);
    const { pid } = connection;
    this.#send({ type: 'session.opened', era, ...(pid !== undefined && { pid }) });
    catalog.start();
  }

  #createCatalog(client: Client, target: SessionTarget): SessionCatalog {
    return new SessionCatalog({
      input: this.#input,
      ports: this.#ports,
      client,
      secrets: this.#secrets,
      isOpen: () => this.#isOpen(),
      listTimeoutMs: () => (this.#policy?.() ?? target.policy).connect.listTimeoutMs,
      send: (fact) => this.#send(fact),
      remark: (line) => this.#remark(line),
      describe: (error, asked) => {
        const { rpcCode } = describeError(error, this.#secrets);
        const failure = this.#failureOf(error, asked);
        return { failure, ...(rpcCode !== undefined && { rpcCode }) };
      },
      onListed: () => {
        this.#isVerdictUnproven = false;
      },
      onListFailed: (error, failure) => this.#onListFailed(error, failure),
    });
  }

  #onListFailed(error: unknown, failure: Failure): void {
    this.#send({ type: 'session.listFailed', failure: this.#doubted(failure) });
    this.#reconsider(failure, describeError(error, this.#secrets));
  }

  #failureToOpen(error: unknown): Failure {
    const failure = this.#failureOf(error, this.#asked);
    const { status, rpcCode } = describeError(error, this.#secrets);
    const isRefusal = status !== undefined || rpcCode !== undefined;
    return isRefusal ? this.#doubted(failure) : failure;
  }

  /**
   * Perhaps the server was replaced by an older or newer one since its era was found out. It is
   * asked at the next start, so what it said to the wrong question is not final.
   */
  #doubted(failure: Failure): Failure {
    if (!this.#isVerdictUnproven || saysNothingOfEra.has(failure.kind)) return failure;
    const { generation } = this.#input;
    this.#ports.eras.forget(generation);
    this.#ports.leftWhenAsked?.delete(generation);
    return { ...failure, kind: 'protocol' };
  }

  #hear(news: speech.News): void {
    if (news.about === 'resource') this.#catalog?.updated(news.uri);
    else this.#catalog?.listChanged(news.about);
  }

  #onProbed(answer: ProbeAnswer, error?: unknown): void {
    if (answer !== 'none') return this.#send({ type: 'session.probed', answer });
    const failure = this.#failureOf(error);
    this.#send({ type: 'session.probed', answer, failure });
    this.#reconsider(failure, describeError(error, this.#secrets));
  }

  /** A request failed in a way that may concern the whole session. */
  #reconsider(failure: Failure, seen: Seen): void {
    if (this.#state !== 'open') return;
    const described = { ...seen, phase: this.#phase };
    if (endsSession(failure, described, this.#rules())) this.#finish(failure);
    else if (failure.kind === 'transport' || failure.kind === 'unavailable')
      this.#liveness?.suspect();
  }

  #rules(): readonly ClassifyRule[] {
    return this.#ports.specOf(this.#input)?.policy.classify.rules ?? [];
  }

  #trackPhase(method: string): void {
    if (this.#state !== 'opening') return;
    this.#isProbing = method === 'server/discover';
    if (!method.startsWith('notifications/')) this.#asked = method;
    if (method === 'initialize') this.#phase = 'initialize';
    if (method === 'notifications/initialized') this.#phase = 'initialized';
  }

  #ended(seen: Seen): void {
    // The handshake under way fails of it, and `open` knows what to do.
    if (this.#isProbing && this.#isOpening() && this.#mayReopen) return;
    const failure = classifyFailure({ ...seen, phase: this.#phase }, this.#rules());
    const message = this.#endInWords(failure, seen);
    this.#finish({ ...failure, message: printableLine(message, messageCharacters) });
  }

  #endInWords({ kind }: Failure, seen: Seen): string {
    if (kind !== 'cleanExit')
      return endOf(seen) === undefined ? seen.message : `${seen.message}${lastWordsOf(seen)}`;
    const message = 'The server ended by itself with exit code 0';
    if (this.#policy?.().restart.on === 'always') return `${message}.`;
    return `${message}; it is not restarted after a clean exit unless "restart": "always".`;
  }

  /** The server no longer answers: however that shows, an open connection was lost. */
  #lose(error: unknown): void {
    const seen = { ...describeError(error, this.#secrets), phase: this.#phase };
    this.#finish(asLoss(this.#failureOf(error), seen, this.#rules()));
  }

  #finish(failure?: Failure): void {
    if (this.#state === 'closing' || this.#state === 'over') return;
    this.#withdraw();
    this.#state = 'closing';
    void (async () => {
      const connection = this.#connection;
      const isForgotten = failure?.kind === 'sessionMissing' && connection?.drain !== undefined;
      if (isForgotten) connection.drain?.();
      else await connection?.close(failure !== undefined);
      this.#isDraining = isForgotten;
      this.#send({ type: 'session.closed', ...this.#endingOf(failure) });
      this.#state = 'over';
    })();
  }

  /** A session that had to be closed may know why: the deadline that closed it does not. */
  #endingOf(failure?: Failure): { failure?: Failure; evidence?: SessionEvidence } {
    if (failure !== undefined) return { failure };
    const evidence = this.#connection?.evidence() ?? {};
    return Object.keys(evidence).length > 0 ? { evidence } : {};
  }

  /** Stops all that would act by itself; calls from now on are not sent. */
  #withdraw(): void {
    this.#catalog?.stop();
    this.#liveness?.stop();
    this.#probe?.stop();
    const { actorId, session } = this.#input;
    if (this.#state === 'open') this.#ports.registry.closed(actorId, session);
  }

  #failureOf(error: unknown, asked?: string): Failure {
    const seen = describeError(error, this.#secrets);
    const context = this.#connection?.context(seen.status);
    // The words of a server stand beside ours in the status: it must be plain whose they are.
    const isRefusal = asked !== undefined && seen.rpcCode !== undefined;
    const message = isRefusal ? `The server refused ${asked}: ${seen.message}` : seen.message;
    return classifyFailure({ ...seen, ...context, message, phase: this.#phase }, this.#rules());
  }

  #send(fact: Body<SessionFact>): void {
    if (this.#state === 'over') return;
    const stamp = { session: this.#input.session, at: this.#ports.clock.now() };
    this.#sendBack({ ...fact, ...stamp } as SessionFact);
  }

  #remark(line: string, stream: LogStream = 'troupe'): void {
    const { server, session } = this.#input;
    this.#ports.log(server, printableLine(line, remarkCharacters), { session, stream });
  }

  // After an `await` the state may have changed, which the type checker does not see.
  #isOpening(): boolean {
    return this.#state === 'opening';
  }

  #isOpen(): boolean {
    return this.#state === 'open';
  }
}
