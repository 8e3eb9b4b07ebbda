/** The life of one session: idle, opening, open, closing, over. How it opens is told in `opening.ts`. */

import type { Client } from '@modelcontextprotocol/client';

import type { Failure } from '../../src/domain/failure.ts';
import type { ClassifyRule, ServerPolicy } from '../../src/domain/policy.ts';
import type { LogStream } from '../../src/domain/server-log.ts';
import type { SessionEvidence, SessionFact, SessionInput } from '../../src/domain/session.ts';
import { asLoss, classifyFailure, endsSession } from '../../src/policies/failures/classify.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import { redactData, redactWords } from '../../src/policies/text/redact-words.ts';
import type { Connection, Seen } from '../transports/connection/connection.ts';
import { endOf, lastWordsOf } from '../transports/connection/ending.ts';
import { describeError } from '../transports/connection/failure.ts';
import { createHandle } from './calls/call.ts';
import type { AskableThings } from './calls/question.ts';
import { SessionQuestions } from './calls/questions.ts';
import { SessionCatalog } from './catalog/catalog.ts';
import { modernResult } from './catalog/list.ts';
import { createLogLevel } from './catalog/log-level.ts';
// A type only: what speaks MCP is loaded late, which the file itself explains.
import type { News } from './client.ts';
import { type LoadSpeech, Opening } from './opening.ts';
import type { SessionPorts, SessionTarget } from './ports.ts';
import { createProbe, type Probe, type ProbeAnswer } from './probe.ts';

const remarkCharacters = 2_000;
// As long as the message of a failure may be.
const messageCharacters = 500;
const logMethod = 'notifications/message';

type Body<Fact> = Fact extends SessionFact ? Omit<Fact, 'session' | 'at'> : never;

export class Session {
  readonly #input: SessionInput;
  readonly #ports: SessionPorts;
  readonly #sendBack: (fact: SessionFact) => void;
  #state: 'idle' | 'opening' | 'open' | 'closing' | 'over' = 'idle';
  /** Its connection ends by itself, within a moment; what is in flight is still answered. */
  #isDraining = false;
  #isLossAnnounced = false;
  /** It was open until it was told to end: what it had in flight did not fail by itself. */
  #wasClosed = false;
  readonly #askable: AskableThings | undefined;
  readonly #opening: Opening;
  #questions: SessionQuestions | undefined;
  #target: SessionTarget | undefined;
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
    this.#sendBack = sendBack;
    const { questions } = ports;
    this.#askable = questions && {
      kinds: questions.kinds,
      hasRoots: questions.roots() !== undefined,
    };
    this.#opening = new Opening({
      input,
      ports,
      load,
      questions: this.#askable,
      isWanted: () => this.#state === 'opening',
      events: {
        remark: (line, stream) => this.#remark(line, stream),
        broke: () => this.#announceLoss(),
        ended: (seen) => this.#ended(seen),
        missed: () => this.#catalog?.lookAgain(),
        flooded: (failure) => this.#send({ type: 'session.impaired', reason: 'flooding', failure }),
        calmed: (hasMissed) => {
          this.#send({ type: 'session.recovered', reason: 'flooding' });
          if (hasMissed) this.#catalog?.lookAgain();
        },
        paused: () => this.#send({ type: 'session.paused' }),
        resumed: () => this.#send({ type: 'session.resumed' }),
      },
      onNews: (news) => this.#hear(news),
      onOpened: (client, connection, era) => this.#opened(client, connection, era),
      onLost: (error) => this.#lose(error),
    });
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
    this.#target = this.#ports.specOf(this.#input);
    if (this.#target === undefined) {
      this.#finish({ kind: 'notStarted', message: 'The settings of this server are gone.' });
      return;
    }
    this.#opening
      .open(this.#target)
      .catch((error: unknown) => this.#finish(this.#failureToOpen(error)));
  }

  close(): void {
    this.#wasClosed ||= this.#state === 'open';
    this.#finish();
  }

  /** Ends the session by force, whatever it is waiting for. */
  kill(): void {
    this.close();
    this.#opening.connection?.dispose();
  }

  dispose(): void {
    if (this.#state === 'over') return;
    this.#withdraw();
    this.#wasClosed ||= this.#state === 'open';
    this.#state = 'over';
    if (!this.#isDraining) this.#opening.connection?.dispose();
  }

  #opened(client: Client, connection: Connection, era: 'legacy' | 'modern'): void {
    const { actorId, session } = this.#input;
    this.#state = 'open';
    if (era === 'modern') connection.stages.rewriteResult = modernResult;
    const catalog = this.#createCatalog(client, connection.kind === 'http' && era === 'modern');
    this.#catalog = catalog;
    this.#questions = this.#createQuestions();
    const lookAtLogLevel = this.#createLogLevel(client);
    const handle = createHandle({
      server: this.#input.server,
      session,
      clock: this.#ports.clock,
      client,
      connection,
      secrets: this.#opening.secrets,
      questions: this.#questions,
      isOpen: () => this.#state === 'open',
      wasClosed: () => this.#wasClosed,
      toolNamed: (name) => catalog.toolNamed(name),
      lookAtWatched: () => catalog.lookAtWatched(),
      lookAtLogLevel,
      logLevel: () => this.#ports.logLevel?.(),
      rules: () => this.#rules(),
      onTrouble: (failure, seen) => this.#reconsider(failure, seen),
    });
    this.#probe = createProbe(client, (answer, error) => this.#onProbed(answer, error));
    this.#ports.registry.opened(actorId, handle);
    const { pid } = connection;
    this.#send({ type: 'session.opened', era, ...(pid !== undefined && { pid }) });
    catalog.start();
    lookAtLogLevel();
  }

  #createLogLevel(client: Client): () => void {
    return createLogLevel({
      client,
      isOpen: () => this.#isOpen(),
      wanted: () => this.#ports.logLevel?.(),
      onRefused: (error) => {
        const { message } = this.#failureOf(error, 'logging/setLevel');
        this.#remark(`does not take the level of its log: ${message}`);
      },
    });
  }

  #createQuestions(): SessionQuestions | undefined {
    const { questions: ports } = this.#ports;
    if (ports === undefined || this.#askable === undefined) return undefined;
    const { server } = this.#input;
    return new SessionQuestions({
      ...this.#askable,
      server,
      ports,
      secrets: this.#opening.secrets,
    });
  }

  #createCatalog(client: Client, hasHeaders: boolean): SessionCatalog {
    return new SessionCatalog({
      input: this.#input,
      ports: this.#ports,
      client,
      hasHeaders,
      secrets: this.#opening.secrets,
      isOpen: () => this.#isOpen(),
      listTimeoutMs: () => this.#policy().connect.listTimeoutMs,
      send: (fact) => this.#send(fact),
      remark: (line) => this.#remark(line),
      describe: (error, asked) => {
        const { rpcCode } = describeError(error, this.#opening.secrets);
        const failure = this.#failureOf(error, asked);
        return { failure, ...(rpcCode !== undefined && { rpcCode }) };
      },
      onListed: () => this.#opening.proved(),
      onListFailed: (error, failure) => this.#onListFailed(error, failure),
    });
  }

  #onListFailed(error: unknown, failure: Failure): void {
    this.#send({ type: 'session.listFailed', failure: this.#opening.doubted(failure) });
    this.#reconsider(failure, describeError(error, this.#opening.secrets));
  }

  #failureToOpen(error: unknown): Failure {
    const failure = this.#failureOf(error, this.#opening.asked);
    const { status, rpcCode } = describeError(error, this.#opening.secrets);
    const isRefusal = status !== undefined || rpcCode !== undefined;
    return isRefusal ? this.#opening.doubted(failure) : failure;
  }

  #hear(news: News): void {
    if (news.about === 'resource') this.#catalog?.updated(news.uri);
    else if (news.about === 'message') {
      if (!this.#isOpen()) return;
      const params = redactData(news.params, this.#opening.secrets) as typeof news.params;
      this.#ports.notified?.(this.#input.server, logMethod, params);
    } else this.#catalog?.listChanged(news.about);
  }

  #onProbed(answer: ProbeAnswer, error?: unknown): void {
    if (answer !== 'none') return this.#send({ type: 'session.probed', answer });
    const failure = this.#failureOf(error);
    this.#send({ type: 'session.probed', answer, failure });
    this.#reconsider(failure, describeError(error, this.#opening.secrets));
  }

  /** A request failed in a way that may concern the whole session. */
  #reconsider(failure: Failure, seen: Seen): void {
    if (this.#state !== 'open') return;
    const described = { ...seen, phase: this.#opening.phase };
    if (endsSession(failure, described, this.#rules())) this.#finish(failure);
    else if (failure.kind === 'transport' || failure.kind === 'unavailable')
      this.#opening.liveness?.suspect();
  }

  #policy(): ServerPolicy {
    const target = this.#ports.specOf(this.#input) ?? this.#target;
    return target?.policy ?? defaultPolicy;
  }

  #rules(): readonly ClassifyRule[] {
    return this.#ports.specOf(this.#input)?.policy.classify.rules ?? [];
  }

  #ended(seen: Seen): void {
    // The handshake under way fails of it, and `open` knows what to do.
    if (this.#opening.isToReopen) return;
    const failure = classifyFailure({ ...seen, phase: this.#opening.phase }, this.#rules());
    const message = this.#endInWords(failure, seen);
    this.#finish({ ...failure, message: printableLine(message, messageCharacters) });
  }

  #endInWords({ kind }: Failure, seen: Seen): string {
    if (kind !== 'cleanExit')
      return endOf(seen) === undefined ? seen.message : `${seen.message}${lastWordsOf(seen)}`;
    const message = 'The server ended by itself with exit code 0';
    if (this.#policy().restart.on === 'always') return `${message}.`;
    return `${message}; it is not restarted after a clean exit unless "restart": "always".`;
  }

  /** The server no longer answers: however that shows, an open connection was lost. */
  #lose(error: unknown): void {
    const seen = { ...describeError(error, this.#opening.secrets), phase: this.#opening.phase };
    this.#finish(asLoss(this.#failureOf(error), seen, this.#rules()));
  }

  #finish(failure?: Failure): void {
    if (this.#state === 'closing' || this.#state === 'over') return;
    // A process that still runs may take as long to end as its policy allows.
    if (failure !== undefined && endOf(failure) === undefined) this.#announceLoss();
    this.#withdraw();
    this.#state = 'closing';
    void (async () => {
      const connection = this.#opening.connection;
      const isForgotten = failure?.kind === 'sessionMissing' && connection?.drain !== undefined;
      if (isForgotten) connection.drain?.();
      else await connection?.close(failure !== undefined);
      this.#isDraining = isForgotten;
      this.#send({ type: 'session.closed', ...this.#endingOf(failure) });
      this.#state = 'over';
    })();
  }

  /** Reports that an open session no longer serves, although its process has yet to end. */
  #announceLoss(): void {
    const hasProcess = this.#opening.connection?.pid !== undefined;
    if (this.#state !== 'open' || this.#isLossAnnounced || !hasProcess) return;
    this.#isLossAnnounced = true;
    // A list request in flight must not make the server ready again.
    this.#catalog?.stop();
    this.#send({ type: 'session.lost' });
  }

  /** A session that had to be closed may know why: the deadline that closed it does not. */
  #endingOf(failure?: Failure): { failure?: Failure; evidence?: SessionEvidence } {
    if (failure !== undefined) return { failure };
    const evidence: SessionEvidence = this.#opening.isFinding
      ? { isWaitingForValues: true }
      : (this.#opening.connection?.evidence() ?? {});
    return Object.keys(evidence).length > 0 ? { evidence } : {};
  }

  /** Stops all that would act by itself; calls from now on are not sent. */
  #withdraw(): void {
    this.#catalog?.stop();
    this.#questions?.stop();
    this.#opening.liveness?.stop();
    this.#probe?.stop();
    const { actorId, session } = this.#input;
    if (this.#state === 'open') this.#ports.registry.closed(actorId, session);
  }

  #failureOf(error: unknown, asked?: string): Failure {
    const seen = describeError(error, this.#opening.secrets);
    const context = this.#opening.connection?.context(seen.status);
    // The words of a server stand beside ours in the status: it must be plain whose they are.
    const isRefusal = asked !== undefined && seen.rpcCode !== undefined;
    const message = isRefusal ? `The server refused ${asked}: ${seen.message}` : seen.message;
    return classifyFailure(
      { ...seen, ...context, message, phase: this.#opening.phase },
      this.#rules(),
    );
  }

  #send(fact: Body<SessionFact>): void {
    if (this.#state === 'over') return;
    const stamp = { session: this.#input.session, at: this.#ports.clock.now() };
    this.#sendBack({ ...fact, ...stamp } as SessionFact);
  }

  #remark(line: string, stream: LogStream = 'troupe'): void {
    const { server, session } = this.#input;
    // Lines from the server's own streams were redacted before they were cut.
    const clean = stream === 'troupe' ? redactWords(line, this.#opening.secrets) : line;
    this.#ports.log(server, printableLine(clean, remarkCharacters), { session, stream });
  }

  #isOpen(): boolean {
    return this.#state === 'open';
  }
}
