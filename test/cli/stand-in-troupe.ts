/** A fake troupe for the command line's tests: its state changes only when the test changes it. */

import type { ApprovalRequest } from '../../src/domain/host/approval.ts';
import type { HostEvent, TroupeEventName, TroupeEvents } from '../../src/domain/host/event.ts';
import type { Explanation } from '../../src/domain/host/explanation.ts';
import type { ServerStatus, ServerUsage } from '../../src/domain/host/status.ts';
import type { PermissionChoice } from '../../src/domain/permission.ts';
import type { Step } from '../../src/domain/plan.ts';
import type { Question, QuestionAnswer } from '../../src/domain/question.ts';
import type { ServerLogLine } from '../../src/domain/server-log.ts';
import type { Problem } from '../../src/domain/settings.ts';
import type { ExposedTool } from '../../src/domain/tool.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { countSessions } from '../../src/runtime/assembly/assemble-troupe.ts';
import type { CallOptions, CallReport, Troupe } from '../../src/runtime/troupe.ts';

export interface StandIn extends Troupe {
  /** Sets a server's status and notifies listeners. */
  become(status: ServerStatus): void;
  emit<Name extends TroupeEventName>(name: Name, event: TroupeEvents[Name]): void;
  readonly sent: HostEvent[];
  readonly calls: {
    readonly server: string;
    readonly tool: string;
    readonly args: unknown;
    readonly options: CallOptions;
  }[];
  /** The number of event listeners. */
  listenerCount(): number;
  stopped: boolean;
  /** The answers to questions, oldest first. */
  readonly answers: { readonly id: string; readonly answer: QuestionAnswer }[];
  /** Opens a question. */
  ask(question: Question): void;
}

export interface StandInParts {
  readonly usage?: readonly ServerUsage[];
  readonly servers?: readonly ServerStatus[];
  readonly tools?: readonly ExposedTool[];
  readonly explanations?: readonly Explanation[];
  readonly logs?: ReadonlyMap<string, readonly ServerLogLine[]>;
  readonly steps?: readonly Step[];
  readonly approvals?: readonly ApprovalRequest[];
  readonly problems?: readonly Problem[];
  readonly questions?: readonly Question[];
  readonly permissions?: readonly PermissionChoice[];
  readonly answer?: (args: unknown, options: CallOptions) => Promise<CallReport>;
  /** Reacts to host events. */
  readonly onSend?: (event: HostEvent, troupe: StandIn) => void;
}

const aTime = '2026-01-02T03:04:05.000Z';

/** A server's status; `ready` by default. */
export function statusOf(name: string, more: Partial<ServerStatus> = {}): ServerStatus {
  return {
    name,
    state: 'ready',
    catalog: 'live',
    circuit: 'closed',
    since: aTime,
    generation: 'ab'.repeat(32),
    restarts: 0,
    tools: 0,
    transport: 'stdio',
    source: { file: '/settings/troupe.json', key: `mcpServers.${name}`, line: 3, scope: 'config' },
    ...more,
  };
}

export function toolOf(server: string, tool: string, inputSchema: object = {}): ExposedTool {
  return {
    name: `mcp__${server}__${tool}`,
    server,
    tool,
    inputSchema: { type: 'object', ...inputSchema },
    catalog: 'live',
  };
}

export function approvalOf(server: string, more: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    server,
    fingerprint: 'f1',
    decision: 'pending',
    source: { file: '/project/.mcp.json', key: `mcpServers.${server}`, line: 3, scope: 'project' },
    command: 'node',
    args: ['server.mjs'],
    ...more,
  };
}

export function reportOf(text: string, isError = false): CallReport {
  return {
    result: { content: [{ type: 'text', text }], ...(isError ? { isError } : {}) },
    meta: { server: 'db', tool: 'echo', attempts: 1, durationMs: 4 },
  };
}

export function createStandIn(parts: StandInParts = {}): StandIn {
  const servers = new Map((parts.servers ?? []).map((server) => [server.name, server]));
  const listeners = new Set<{ readonly name: string; readonly listener: (event: never) => void }>();
  let approvals = parts.approvals ?? [];
  let questions = parts.questions ?? [];
  let permissions = parts.permissions ?? [];
  const emit: StandIn['emit'] = (name, event) => {
    for (const each of [...listeners]) if (each.name === name) each.listener(event as never);
  };
  const call = (server: string, tool: string, args: unknown, options: CallOptions = {}) => {
    troupe.calls.push({ server, tool, args, options });
    return (parts.answer ?? (() => Promise.resolve(reportOf('hello'))))(args, options);
  };
  const notHere = (): never => {
    throw new Error('the stand-in does not do this');
  };
  const troupe: StandIn = {
    sent: [],
    calls: [],
    stopped: false,
    answers: [],
    emit,
    become(status) {
      servers.set(status.name, status);
      emit('status.changed', { status });
    },
    listenerCount: () => listeners.size,
    inspection: new Proxy({} as StandIn['inspection'], { get: notHere }),
    ready: () => Promise.resolve({ live: [], deferred: [], pending: [], failed: [], elapsedMs: 1 }),
    required: notHere,
    openClient: notHere,
    views: () => [],
    view: notHere,
    listed: () => Promise.resolve(true),
    tools: () => parts.tools ?? [],
    searchTools: () => [],
    catalog: notHere,
    resources: () => [],
    resourceTemplates: () => [],
    prompts: () => [],
    instructions: () => [],
    profile: () => undefined,
    readResource: notHere,
    getPrompt: notHere,
    complete: notHere,
    subscribe: notHere,
    wantLogs: notHere,
    addServer: notHere,
    backgroundServers: () => [],
    backgroundCalls: () => [],
    collect: notHere,
    refresh: notHere,
    login: notHere,
    finishLogin: notHere,
    logout: notHere,
    accounts: notHere,
    permissions: () => Promise.resolve(permissions),
    forgetPermissions: ({ server, tool } = {}) => {
      const before = permissions.length;
      permissions = permissions.filter(
        (one) =>
          (server !== undefined && one.server !== server) ||
          (tool !== undefined && one.tool !== tool),
      );
      return Promise.resolve(before - permissions.length);
    },
    removeServer: notHere,
    usage: () => Promise.resolve(parts.usage ?? []),
    snapshot: () => ({
      troupe: {
        pid: process.pid,
        version: '0.0.0',
        since: aTime,
        state: 'running',
        sessions: countSessions([...servers.values()]),
        problems: parts.problems ?? [],
      },
      servers: [...servers.values()],
    }),
    status: (name) => servers.get(name),
    server: notHere,
    [Symbol.observable]: notHere,
    explain: (name) => parts.explanations?.find(({ status }) => status.name === name),
    logs: (name) => parts.logs?.get(name),
    plan: () => Promise.resolve(parts.steps ?? []),
    checkSettings: () =>
      Promise.resolve({
        files: [],
        problems: (parts.problems ?? []).map(({ severity = 'error', ...problem }) => ({
          ...problem,
          severity,
        })),
      }),
    questions: () => questions,
    answer(id, answer) {
      const asked = questions.find((each) => each.id === id);
      if (asked === undefined) throw new TroupeError('INVALID_ARGUMENTS', `no question ${id}`);
      troupe.answers.push({ id, answer });
      questions = questions.filter((each) => each !== asked);
      emit('question.settled', { id, server: asked.server, end: answer.action });
    },
    ask(question) {
      questions = [...questions, question];
      emit('question.asked', { question });
    },
    approvals: (server) =>
      approvals.filter((each) => server === undefined || each.server === server),
    approvalsSaved: async () => true,
    callTool: notHere,
    callServerTool: call,
    on(name, listener) {
      const entry = { name, listener: listener as (event: never) => void };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
    send(event) {
      troupe.sent.push(event);
      if (event.type === 'approval.grant') {
        approvals = approvals.map((each) =>
          each.server === event.server ? { ...each, decision: 'granted' } : each,
        );
      }
      parts.onSend?.(event, troupe);
    },
    waitFor(name) {
      const status = servers.get(name);
      return status === undefined ? notHere() : Promise.resolve(status);
    },
    restartAndWait: notHere,
    stop() {
      troupe.stopped = true;
      // The command line does not ask for a report.
      return Promise.resolve() as Promise<never>;
    },
    [Symbol.asyncDispose]: () => troupe.stop(),
  };
  return troupe;
}
