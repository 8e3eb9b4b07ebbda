/**
 * Carries a session over the standard streams of a process that has its own process group.
 *
 * The process ends with its `exit` event, not when its pipes close: a helper that inherited them
 * can hold them open indefinitely. A server that closes its input or output while it is alive has
 * also ended the session. `close` ends the group step by step and resolves when it is empty;
 * `dispose` kills it.
 *
 * `launch` only starts the process; `start` delivers the messages that arrived before it.
 */

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { defined } from '../../../src/domain/data/defined.ts';
import { printableLine } from '../../../src/domain/data/printable.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import { explainingLine } from '../../../src/policies/failures/explaining-line.ts';
import { redactWords } from '../../../src/policies/text/redact-words.ts';
import { NotSentError } from '../../../src/protocol/errors.ts';
import {
  alreadySent,
  charactersPerWork,
  refusedAnswer,
  serialize,
  tooManyBytes,
} from '../../../src/protocol/messages.ts';
import {
  endGroup,
  forgetGroup,
  killGroup,
  processSystem,
  watchGroup,
} from '../../processes/end-process-group.ts';
import type { Group, StdioLaunch } from '../../processes/system.ts';
import { assertSameProgram } from '../../values/executable-path.ts';
import {
  Connection,
  type ConnectionSetup,
  maxMessageBytes,
  maxUnsentBytes,
  type Seen,
} from '../connection/connection.ts';
import { endOf } from '../connection/failure.ts';
import { type LineListeners, LineReader } from './lines.ts';
import { OutputRing } from './stderr.ts';

// Responses written just before the exit are still in the pipe; the end must be reported within 100
// ms.
const drainMs = 50;
// A response may follow thousands of lines that are read in turns. A full pipe takes 0.2 s, and
// several times as long on a busy machine; the bound is for a helper that left the process group,
// holds the pipe open and keeps writing.
const longestDrainMs = 5_000;
// A broken pipe is mostly the first sign of an exit, which explains more and follows within a few
// milliseconds, or a fifth of a second on a busy machine. The break itself is reported at once.
const exitGraceMs = 250;
// A process that gives up says so just before; what it wrote earlier was about something else.
const lastWordsMs = 30_000;
// Sent from outside, so that nothing the server wrote explains them.
const sentSignals: ReadonlySet<string> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP']);
// A write wakes a sleeping server, so one for many lines is cheaper; a pipe takes 64 KB at once.
const maxUnwritten = 65_536;
// A skipped line delays all others; in this time, a pipe can carry many times the skip limit.
const skipMs = 2_000;
const tooLong = {
  code: 'BAD_RESPONSE',
  message: 'The server wrote a line of more than 16 MB.',
} as const;

export class StdioTransport extends Connection implements LineListeners {
  readonly kind = 'stdio';
  /** Undefined once the process was started. */
  #launch: StdioLaunch | undefined;
  readonly #system;
  #stderr: OutputRing | undefined;
  /** Reads lines on stdout that are not MCP; the first one is logged as a remark. */
  #noise: OutputRing | undefined;
  #timers: Set<unknown> | undefined;
  /** The deadline of a line that is being skipped. */
  #skipping: unknown;
  #child: ChildProcessWithoutNullStreams | undefined;
  #reader: LineReader | undefined;
  /** Number of times reading yielded to other servers. */
  #turns = 0;
  /** Lines of this turn, which are written together at its end. */
  #unwritten = '';
  readonly #flush = (): void => {
    const lines = this.#unwritten;
    this.#unwritten = '';
    if (lines !== '') this.#child?.stdin.write(lines);
  };
  /** Called when everything that arrived has been read; set while the end is awaited. */
  #onRead: (() => void) | undefined;
  #exit: { readonly exitCode?: number; readonly signal?: string } | undefined;
  /** Why the process ends: it was requested to, or it exited before. */
  #ending: 'requested' | 'crashed' | undefined;
  /** What broke the connection while the process was alive. */
  #breach: Pick<Seen, 'code' | 'message'> | undefined;
  #noiseCount = 0;
  #launched: Promise<void> | undefined;
  /** Messages that arrived before `start`; undefined from then on. */
  #early: JSONRPCMessage[] | undefined = [];
  #closed: Promise<void> | undefined;
  #exited = Promise.resolve();

  constructor(launch: StdioLaunch, setup: ConnectionSetup, system = processSystem) {
    super(setup);
    this.#launch = launch;
    this.#system = system;
  }

  override get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the process, once. */
  launch(): Promise<void> {
    this.#launched ??= this.#spawn();
    return this.#launched;
  }

  async start(): Promise<void> {
    await this.launch();
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const message of early) this.stages.deliver(message, this.onmessage);
    this.#child?.stdout.resume();
  }

  send(message: JSONRPCMessage): Promise<void> {
    try {
      this.#write(message);
      return alreadySent;
    } catch (error) {
      return Promise.reject(error as NotSentError);
    }
  }

  #write(message: JSONRPCMessage): void {
    const stdin = this.#child?.stdin;
    if (this.isOver || stdin === undefined || !stdin.writable)
      throw new NotSentError('Not connected');
    if (stdin.writableLength > maxUnsentBytes)
      throw new NotSentError('The server does not read its input.');
    const line = `${serialize(message)}\n`;
    this.noteSent(message);
    if (this.#unwritten === '') process.nextTick(this.#flush);
    this.#unwritten += line;
    if (this.#unwritten.length >= maxUnwritten) this.#flush();
  }

  override context(): Partial<Seen> {
    // For a call that was cut off, the client's error says no more than "Connection closed".
    return { ...this.#breach, ...this.#leftBehind() };
  }

  override evidence(): SessionEvidence {
    const noiseCount = this.#noiseCount;
    // A process that is still running may have logged why it does not answer.
    const lines = this.#stderr?.since(Number.NEGATIVE_INFINITY) ?? [];
    const explanation = explainingLine(lines, 'errorsOnly');
    return {
      ...(this.#ending !== 'crashed' && defined({ explanation })),
      ...this.#leftBehind(),
      ...(noiseCount > 0 && { noiseCount }),
    };
  }

  close(): Promise<void> {
    this.#flush();
    this.#ending ??= 'requested';
    this.#closed ??= this.#end();
    this.over();
    return this.#closed;
  }

  dispose(): void {
    this.#ending ??= 'requested';
    if (this.pid !== undefined) void this.#settle(killGroup(this.#group(this.pid)));
    this.#release();
    this.over();
  }

  #leftBehind(): Pick<SessionEvidence, 'exitCode' | 'signal' | 'stderrTail' | 'explanation'> {
    const tail = this.#stderr?.tail() ?? [];
    return {
      // A requested exit explains nothing.
      ...(this.#ending === 'crashed' && { ...this.#exit, ...this.#explanation() }),
      ...(tail.length > 0 && { stderrTail: tail }),
    };
  }

  /** What the process wrote about its end. */
  #explanation(): Pick<SessionEvidence, 'explanation'> {
    const { signal } = { ...this.#exit };
    if (signal !== undefined && sentSignals.has(signal)) return {};
    const searchedFor = signal === undefined ? 'exit' : 'errorsOnly';
    const earliest = this.setup.clock.now() - lastWordsMs;
    return defined({
      explanation:
        explainingLine(this.#stderr?.since(earliest) ?? [], searchedFor) ??
        explainingLine(this.#noise?.since(earliest) ?? [], searchedFor),
    });
  }

  async #spawn(): Promise<void> {
    const { kept } = this.setup;
    const launch = this.#launch as StdioLaunch;
    this.#launch = undefined;
    const { env, cwd } = launch;
    const found = this.#system.startOf(launch);
    // Awaited only where necessary: on other systems, the process boots before any other code runs.
    const { command, args, ...how } = found instanceof Promise ? await found : found;
    if (this.#ending !== undefined)
      throw new NotSentError('The session was closed before its process started.');
    assertSameProgram(launch);
    const child = spawn(command, args, {
      ...how,
      cwd,
      env: { ...env, ...kept?.prepare() },
      shell: false,
      windowsHide: true,
    });
    this.#child = child;
    // None of a process's listeners are ever removed: Node keeps more for one that hears one event.
    this.#exited = new Promise((resolve) => {
      child.on('exit', (code, signal) => {
        resolve();
        this.#onExit(code, signal);
      });
    });
    if (child.pid !== undefined) watchGroup(child.pid);
    const registered = child.pid === undefined ? undefined : kept?.started(child.pid);
    await new Promise<void>((resolve, reject) => {
      this.#listen(child, reject);
      child.on('spawn', resolve);
    });
    // Whatever the server starts because of a message is in its control group.
    await registered;
  }

  #listen(child: ChildProcessWithoutNullStreams, failStart: (error: Error) => void): void {
    const reader = new LineReader(maxMessageBytes, this);
    this.#reader = reader;
    child.on('error', failStart);
    if (!hasPipes(child)) return;
    const { stages } = this;
    child.stdout.on('data', (chunk: Buffer) => {
      // The pipe is still drained: a server that cannot write cannot exit either.
      if (this.isOver) return;
      stages.fence(() => reader.push(chunk));
      this.#pace(child, reader);
    });
    child.stdout.on('end', () => {
      stages.budget.drain();
      stages.fence(() => reader.end());
      this.#awaitExit('The server closed its output.');
    });
    child.stdin.on('error', () => this.#awaitExit('The server closed its input.'));
    child.stdout.on('error', () => this.#awaitExit('The output of the server broke off.'));
    child.stderr.on('data', (chunk: Buffer) =>
      stages.fence(() => {
        this.#stderr ??= this.#ring('stderr');
        const pauseMs = this.#stderr.push(chunk);
        if (pauseMs === 0) return;
        child.stderr.pause();
        this.#after(pauseMs, () => child.stderr.resume());
      }),
    );
    child.stderr.on('end', () => this.#stderr?.end());
    child.stderr.on('error', () => {});
  }

  #ring(stream: 'stderr' | 'stdout'): OutputRing {
    return new OutputRing(this.setup, stream, (why) => this.stages.budget.noteFlood(why));
  }

  /** Yields to other servers, and slows down a server that writes faster than its budget allows. */
  #pace(child: ChildProcessWithoutNullStreams, reader: LineReader): void {
    const { budget } = this.stages;
    if (this.isOver) return;
    if (!reader.isHeld && !budget.isSpent) return this.#onRead?.();
    this.#turns += 1;
    child.stdout.pause();
    budget.whenFree(() => {
      if (!this.isOver) this.stages.fence(() => reader.goOn());
      if (this.#early === undefined) child.stdout.resume();
      this.#pace(child, reader);
    });
  }

  isSpent(): boolean {
    return this.stages.budget.isSpent;
  }

  onLine(line: string): void {
    if (this.isOver) return;
    const messages = this.stages.read(line);
    if (messages.length === 0) this.#ignore(line);
    for (const message of messages) this.#receive(message);
  }

  onTooLong(): void {
    this.lose(tooLong);
  }

  onSkipping(): void {
    this.#skipping = this.#after(skipMs, () => {
      // Our own pause is not the server's delay.
      if (this.isSpent()) this.onSkipping();
      else this.onTooLong();
    });
  }

  onSkippedBytes(count: number): void {
    this.stages.budget.charge(count / charactersPerWork);
  }

  onSkipped(envelope: Parameters<LineListeners['onSkipped']>[0]): void {
    this.#cancel(this.#skipping);
    const [answer] = refusedAnswer(envelope, tooManyBytes);
    if (answer === undefined) this.onTooLong();
    else this.#receive(answer);
  }

  #receive(message: JSONRPCMessage): void {
    if (this.#early === undefined) return this.stages.deliver(message, this.onmessage);
    this.#early.push(message);
    // The pipe holds the rest, and slows down a server that writes too much.
    this.#child?.stdout.pause();
  }

  #ignore(line: string): void {
    if (line.trim() === '') return;
    this.#noiseCount += 1;
    this.#noise ??= this.#ring('stdout');
    if (this.#noiseCount > 1) {
      this.#noise.push(Buffer.from(`${line}\n`));
      return;
    }
    this.#noise.keepUnreported(line);
    const start = printableLine(redactWords(line, this.setup.secrets), 200);
    this.setup.events.remark(`wrote a line to stdout that is not MCP, which is ignored: ${start}`);
    if (/^content-length:/iu.test(line)) {
      this.lose({
        code: 'BAD_RESPONSE',
        message:
          'The server frames its messages with Content-Length headers; MCP wants one message per line.',
      });
    }
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { ...(code !== null && { exitCode: code }), ...(signal !== null && { signal }) };
    const { pid } = this;
    if (this.#ending !== undefined || pid === undefined) return;
    // The server's children have lost their parent and may hold our pipes.
    this.#ending = 'crashed';
    this.stages.budget.drain();
    void this.#system.signal(this.#group(pid), 'SIGKILL', 'group');
    // May be called more than once; only the first loss counts.
    this.#afterDrain(() =>
      this.lose({ message: `The server process ${endOf(this.#leftBehind())}.` }),
    );
  }

  /** Calls back when both pipes have ended and been read, or when draining has taken too long. */
  #afterDrain(finish: () => void): void {
    const streams = [this.#child?.stdout, this.#child?.stderr];
    const check = (): void => {
      if (this.#reader?.isHeld === true) return;
      if (streams.some((stream) => stream?.readableEnded === false && !stream.destroyed)) return;
      finish();
    };
    this.#onRead = check;
    for (const stream of streams) stream?.once('end', check).once('close', check);
    this.#awaitDrain(this.#turns, 0, finish);
    check();
  }

  /**
   * Waits for as long as reading continues in turns, within bounds. After a pause of the event loop,
   * timers run before the pipe is read, so the decision is left to the phase after that.
   */
  #awaitDrain(turnsBefore: number, waitedMs: number, finish: () => void): void {
    const decide = (): void => {
      if (this.isOver) return;
      const goesOn = this.#reader?.isHeld === true || this.#turns !== turnsBefore;
      const totalMs = waitedMs + drainMs;
      if (goesOn && totalMs < longestDrainMs) this.#awaitDrain(this.#turns, totalMs, finish);
      else finish();
    };
    this.#after(drainMs, () => setImmediate(decide));
  }

  #awaitExit(message: string): void {
    if (this.isOver || this.#exit !== undefined) return;
    // Without a process, the spawn error explains it.
    if (this.pid === undefined) return;
    this.setup.events.broke();
    // After a pause of the event loop, timers run before the exit event.
    this.#after(exitGraceMs, () =>
      setImmediate(() => {
        if (this.#exit === undefined) this.lose({ code: 'CONNECTION_CLOSED', message });
      }),
    );
  }

  protected override lose(seen: Seen): void {
    if (this.isOver) return;
    const { code, message } = seen;
    if (code === 'BAD_RESPONSE') this.#breach = { code, message };
    super.lose({ ...seen, ...this.#leftBehind() });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined) {
      const { steps, scope } = this.setup.policy().close;
      const hasCrashed = this.#ending === 'crashed';
      if (!hasCrashed) await this.setup.kept?.ending();
      const ended = endGroup({
        ...this.#group(child.pid),
        hasCrashed,
        endInput: () => child.stdin.end(),
        steps,
        scope,
      });
      await this.#settle(ended);
    }
    this.#release();
  }

  #group(leader: number): Group {
    return {
      system: this.#system,
      leader,
      clock: this.setup.clock,
      exited: this.#exited,
      hasExited: () => this.#exit !== undefined,
      descendants: this.setup.kept?.descendants,
    };
  }

  /** Keeps a group registered if it may not be gone, so that a later run ends it. */
  async #settle(isGone: Promise<boolean>): Promise<void> {
    if (await isGone) this.setup.kept?.gone();
  }

  #release(): void {
    const { clock } = this.setup;
    for (const timer of this.#timers ?? []) clock.clearTimeout(timer);
    this.#timers = undefined;
    const child = this.#child;
    if (child === undefined) return;
    if (hasPipes(child)) {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    }
    // A leader that is still being killed keeps its entry until it has exited.
    const { pid } = child;
    if (pid === undefined) return;
    if (this.#exit !== undefined) forgetGroup(pid);
    else child.once('exit', () => forgetGroup(pid));
  }

  #cancel(timer: unknown): void {
    this.#timers?.delete(timer);
    this.setup.clock.clearTimeout(timer);
  }

  #after(delayMs: number, action: () => void): unknown {
    const timer = this.setup.clock.setTimeout(() => {
      this.#timers?.delete(timer);
      action();
    }, delayMs);
    this.#timers ??= new Set();
    this.#timers.add(timer);
    return timer;
  }
}

/**
 * Returns whether a child has its pipes. When no descriptor is free for them (EMFILE, ENFILE), Node
 * returns a child without pipes.
 */
function hasPipes({ stdout }: ChildProcess): boolean {
  return (stdout as ChildProcess['stdout'] | undefined) !== undefined;
}
