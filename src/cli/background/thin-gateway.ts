/**
 * A gateway over stdin and stdout that only passes messages on, to the troupe that other processes share.
 * The attachment chart decides when it connects.
 */

import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { createActor } from 'xstate';
import { LineReader } from '../../../actors/transports/stdio/lines.ts';
import { attachmentMachine } from '../../../machines/attachment.ts';
import { withActors } from '../../../machines/xstate/with-actors.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { parsedJson } from '../../domain/data/parsed-json.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { failedCall, failedRequest } from '../../gateway/rpc-error.ts';
import { methods } from '../../protocol/methods.ts';
import { RelayedSession } from '../../protocol/relayed-session.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { connectSocket, errorFrom } from '../control/control-client.ts';
import { maxAnswerBytes, noteIn } from '../control/protocol.ts';
import type { ControlArgs } from '../control/schemas.ts';

const chart = withActors(attachmentMachine);

export interface ThinOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Resolves with the path of the running troupe's socket; it is started if necessary. */
  readonly find: () => Promise<string>;
  readonly attach: ControlArgs['attach'];
  readonly note: (line: string) => void;
}

export class ThinGateway {
  /** Resolves once it has ended, with the error that ended it. */
  readonly ended: Promise<TroupeError | undefined>;
  readonly #options: ThinOptions;
  readonly #actor = createActor(chart, { clock: realClock });
  readonly #session = new RelayedSession();
  readonly #fromClient: LineReader;
  #socket: Socket | undefined;
  #failure: TroupeError | undefined;
  /** What the next troupe hears first. */
  #again: readonly string[] = [];

  constructor(options: ThinOptions) {
    this.#options = options;
    const { stdin, stdout } = options;
    this.#fromClient = linesOf(
      (line) => this.#pass(line),
      () => this.close(),
    );
    this.ended = new Promise((resolve) => {
      this.#actor.subscribe({
        complete: () => {
          const { value } = this.#actor.getSnapshot();
          stdin.pause();
          this.#socket?.destroy();
          this.#settle();
          if (value === 'lost') this.#giveUp();
          resolve(this.#failure);
        },
      });
    });
    this.#actor.on('attach.asked', () => void this.#attach());
    for (const end of ['end', 'close', 'error'] as const) stdin.once(end, () => this.close());
    stdout.on('drain', () => void this.#socket?.resume());
    stdin.on('data', (chunk: Buffer) => this.#fromClient.push(chunk));
    stdin.pause();
    this.#actor.start();
  }

  /** Ends as soon as the requests in flight have their answers. */
  close(): void {
    if (this.#actor.getSnapshot().status !== 'active') return;
    this.#actor.send({ type: 'client.closed' });
    // The troupe ends the connection once the requests in flight have their answers.
    this.#socket?.end();
  }

  async #attach(): Promise<void> {
    try {
      const socket = await connectSocket(await this.#options.find());
      if (socket === undefined) return this.#lost();
      // The client may have closed meanwhile.
      if (this.#actor.getSnapshot().status !== 'active') return void socket.destroy();
      this.#begin(socket);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    // Nothing that lasts: the troupe may be starting, ending or stopped for a moment.
    const isPassing =
      error instanceof TroupeError && (error.retryable || error.code === 'SHUTTING_DOWN');
    if (isPassing) return this.#lost();
    this.#refused(error);
  }

  #begin(socket: Socket): void {
    const { stdin, attach } = this.#options;
    this.#socket = socket;
    let isAttached = false;
    const reader = linesOf(
      (line) => {
        if (isAttached) return this.#deliver(line);
        const answer = parsedJson(line);
        if (isRecord(answer) && 'error' in answer)
          return this.#failed(errorFrom(answer['error'], 'attach'));
        isAttached = true;
        this.#actor.send({ type: 'troupe.attached' });
        for (const again of this.#again) socket.write(`${again}\n`);
        stdin.resume();
      },
      () => socket.destroy(),
    );
    socket.on('data', (chunk: Buffer) => reader.push(chunk));
    socket.on('drain', () => void stdin.resume());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (socket === this.#socket) this.#lost();
    });
    socket.write(`${JSON.stringify({ id: 1, command: 'attach', args: attach })}\n`);
  }

  #pass(line: string): void {
    const { stdin } = this.#options;
    this.#session.fromClient(line);
    if (this.#socket?.write(`${line}\n`) === false) stdin.pause();
  }

  #deliver(line: string): void {
    const { note, stdout } = this.#options;
    const text = noteIn(line);
    if (text !== undefined) return note(text);
    if (this.#session.fromServer(line) && !stdout.write(`${line}\n`)) this.#socket?.pause();
  }

  #lost(): void {
    if (this.#actor.getSnapshot().status !== 'active') return;
    const { stdin, note } = this.#options;
    stdin.pause();
    if (this.#actor.getSnapshot().value === 'attached')
      note('lost the connection to the troupe in the background; connecting again');
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#again = this.#recover();
    this.#actor.send({ type: 'connection.lost' });
  }

  #refused(error: unknown): void {
    this.#failure =
      error instanceof TroupeError ? error : new TroupeError('INTERNAL', String(error));
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type: 'troupe.refused' });
  }

  /** Answers what must not be repeated; returns what the next troupe has to hear. */
  #recover(): readonly string[] {
    const { again, unknown, withdrawn } = this.#session.lose();
    const lost = new TroupeError(
      'UNAVAILABLE',
      'The troupe in the background ended during this request. Check whether it took effect before you repeat it.',
      { outcome: 'unknown' },
    );
    for (const { id, isCall } of unknown) this.#fail(id, isCall, lost);
    for (const requestId of withdrawn) {
      const params = { requestId, reason: 'the troupe that asked has ended' };
      this.#say({ method: methods.cancelled.name, params });
    }
    return again;
  }

  /** Answers all that is left at the end. */
  #settle(): void {
    this.#recover();
    const ended = new TroupeError('UNAVAILABLE', 'The gateway ended before this was answered.');
    for (const id of this.#session.unanswered()) this.#fail(id, false, ended);
  }

  #fail(id: string | number, isCall: boolean, error: TroupeError): void {
    const { code, message, data } = failedRequest(error);
    this.#say({
      id,
      ...(isCall ? { result: failedCall(error) } : { error: { code, message, data } }),
    });
  }

  #say(message: Readonly<Record<string, unknown>>): void {
    this.#options.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #giveUp(): void {
    this.#failure = new TroupeError(
      'UNAVAILABLE',
      'the troupe in the background ended again and again; see troupe doctor, or use --alone',
    );
  }
}

/** The troupe limits messages; what exceeds even this ends the connection. */
function linesOf(onLine: (line: string) => void, onTooLong: () => void): LineReader {
  const onSkipped = (): void => undefined;
  return new LineReader(maxAnswerBytes, { onLine, onTooLong, onSkipping: onTooLong, onSkipped });
}
