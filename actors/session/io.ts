/** The I/O of one session: its connection, client, lists and calls. */

import { printableLine } from '../../src/domain/data/printable.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { ClassifyRule } from '../../src/domain/policy.ts';
import type { LogStream } from '../../src/domain/server-log.ts';
import type {
  CloseOutcome,
  ConnectOutcome,
  LaunchOutcome,
  ListName,
  ListOutcome,
  ProbeAnswer,
  ResolveOutcome,
  SessionHandle,
  SessionId,
  StepFailed,
  WireFact,
} from '../../src/domain/session.ts';
import { asLoss, classifyFailure, endsSession } from '../../src/policies/failures/classify.ts';
import { explanationInWords } from '../../src/policies/failures/explaining-line.ts';
import { redactData, redactWords } from '../../src/policies/text/redact-words.ts';
import type { Client, News } from '../../src/protocol/mcp-client.ts';
import { methods } from '../../src/protocol/methods.ts';
import type { Connection, Seen } from '../transports/connection/connection.ts';
import { describeError, endOf } from '../transports/connection/failure.ts';
import { Caller, type CallerSetup } from './calls/call.ts';
import type { AskableThings } from './calls/question-reading.ts';
import { SessionQuestions } from './calls/session-questions.ts';
import { SessionCatalog } from './catalog/catalog.ts';
import { logLevelReconciler } from './catalog/reconcile.ts';
import type { Ending, Handshake, SessionIo } from './leaf-actors.ts';
import { type Connected, Opening, type OpeningEvents } from './opening-steps.ts';
import type { SessionPorts } from './ports.ts';
import { createProbe, type Probe } from './probe.ts';

const remarkCharacters = 2_000;
// As long as a failure message may be.
const messageCharacters = 500;
const noLevel = (): undefined => undefined;
const logMethod = methods.logMessage.name;

/** Creates a session's I/O. */
export function createSessionIo(ports: SessionPorts) {
  return (id: SessionId, report: (fact: WireFact) => void): SessionIo =>
    new NetworkSession(id, ports, report);
}

/** What there is once a session is open. Callers get it as its handle. */
class OpenSession extends Caller implements SessionHandle {
  readonly session: number;
  readonly client: Client;
  readonly catalog: SessionCatalog;
  readonly questions: SessionQuestions | undefined;
  /** Created for the first probe. */
  probe: Probe | undefined;
  readonly #onLogLevel: () => void;

  constructor(
    session: number,
    catalog: SessionCatalog,
    setup: CallerSetup,
    onLogLevel: () => void,
  ) {
    super(setup);
    this.session = session;
    this.client = setup.client;
    this.catalog = catalog;
    this.questions = setup.questions;
    this.#onLogLevel = onLogLevel;
  }

  reconcileWatched(): void {
    this.catalog.reconcileWatched();
  }

  reconcileLogLevel(): void {
    this.#onLogLevel();
  }
}

// Its methods are the callbacks of its parts: a closure for each would take memory in every session.
class NetworkSession implements SessionIo, OpeningEvents {
  readonly #id: SessionId;
  readonly #ports: SessionPorts;
  readonly #report: (fact: WireFact) => void;
  readonly #askable: AskableThings | undefined;
  readonly #opening: Opening;
  #open: OpenSession | undefined;
  /** How the session ends; set when calls may no longer be sent. */
  #ending: Ending | undefined;
  #reconcileLogLevel: (() => void) | undefined;
  /** Why the last probe failed. */
  #probeError: unknown;

  constructor(id: SessionId, ports: SessionPorts, report: (fact: WireFact) => void) {
    this.#id = id;
    this.#ports = ports;
    this.#report = report;
    const { questions } = ports;
    this.#askable = questions && {
      kinds: questions.kinds,
      hasRoots: questions.roots() !== undefined,
    };
    this.#opening = new Opening({ id, ports, questions: this.#askable, events: this });
  }

  sending(method: string): void {
    if (this.#open === undefined && this.#opening.noteSent(method))
      this.#report({ type: 'wire.sent', method });
  }

  doubted(): void {
    this.#report({ type: 'wire.doubted' });
  }

  broke(): void {
    this.#report({ type: 'wire.broke' });
  }

  missed(): void {
    this.#open?.catalog.missed();
  }

  flooded(failure: Failure): void {
    this.#report({ type: 'wire.impaired', reason: 'flooding', failure });
  }

  calmed(hasMissed: boolean): void {
    this.#report({ type: 'wire.recovered', reason: 'flooding' });
    if (hasMissed) this.missed();
  }

  paused(): void {
    this.#report({ type: 'wire.paused' });
  }

  resumed(): void {
    this.#report({ type: 'wire.resumed' });
  }

  async resolve(signal: AbortSignal): Promise<ResolveOutcome> {
    const target = this.#ports.specOf(this.#id);
    if (target === undefined)
      return this.#failed({ kind: 'notStarted', message: 'The settings of this server are gone.' });
    try {
      return await this.#opening.resolve(target, signal);
    } catch (error) {
      return this.#failed(this.#failureToOpen(this.#describe(error)));
    }
  }

  async launch(isSecond: boolean, signal: AbortSignal): Promise<LaunchOutcome> {
    try {
      await this.#opening.launch(isSecond, signal);
      return { type: 'launched' };
    } catch (error) {
      return this.#failed(this.#failureToOpen(this.#describe(error)));
    }
  }

  async connect(handshake: Handshake, signal: AbortSignal): Promise<ConnectOutcome> {
    try {
      const connected = await this.#opening.connect(handshake, signal);
      signal.throwIfAborted();
      if (handshake === 'overSse') this.#ports.overSse?.add(this.#id.generation);
      return this.#opened(connected);
    } catch (error) {
      // Even after an abort: an address whose stream hangs may speak the current protocol by now.
      this.#ports.overSse?.delete(this.#id.generation);
      signal.throwIfAborted();
      const seen = this.#describe(error);
      return {
        ...this.#failed(this.#failureToOpen(seen)),
        wasAnswered: seen.rpcCode !== undefined,
        mayBeOverSse: this.#opening.mayBeOverSse(seen),
      };
    }
  }

  async list(list: ListName, signal: AbortSignal): Promise<ListOutcome> {
    if (this.#open === undefined) throw new Error('The session is not open.');
    return this.#open.catalog.list(list, signal);
  }

  async close(how: Ending): Promise<CloseOutcome> {
    this.#withdraw(how);
    const evidence = await this.#opening.close(how);
    return { at: this.#ports.clock.now(), evidence };
  }

  probe(): void {
    const open = this.#open;
    if (open === undefined) return;
    open.probe ??= this.#createProbe(open.client);
    this.#probeError = undefined;
    open.probe.ask();
  }

  abandon(): void {
    const workCount = this.#opening.connection?.workCount ?? 0;
    const isBusy = workCount > (this.#open?.probe?.isListing === true ? 1 : 0);
    if (this.#open === undefined || (isBusy && this.#probeError === undefined)) return;
    const seen = this.#describe(this.#probeError ?? silence());
    const loss = asLoss(this.#classify(seen), { ...seen, phase: 'ready' }, this.#rules());
    this.#announceEnd('wire.lost', loss);
  }

  publish(): void {
    this.#open?.catalog.publish();
  }

  kill(): void {
    this.#report({ type: 'wire.killed', at: this.#ports.clock.now() });
    this.#opening.connection?.dispose();
  }

  dispose(): void {
    this.#withdraw('orderly');
    this.#opening.dispose();
  }

  #opened({ client, connection, era }: Connected): ConnectOutcome {
    const { actorId, server, session } = this.#id;
    const { clock, questions: ports, logLevel = noLevel } = this.#ports;
    const { secrets } = this.#opening.values;
    const catalog = this.#createCatalog(client, connection.kind === 'http' && era === 'modern');
    const questions =
      ports &&
      this.#askable &&
      new SessionQuestions({
        server,
        ports,
        kinds: this.#askable.kinds,
        hasRoots: this.#askable.hasRoots,
        secrets,
        onDeclined: (reason) => this.#declined(reason),
      });
    const setup: CallerSetup = {
      server,
      clock,
      client,
      connection,
      secrets,
      questions,
      ending: () => this.#ending,
      toolNamed: (name) => catalog.toolNamed(name),
      logLevel,
      rules: () => this.#rules(),
      reasonFor: (failure) => this.#opening.reasonFor(failure),
      onTrouble: (failure, seen) => this.#reconsider(this.#explained(failure), seen),
      remark: (line) => this.remark(line),
    };
    const open = new OpenSession(session, catalog, setup, () => this.#onLogLevel(client));
    this.#open = open;
    this.#ports.registry.opened(actorId, open);
    catalog.start();
    open.reconcileLogLevel();
    const { pid } = connection;
    return {
      type: 'connected',
      at: clock.now(),
      era,
      ...(pid !== undefined && { pid }),
      offers: catalog.offers,
    };
  }

  #createProbe(client: Client): Probe {
    const { onlyLists } = this.#ports;
    const { generation } = this.#id;
    return createProbe({
      client,
      stages: (this.#opening.connection as Connection).stages,
      isByList: onlyLists?.has(generation) === true,
      onListed: (unanswered) => {
        onlyLists?.add(generation);
        this.remark(`does not answer ${unanswered}; its health is checked by listing its tools`);
      },
      onAnswer: (answer, error) => this.#onProbed(answer, error),
    });
  }

  #onLogLevel(client: Client): void {
    const { clock, logLevel = noLevel } = this.#ports;
    if (logLevel() === undefined) return;
    this.#reconcileLogLevel ??= logLevelReconciler(
      client,
      clock,
      () => this.#isOpen(),
      logLevel,
      (error) => {
        const { message } = this.#classify(this.#describe(error), methods.setLogLevel.name);
        this.remark(`does not accept a log level: ${message}`);
      },
    );
    this.#reconcileLogLevel();
  }

  #createCatalog(client: Connected['client'], hasHeaders: boolean): SessionCatalog {
    return new SessionCatalog({
      id: this.#id,
      ports: this.#ports,
      client,
      hasHeaders,
      secrets: this.#opening.values.secrets,
      isOpen: () => this.#isOpen(),
      report: (fact) => this.#report(fact),
      remark: (line) => this.remark(line),
      describe: (error, asked) => {
        const seen = this.#describe(error);
        const refusal = this.#classify(seen, asked);
        // An old server has answered its handshake, and a modern one has when it lists its tools.
        const isProved = client.getProtocolEra() === 'legacy' || this.#open?.catalog.hasTools;
        const failure = isProved === true ? refusal : this.#opening.doubted(refusal);
        if (asked === methods.listTools.name) this.#reconsider(failure, seen);
        return { failure, ...(seen.rpcCode !== undefined && { rpcCode: seen.rpcCode }) };
      },
    });
  }

  #failureToOpen(seen: Seen): Failure {
    const failure = this.#classify(seen, this.#opening.asked);
    const isRefusal = seen.status !== undefined || seen.rpcCode !== undefined;
    return isRefusal ? this.#opening.doubted(failure) : failure;
  }

  #failed(failure: Failure): StepFailed {
    return { type: 'failed', failure, at: this.#ports.clock.now() };
  }

  hear(news: News): void {
    if (this.#ending !== undefined) return;
    const catalog = this.#open?.catalog;
    if (news.about === 'resource') catalog?.updated(news.uri);
    else if (news.about === 'message') {
      // Also before the session is open: a server may report what it does at its start.
      const params = redactData(news.params, this.#opening.values.secrets) as typeof news.params;
      this.#ports.notified?.(this.#id.server, logMethod, params);
    } else catalog?.listChanged(news.about);
  }

  #onProbed(answer: ProbeAnswer, error?: unknown): void {
    const seen = this.#describe(error);
    const isAlive = answer !== 'none';
    if (isAlive && seen.status === undefined) return this.#report({ type: 'wire.probed', answer });
    const failure = this.#classify(seen);
    // A server that has forgotten the session may say so with a JSON-RPC error.
    if (this.#endIfOver(failure, seen)) return;
    if (isAlive) return this.#report({ type: 'wire.probed', answer });
    this.#probeError = error;
    this.#report({ type: 'wire.probed', answer, failure });
    this.#doubtAfter(failure);
  }

  /** Whether the server has no process of ours, whose exit would be noticed. */
  get #isRemote(): boolean {
    const kind = this.#opening.connection?.kind;
    return kind !== undefined && kind !== 'stdio' && kind !== 'memory';
  }

  /** Handles a failed request that may affect the whole session. */
  #reconsider(failure: Failure, seen: Seen): void {
    if (!this.#endIfOver(failure, seen)) this.#doubtAfter(failure);
  }

  #doubtAfter({ kind }: Failure): void {
    const isHint = kind === 'transport' || kind === 'unavailable';
    if (isHint && this.#isRemote && this.#isOpen()) this.doubted();
  }

  /** Reports the session as lost if a failed request says so; returns whether it did. */
  #endIfOver(failure: Failure, seen: Seen): boolean {
    const described = { ...seen, phase: 'ready' } as const;
    const isOver = this.#isOpen() && endsSession(failure, described, this.#rules());
    if (isOver) this.#announceEnd('wire.lost', failure);
    return isOver;
  }

  #rules(): readonly ClassifyRule[] {
    return this.#ports.specOf(this.#id)?.policy.classify.rules ?? [];
  }

  get #phase() {
    return this.#open === undefined ? this.#opening.phase : 'ready';
  }

  ended(seen: Seen): void {
    const failure = classifyFailure({ ...seen, phase: this.#phase }, this.#rules());
    const message = printableLine(this.#endInWords(failure, seen), messageCharacters);
    this.#announceEnd('wire.ended', this.#explained({ ...failure, message }));
  }

  #endInWords({ kind }: Failure, seen: Seen): string {
    if (kind !== 'cleanExit')
      return endOf(seen) === undefined
        ? seen.message
        : `${seen.message}${explanationInWords(seen)}`;
    const message = 'The server ended by itself with exit code 0';
    if (this.#opening.values.policy().restart.on === 'always') return `${message}.`;
    return `${message}; it is not restarted after a clean exit unless "restart": "always".`;
  }

  #announceEnd(type: 'wire.ended' | 'wire.lost', failure: Failure): void {
    const { connection } = this.#opening;
    this.#report({
      type,
      at: this.#ports.clock.now(),
      failure,
      // A process that is still running may take as long to end as its policy allows.
      isGone: connection?.pid === undefined || endOf(failure) !== undefined,
      drains: failure.kind === 'sessionMissing' && connection?.drain !== undefined,
    });
  }

  /** Stops all activity; calls made from now on are not sent. */
  #withdraw(how: Ending): void {
    this.#open?.catalog.stop();
    this.#open?.questions?.stop();
    this.#open?.probe?.stop();
    const { actorId, session } = this.#id;
    if (this.#isOpen()) this.#ports.registry.closed(actorId, session);
    if (this.#open !== undefined) this.#ending ??= how;
  }

  #describe(error: unknown): Seen {
    return describeError(error, this.#opening.values.secrets);
  }

  #classify(seen: Seen, asked?: string): Failure {
    const context = this.#opening.connection?.context(seen.status);
    // The status shows the server's message next to ours, so ours names its source.
    const isRefusal = asked !== undefined && seen.rpcCode !== undefined;
    const message = isRefusal ? `The server refused ${asked}: ${seen.message}` : seen.message;
    return this.#explained(
      classifyFailure({ ...seen, ...context, message, phase: this.#phase }, this.#rules()),
    );
  }

  #explained(failure: Failure): Failure {
    const reason = this.#opening.reasonFor(failure);
    if (reason === '') return failure;
    return { ...failure, message: printableLine(`${failure.message}${reason}`, messageCharacters) };
  }

  /** Reports it to the log, and to the clients whose calls are in flight. */
  #declined(reason: string): void {
    this.remark(`declined its question: ${reason}`);
    const data = `declined a question of the server: ${reason}`;
    const params = { level: 'warning', logger: 'mcp-troupe', data };
    this.#ports.notified?.(this.#id.server, logMethod, params);
  }

  remark(line: string, stream: LogStream = 'troupe'): void {
    const { server, session } = this.#id;
    // Lines from the server's own streams were redacted before they were cut.
    const clean = stream === 'troupe' ? redactWords(line, this.#opening.values.secrets) : line;
    this.#ports.log(server, printableLine(clean, remarkCharacters), { session, stream });
  }

  #isOpen(): boolean {
    return this.#open !== undefined && this.#ending === undefined;
  }
}

function silence(): Error {
  return Object.assign(new Error('The server did not answer any more.'), {
    code: 'REQUEST_TIMEOUT',
  });
}
