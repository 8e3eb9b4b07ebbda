/** A host with `troupe serve` over stdio, which says of everything it sees for which client it was. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

import { isRecord } from '../../src/domain/data/is-record.ts';
import type { CallEnd, Kind, Verdict } from './verdict.ts';

export interface HostSetup {
  /** In every call that it makes, and in no other client's. */
  readonly name: string;
  /** The arguments of `node`. */
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The servers that it may reach. */
  readonly servers: readonly string[];
  readonly verdict: Verdict;
}

export interface CallPlan {
  readonly asks: boolean;
  readonly ms: number;
  /** Gives up the call after so many milliseconds. */
  readonly patienceMs?: number;
}

type Message = Readonly<Record<string, unknown>>;

const toolOf = (server: string): string => `${server}__work`;
// The last lines are what explains an exit.
const mostNotes = 2_000;

export class Host {
  readonly name: string;
  readonly servers: readonly string[];
  /** Resolves once it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  readonly #verdict: Verdict;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #answers = new Map<number, (answer: Message | undefined) => void>();
  /** The calls in flight at each server. */
  readonly #calling = new Map<string, number>();
  #ids = 0;
  #notes = '';
  #isLeaving = false;
  #isOver = false;

  constructor({ name, words, env, servers, verdict }: HostSetup) {
    this.name = name;
    this.servers = servers;
    this.#verdict = verdict;
    verdict.joined(name, servers);
    this.#child = spawn(process.execPath, words, { env, stdio: 'pipe' });
    // A gateway that was killed.
    this.#child.stdin.on('error', () => undefined);
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#notes = (this.#notes + text).slice(-mostNotes);
      const alone = /^.*running alone.*$/mu.exec(text);
      if (alone !== null) verdict.broken(`client ${name} shares nothing: ${alone[0]}`);
    });
    let rest = '';
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#receive(JSON.parse(line) as Message);
    });
    this.ended = once(this.#child, 'close').then(([exitCode]) => {
      const wasLeaving = this.#isLeaving;
      this.#isLeaving = true;
      this.#isOver = true;
      if (exitCode !== 0 && !this.#child.killed)
        verdict.broken(`the gateway of client ${name} ended with ${exitCode}: ${this.#notes}`);
      else if (!wasLeaving)
        verdict.broken(`the gateway of client ${name} ended by itself: ${this.#notes}`);
      for (const answer of this.#answers.values()) answer(undefined);
    });
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Begins as hosts do. Resolves once the tools are listed, or it has ended. */
  async start(): Promise<void> {
    const capabilities = { elicitation: { form: {} } };
    const clientInfo = { name: this.name, version: '1.0.0' };
    await this.#request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo,
    });
    this.#send({ method: 'notifications/initialized' });
    await this.#request('logging/setLevel', { level: 'info' });
    await Promise.all(
      this.servers.map((server) =>
        this.#request('resources/subscribe', { uri: `troupe://${server}/box://${this.name}` }),
      ),
    );
    const answer = await this.#request('tools/list');
    for (const { name } of toolsOf(answer)) {
      const [server = ''] = String(name).split('__');
      this.#saw('tool', server, this.name);
    }
  }

  /** Resolves with how the call ended. */
  async call(id: string, server: string, { asks, ms, patienceMs }: CallPlan): Promise<CallEnd> {
    const { name } = this;
    this.#verdict.sent(id, name, server);
    this.#calling.set(server, (this.#calling.get(server) ?? 0) + 1);
    const params = {
      name: toolOf(server),
      arguments: { call: id, client: name, asks, ms },
      _meta: { progressToken: `${server} ${id}` },
    };
    const givenUp = new AbortController();
    const timer =
      patienceMs === undefined ? undefined : setTimeout(() => givenUp.abort(), patienceMs);
    const isSent = this.#child.stdin.writable;
    const answer = await this.#request('tools/call', params, givenUp.signal);
    clearTimeout(timer);
    // A line that the gateway got before the end of the call may come after it.
    void this.#request('ping').then(() => {
      this.#calling.set(server, Number(this.#calling.get(server)) - 1);
    });
    // A gateway that is not killed still answers what it has read.
    const isDue = isSent && !givenUp.signal.aborted && !this.#child.killed;
    const end = answer === undefined ? 'left' : this.#endOf(id, server, answer);
    if (end !== undefined && !(end === 'left' && isDue)) this.#verdict.ended(id, end);
    return end ?? 'left';
  }

  /** Ends the gateway as a crash of the host does. */
  kill(): void {
    this.#isLeaving = true;
    this.#child.kill('SIGKILL');
  }

  /** Closes the gateway's input, with calls in flight. */
  leave(): void {
    this.#isLeaving = true;
    this.#child.stdin.end();
  }

  /** How an answer says that the call ended; undefined if it does not say. */
  #endOf(id: string, server: string, { result, error }: Message): CallEnd | undefined {
    if (isRecord(error)) return this.#outcomeIn(id, error['data']);
    const { content, isError, _meta: meta } = isRecord(result) ? result : {};
    if (isError === true)
      return this.#outcomeIn(id, isRecord(meta) ? meta['mcp-troupe/error'] : undefined);
    const [{ text }] = content as [{ text: string }];
    const [call, client = '', word = ''] = text.split(' ');
    this.#saw('answer', server, client);
    if (call !== id) this.#verdict.broken(`call ${id} got the answer of call ${call}`);
    // The answer to the call's question, which this client gave.
    if (word !== 'unasked' && word !== 'refused') this.#saw('answer', server, word);
    return 'ok';
  }

  #outcomeIn(id: string, document: unknown): CallEnd | undefined {
    const outcome = isRecord(document) ? document['outcome'] : undefined;
    if (outcome === 'executed' || outcome === 'not_executed' || outcome === 'unknown')
      return outcome;
    this.#verdict.broken(`call ${id} failed without an outcome: ${JSON.stringify(document)}`);
    return undefined;
  }

  /** Resolves with undefined if the gateway ends first, or the request is given up. */
  #request(
    method: string,
    params: object = {},
    signal?: AbortSignal,
  ): Promise<Message | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve) => {
      const end = (answer: Message | undefined): void => {
        this.#answers.delete(id);
        resolve(answer);
      };
      this.#answers.set(id, end);
      this.#send({ id, method, params });
      signal?.addEventListener('abort', () => {
        this.#send({ method: 'notifications/cancelled', params: { requestId: id } });
        end(undefined);
      });
    });
  }

  #send(message: Message): void {
    if (this.#child.stdin.writable)
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive(message: Message): void {
    const { id, method } = message;
    const params = isRecord(message['params']) ? message['params'] : {};
    if (method === undefined) this.#answers.get(Number(id))?.(message);
    else if (method === 'elicitation/create') this.#answer(id, String(params['message']));
    else if (id !== undefined) this.#send({ id, result: {} });
    else if (typeof method === 'string') this.#note(method, params);
  }

  #answer(id: unknown, question: string): void {
    // The gateway says first which server asks.
    const [server = '', client = ''] = question.split(' ').slice(-2);
    this.#saw('question', server, client);
    this.#send({ id, result: { action: 'accept', content: { word: this.name } } });
  }

  #note(method: string, params: Message): void {
    const { data, progressToken, message, uri } = params;
    if (method === 'notifications/progress')
      this.#saw('progress', String(progressToken).split(' ')[0] ?? '', String(message));
    if (method === 'notifications/resources/updated') {
      const [, server = '', client = ''] =
        /^troupe:\/\/(.*?)\/box:\/\/(.*)$/u.exec(String(uri)) ?? [];
      this.#saw('update', server, client);
    }
    if (method === 'notifications/message' && isRecord(data) && 'client' in data)
      this.#saw('log line', String(data['server']), String(data['client']));
  }

  #saw(kind: Kind, server: string, of: string): void {
    const hasCall = (this.#calling.get(server) ?? 0) > 0;
    this.#verdict.saw({ kind, server, by: this.name, of, hasCall });
  }
}

function toolsOf(answer: Message | undefined): readonly Message[] {
  const { tools } = isRecord(answer?.['result']) ? answer['result'] : {};
  return Array.isArray(tools) ? (tools as readonly Message[]) : [];
}
