/** A session whose server asks questions and whose host answers them, as the test directs. */

import { Caller } from '../../../../actors/session/calls/call.ts';
import {
  type AskableThings,
  capabilitiesFor,
} from '../../../../actors/session/calls/question-reading.ts';
import { SessionQuestions } from '../../../../actors/session/calls/session-questions.ts';
import type { QuestionPorts } from '../../../../actors/session/ports.ts';
import type { Connection } from '../../../../actors/transports/connection/connection.ts';
import type {
  QuestionAnswer,
  QuestionBody,
  QuestionParty,
  RootFolder,
} from '../../../../src/domain/question.ts';
import type { SessionCallOptions, SessionHandle } from '../../../../src/domain/session.ts';
import { createClient } from '../../../../src/protocol/mcp-client.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { ScriptedTransport } from '../../../fixtures/scripted-transport.ts';
import { turn } from '../../../support/turn.ts';

export type Sent = Record<string, unknown> & { readonly id?: number; readonly method?: string };

/** A question that a session passed to the host. */
export interface Asked {
  readonly body: QuestionBody;
  readonly party: QuestionParty | undefined;
  readonly signal: AbortSignal;
  readonly answer: (answer: QuestionAnswer | undefined) => void;
}

/** Ports that record their questions. */
export function createPorts(kinds: QuestionPorts['kinds'], folders?: RootFolder[]) {
  const asked: Asked[] = [];
  const listeners = new Set<() => void>();
  const ports: QuestionPorts = {
    kinds,
    roots: () => folders,
    onRootsChanged: (callback) => {
      listeners.add(callback);
      return () => void listeners.delete(callback);
    },
    ask: (_server, body, party, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(undefined));
        asked.push({ body, party, signal, answer: resolve });
      }),
  };
  return { ports, asked, listeners };
}

export interface QuestionBench {
  readonly transport: ScriptedTransport;
  readonly clock: VirtualClock;
  readonly handle: Pick<SessionHandle, 'callTool' | 'request'>;
  readonly asked: readonly Asked[];
  /** Why questions that were passed to no caller were declined. */
  readonly declined: readonly string[];
  /** The capabilities that the session announced. */
  readonly announced: unknown;
  /** Listeners for changed roots. */
  readonly listeners: ReadonlySet<() => void>;
  call(
    tool: string,
    options?: Partial<SessionCallOptions> & { timeoutMs?: number },
  ): Promise<string>;
  /** The server asks; `of`: on the response stream of the call with this number. */
  ask(id: number | string, method: string, params: unknown, of?: number): Promise<void>;
  tell(method: string, params: unknown): Promise<void>;
  /** The server answers the call with this number. */
  answerCall(number: number, rest?: Record<string, unknown>): Promise<void>;
  /** The reply to the server's request. */
  toldTo(id: number | string): unknown;
  sent(method: string): readonly Sent[];
  stop(): void;
}

export interface BenchChoice extends Partial<AskableThings> {
  readonly kind?: 'stdio' | 'http';
  readonly isLight?: boolean;
  readonly folders?: RootFolder[];
}

export async function questionBench(choice: BenchChoice = {}): Promise<QuestionBench> {
  const { kinds = ['form', 'url'], kind = 'stdio', isLight = true, folders } = choice;
  const things = { kinds, hasRoots: folders !== undefined };
  const { ports, asked, listeners } = createPorts(kinds, folders);
  const transport = new ScriptedTransport();
  const client = createClient({ mode: 'legacy' }, () => {}, capabilitiesFor(things));
  await client.connect(transport);
  const clock = new VirtualClock();
  const origins = new WeakMap<object, number>();
  const connection = {
    kind,
    transport,
    stages: transport.stages,
    context: () => ({}),
    requestOf: (message: object) => origins.get(message),
  };
  const declined: string[] = [];
  const questions = new SessionQuestions({
    ...things,
    server: 'db',
    ports,
    secrets: ['hunter22'],
    onDeclined: (reason) => void declined.push(reason),
  });
  const handle = new Caller({
    server: 'db',
    clock,
    client,
    connection: connection as unknown as Connection,
    secrets: [],
    questions,
    ending: () => undefined,
    toolNamed: () => undefined,
    logLevel: () => undefined,
    rules: () => [],
    reasonFor: () => '',
    onTrouble: () => {},
    remark: () => {},
  });
  const allSent = transport.sent as unknown as readonly Sent[];
  const calls = () => allSent.filter(({ method }) => method === 'tools/call');
  const handshake = allSent.find(({ method }) => method === 'initialize')?.['params'];
  return {
    transport,
    clock,
    handle,
    asked,
    declined,
    listeners,
    announced: (handshake as Record<string, unknown>)['capabilities'],
    async call(tool, { timeoutMs = 1_000, ...options } = {}) {
      const progress = isLight ? {} : { onProgress: () => {} };
      const deadlineAt = clock.now() + timeoutMs;
      const all = { deadlineAt, party: { tool }, ...progress, ...options };
      const answer = await handle.callTool(tool, {}, all);
      return 'failure' in answer ? answer.failure.reason : 'ok';
    },
    async ask(id, method, params, of) {
      const message = { jsonrpc: '2.0', id, method, params };
      const origin = of === undefined ? undefined : calls()[of]?.id;
      transport.receive(message, (read) => {
        if (origin !== undefined) origins.set(read, origin);
      });
      await turn();
    },
    async tell(method, params) {
      transport.receive({ jsonrpc: '2.0', method, params });
      await turn();
    },
    async answerCall(number, rest = { result: { content: [] } }) {
      transport.receive({ jsonrpc: '2.0', id: calls()[number]?.id, ...rest });
      await turn();
    },
    toldTo(id) {
      const told = allSent.filter((each) => each.method === undefined && each.id === id);
      if (told.length > 1) throw new Error(`request ${id} was answered ${told.length} times`);
      return told[0]?.['result'] ?? told[0]?.['error'];
    },
    sent: (method) => allSent.filter((each) => each.method === method),
    stop: () => questions.stop(),
  };
}

export const nameForm = {
  message: 'Who are you?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
