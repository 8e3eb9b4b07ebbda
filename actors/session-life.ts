/** The life of one session: idle, opening, open, closing, over. */

import type { Client } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../src/domain/clock.ts';
import type { Failure } from '../src/domain/failure.ts';
import type { ServerPolicy } from '../src/domain/policy.ts';
import type { LogStream } from '../src/domain/server-log.ts';
import type { SessionEvidence, SessionFact, SessionInput } from '../src/domain/session.ts';
import type { ListedTool } from '../src/domain/tool.ts';
import { classifyFailure, type SessionPhase } from '../src/policies/classify-failure.ts';
import { printableLine, printableText } from '../src/policies/printable.ts';
import type { Liveness } from './http-liveness.ts';
import { createHandle } from './session-call.ts';
// A type only: what speaks MCP is loaded late, which the file itself explains.
import type * as speech from './session-client.ts';
import type { Connection, ConnectionSetup, Seen } from './session-connection.ts';
import { endOf, lastWordsOf } from './session-ending.ts';
import { chooseEra, type EraMemory, remember } from './session-era.ts';
import { describeError } from './session-failure.ts';
import { createCoalescer, listTools, type ToolList } from './session-list.ts';
import { createListening, type Listening } from './session-listening.ts';
import type { SessionPorts, SessionTarget } from './session-ports.ts';
import { createProbe, type Probe, type ProbeAnswer } from './session-probe.ts';
import type * as sessionRemote from './session-remote.ts';
import { assertFolder, explainSpawn, type Resolved, resolveSpec } from './session-target.ts';
import { createThrottle, type Throttle } from './session-throttle.ts';
import { type StdioLaunch, StdioTransport } from './stdio-transport.ts';

const instructionsCharacters = 16_384;
const remarkCharacters = 2_000;
// As long as the message of a failure may be.
const messageCharacters = 500;
const notifiedIntervalMs = 1_000;

type Speech = typeof speech;
/** Loads what speaks MCP. */
export type LoadSpeech = () => Promise<Speech>;

type Body<Fact> = Fact extends SessionFact ? Omit<Fact, 'session' | 'at'> : never;

export class Session {
  /** Fetches the tools; a wish during a list causes one more list after it. */
  readonly list: () => void;

  readonly #input: SessionInput;
  readonly #ports: SessionPorts;
  readonly #memory: EraMemory;
  readonly #load: LoadSpeech;
  readonly #sendBack: (fact: SessionFact) => void;
  readonly #notified: Throttle;
  #state: 'idle' | 'opening' | 'open' | 'closing' | 'over' = 'idle';
  #phase: SessionPhase = 'connect';
  #isProbing = false;
  /** What the server was asked last while it opened. */
  #asked = 'server/discover';
  #isPartial = false;
  #hasListed = false;
  /** It was open until it was told to end: what it had in flight did not fail by itself. */
  #wasClosed = false;
  /** The stored verdict "modern" was taken at its word and no request has proved it yet. */
  #isVerdictUnproven = false;
  #secrets: readonly string[] = [];
  #tools: ReadonlyMap<string, ListedTool> = new Map();
  #client: Client | undefined;
  #connection: Connection | undefined;
  #policy: (() => ServerPolicy) | undefined;
  #liveness: Liveness | undefined;
  #probe: Probe | undefined;
  #listening: Listening | undefined;

  constructor(
    input: SessionInput,
    ports: SessionPorts,
    memory: EraMemory,
    load: LoadSpeech,
    sendBack: (fact: SessionFact) => void,
  ) {
    this.#input = input;
    this.#ports = ports;
    this.#memory = memory;
    this.#load = load;
    this.#sendBack = sendBack;
    this.#notified = createThrottle(ports.clock, notifiedIntervalMs, () => {
      if (this.#state === 'open') this.#send({ type: 'session.notified' });
    });
    this.list = createCoalescer(() => this.#list());
  }

  /** Asks the server whether it is alive. */
  probe(): void {
    this.#probe?.ask();
  }

  open(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'opening';
    this.#open().catch((error: unknown) => this.#finish(this.#failureOf(error, this.#asked)));
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
    this.#connection?.dispose();
  }

  async #open(): Promise<void> {
    const target = this.#ports.specOf(this.#input);
    if (target === undefined) {
      this.#finish({ kind: 'notStarted', message: 'The settings of this server are gone.' });
      return;
    }
    const resolved = resolveSpec(target.spec, this.#ports.env);
    this.#secrets = resolved.secrets;
    const setup = this.#setupOf(target);
    // First of all, so that the process boots while the SDK is loaded.
    if (resolved.type === 'stdio') await this.#launch(resolved.launch, setup);
    if (!this.#isOpening()) return;
    const [speech, remote] = await this.#loadSpeech(resolved.type);
    // Closed meanwhile: whoever closed it takes care of what is left.
    if (this.#isOpening()) await this.#connect(speech, remote, resolved, setup, target);
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

  async #loadSpeech(type: Resolved['type']) {
    try {
      return await Promise.all([
        this.#load(),
        type === 'http' ? import('./session-remote.ts') : undefined,
      ]);
    } catch (cause) {
      throw new Error('The client for MCP could not be loaded; install this package again', {
        cause,
      });
    }
  }

  async #connect(
    { createClient }: Speech,
    remote: typeof sessionRemote | undefined,
    resolved: Resolved,
    setup: ConnectionSetup,
    target: SessionTarget,
  ): Promise<void> {
    const { generation } = this.#input;
    const { negotiation, prior } = chooseEra(
      target.spec,
      generation,
      this.#ports.eras,
      this.#memory,
    );
    this.#isVerdictUnproven = prior?.kind === 'modern';
    const client = createClient(negotiation, () => this.#notified.trigger());
    this.#client = client;
    if (resolved.type === 'http' && remote !== undefined) {
      const { endpoint } = resolved;
      const onLost = (error: unknown): void => this.#lose(error);
      const { liveness, connection } = remote.connectRemote(endpoint, setup, client, onLost);
      this.#liveness = liveness;
      this.#connection = connection;
    }
    const connection = this.#connection as Connection;
    const options = { timeout: longestTimerMs, ...(prior !== undefined && { prior }) };
    await client.connect(connection.transport, options);
    if (this.#isOpening()) this.#opened(client, connection, target);
  }

  #setupOf(target: SessionTarget): ConnectionSetup {
    const policy = () => (this.#ports.specOf(this.#input) ?? target).policy;
    this.#policy = policy;
    const kept = this.#ports.processes?.expect(this.#input.server);
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

  #opened(client: Client, connection: Connection, { spec }: SessionTarget): void {
    const { actorId, generation, session } = this.#input;
    const era = client.getProtocolEra() ?? 'legacy';
    const discover = client.getDiscoverResult();
    this.#phase = 'ready';
    this.#state = 'open';
    if (spec.era === 'auto') {
      const isModern = era === 'modern' && discover !== undefined;
      this.#ports.eras.set(
        generation,
        isModern ? { kind: 'modern', discover } : { kind: 'legacy' },
      );
    }
    const handle = createHandle({
      server: this.#input.server,
      session,
      client,
      connection,
      secrets: this.#secrets,
      isOpen: () => this.#state === 'open',
      wasClosed: () => this.#wasClosed,
      toolNamed: (name) => this.#tools.get(name),
      onTrouble: (failure, seen) => this.#reconsider(failure, seen),
    });
    this.#probe = createProbe(client, (answer, error) => this.#onProbed(answer, error));
    this.#ports.registry.opened(actorId, handle);
    const { pid } = connection;
    this.#send({ type: 'session.opened', era, ...(pid !== undefined && { pid }) });
    if (era === 'modern') {
      this.#listening = createListening(client, this.#ports.clock, () => this.#notified.trigger());
    }
  }

  async #list(): Promise<void> {
    const client = this.#client;
    const limitMs = this.#policy?.().connect.listTimeoutMs;
    if (this.#state !== 'open' || client === undefined || limitMs === undefined) return;
    // A request that is never answered would keep every later list from being sent.
    const controller = new AbortController();
    const { clock } = this.#ports;
    const timer = clock.setTimeout(() => controller.abort(), limitMs);
    try {
      const list = await listTools(client, controller.signal);
      if (this.#isOpen()) this.#listed(client, list);
    } catch (error) {
      if (!this.#isOpen()) return;
      // Perhaps the server was replaced by an older one since it was asked for its era.
      if (this.#isVerdictUnproven) remember(this.#memory.doubted, this.#input.generation);
      const failure = controller.signal.aborted
        ? this.#lateList(limitMs)
        : this.#failureOf(error, 'tools/list');
      this.#send({ type: 'session.listFailed', failure });
      this.#reconsider(failure, describeError(error, this.#secrets));
    } finally {
      clock.clearTimeout(timer);
    }
  }

  #lateList(limitMs: number): Failure {
    return {
      // Only the first list belongs to the start.
      kind: this.#hasListed ? 'protocol' : 'initTimeout',
      message: `The server did not list its tools within ${limitMs} ms.`,
    };
  }

  #listed(client: Client, { tools, gapCount, gaps }: ToolList): void {
    this.#isVerdictUnproven = false;
    this.#hasListed = true;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    const instructions = client.getInstructions();
    this.#ports.catalogs.put(this.#input, tools, {
      ...(instructions !== undefined && {
        instructions: printableText(instructions, instructionsCharacters),
      }),
      ...(gapCount > 0 && { partial: true }),
    });
    this.#send({ type: 'session.listed', toolCount: tools.length });
    const wasPartial = this.#isPartial;
    this.#isPartial = gapCount > 0;
    if (this.#isPartial) {
      const more = gapCount > gaps.length ? [`and ${gapCount - gaps.length} more`] : [];
      this.#remark(`listed its tools incompletely: ${[...gaps, ...more].join('; ')}`);
    }
    if (this.#isPartial === wasPartial) return;
    const type = this.#isPartial ? 'session.impaired' : 'session.recovered';
    this.#send({ type, reason: 'partialCatalog' });
  }

  #onProbed(answer: ProbeAnswer, error?: unknown): void {
    if (answer !== 'none') {
      this.#send({ type: 'session.probed', answer });
      return;
    }
    const failure = this.#failureOf(error);
    this.#send({ type: 'session.probed', answer, failure });
    this.#reconsider(failure, describeError(error, this.#secrets));
  }

  /** A request failed in a way that may concern the whole session. */
  #reconsider(failure: Failure, seen: Seen): void {
    if (this.#state !== 'open') return;
    if (failure.kind === 'sessionMissing' || seen.status === 401) this.#finish(failure);
    else if (failure.kind === 'transport' || failure.kind === 'unavailable')
      this.#liveness?.suspect();
  }

  #trackPhase(method: string): void {
    if (this.#state !== 'opening') return;
    this.#isProbing = method === 'server/discover';
    if (!method.startsWith('notifications/')) this.#asked = method;
    if (method === 'initialize') this.#phase = 'initialize';
    if (method === 'notifications/initialized') this.#phase = 'initialized';
  }

  #ended(seen: Seen): void {
    // Some servers leave when they are asked anything before the handshake.
    if (this.#isProbing) remember(this.#memory.guessedLegacy, this.#input.generation);
    const failure = classifyFailure({ ...seen, phase: this.#phase });
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
    const failure = this.#failureOf(error);
    const hasAnswered = describeError(error, this.#secrets).status !== undefined;
    this.#finish(
      failure.kind === 'unavailable' && !hasAnswered ? { ...failure, kind: 'transport' } : failure,
    );
  }

  #finish(failure?: Failure): void {
    if (this.#state === 'closing' || this.#state === 'over') return;
    this.#withdraw();
    this.#state = 'closing';
    void (async () => {
      await this.#connection?.close(failure !== undefined);
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
    this.#notified.stop();
    this.#liveness?.stop();
    this.#probe?.stop();
    this.#listening?.stop();
    const { actorId, session } = this.#input;
    if (this.#state === 'open') this.#ports.registry.closed(actorId, session);
  }

  #failureOf(error: unknown, asked?: string): Failure {
    const seen = describeError(error, this.#secrets);
    const context = this.#connection?.context(seen.status);
    // The words of a server stand beside ours in the status: it must be plain whose they are.
    const isRefusal = asked !== undefined && seen.rpcCode !== undefined;
    const message = isRefusal ? `The server refused ${asked}: ${seen.message}` : seen.message;
    return classifyFailure({ ...seen, ...context, message, phase: this.#phase });
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
