/**
 * Spans and metrics of calls. A call has one span, and below it one for each wait and each attempt,
 * unless its only attempt succeeds at once. Observing never throws; arguments and results are not
 * recorded.
 */

import type {
  Attributes,
  Note,
  OpenTelemetry,
  SafeSpan,
  TraceScope,
} from '../../../actors/host/open-telemetry.ts';
import type { Clock } from '../../domain/clock.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { asksForInput } from '../../domain/question.ts';
import type { TransportKind } from '../../domain/server-spec.ts';
import type { SessionCallOptions } from '../../domain/session.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { Replay } from '../../policies/calls/replay-decision.ts';
import { withoutTrace } from '../../protocol/meta.ts';
import { type CallKind, methods } from '../../protocol/methods.ts';
import type { CallOptions } from '../troupe.ts';

/** Why a call waits before it is sent. */
type Hold = 'wait' | 'queue' | 'hook' | 'permission';

interface Report {
  readonly result: unknown;
  readonly meta: { readonly attempts: number; readonly background?: string };
}

// The boundaries from the semantic conventions, in seconds.
const boundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

export class CallTelemetry {
  readonly #telemetry: OpenTelemetry;
  readonly #clock: Clock;
  readonly #note: Note;
  readonly #servers = new BoundedLabels();
  readonly #tools = new BoundedLabels();

  constructor(telemetry: OpenTelemetry, clock: Clock) {
    this.#telemetry = telemetry;
    this.#clock = clock;
    this.#note = telemetry.histogram(
      'mcp.client.operation.duration',
      'How long calls took, waiting and all.',
      boundaries,
    );
  }

  /** Runs a call within its caller's trace, and records its outcome. */
  during<Answer extends Report>(
    kind: CallKind,
    { traceContext }: CallOptions,
    work: (watch: CallWatch) => Promise<Answer>,
  ): Promise<Answer> {
    const startedAt = this.#clock.now();
    const method = methods[kind].name;
    const watch = new CallWatch(this.#telemetry, method, traceContext, (ended) => {
      const seconds = (this.#clock.now() - startedAt) / 1_000;
      this.#note(seconds, this.#labelsOf(method, ended), ended.context);
    });
    return this.#telemetry
      .within(watch.context, () => work(watch))
      .then(
        (answer) => {
          // The call continues in the background; `follow` records its end.
          if (answer.meta.background === undefined) watch.answered(answer);
          else watch.leftBehind();
          return answer;
        },
        (error: unknown) => {
          watch.failed(error);
          throw error;
        },
      );
  }

  #labelsOf(method: string, { server, tool, outcome, errorType }: EndedCall): Attributes {
    const labels: Labels = startOf(method);
    if (server !== undefined) labelServer(labels, this.#servers.of(server.name), server.transport);
    if (tool !== undefined) labels['gen_ai.tool.name'] = this.#tools.of(tool);
    labels['mcp_troupe.call.outcome'] = outcome;
    if (errorType !== undefined) labels['error.type'] = errorType;
    return labels;
  }
}

/** Attributes under construction. Copies by spread would cost more than the call. */
type Labels = Record<string, string | number>;

function startOf(method: string): Labels {
  return method === methods.callTool.name
    ? { 'mcp.method.name': method, 'gen_ai.operation.name': 'execute_tool' }
    : { 'mcp.method.name': method };
}

function labelServer(labels: Labels, name: string, transport: TransportKind): void {
  labels['mcp_troupe.server.name'] = name;
  Object.assign(labels, networkOf(transport));
}

type CalledServer = Pick<ServerStatus, 'name' | 'transport'>;

interface EndedCall {
  readonly context: TraceScope;
  readonly server: CalledServer | undefined;
  readonly tool: string | undefined;
  readonly outcome: TroupeError['outcome'];
  readonly errorType: string | undefined;
}

/** Observes one call. */
export class CallWatch {
  readonly #telemetry: OpenTelemetry;
  readonly #method: string;
  readonly #span: SafeSpan;
  readonly #onEnd: (ended: EndedCall) => void;
  #server: CalledServer | undefined;
  #tool: string | undefined;
  #part: { readonly kind: Hold | 'attempt'; readonly span: SafeSpan } | undefined;
  #attempts = 0;
  /** When the first attempt was sent, if the call did not wait before it. */
  #sentAt: number | undefined;
  #isOver = false;

  constructor(
    telemetry: OpenTelemetry,
    method: string,
    traceContext: CallOptions['traceContext'],
    onEnd: (ended: EndedCall) => void,
  ) {
    this.#telemetry = telemetry;
    this.#method = method;
    this.#onEnd = onEnd;
    const { context: parent, besides } = telemetry.contextOf(traceContext);
    const attributes = startOf(method);
    this.#span = telemetry.start({ name: method, kind: 'client', attributes, parent, besides });
  }

  get context(): TraceScope {
    return this.#span.context;
  }

  /** Records the call's server, which exists. Names of unknown servers are not recorded. */
  aimedAt(server: CalledServer): void {
    this.#server = server;
  }

  /** Records the call's tool, if it exists. Names of unknown tools are not recorded. */
  found(tool: string | undefined): void {
    this.#tool = tool;
  }

  /**
   * Records that the call cannot be sent yet. Repeated reports of the same reason count as one
   * wait.
   */
  held(hold: Hold, state?: ServerStatus['state']): void {
    if (this.#part?.kind === hold) return;
    this.#begin(hold, state === undefined ? {} : { 'mcp_troupe.server.state': state });
  }

  /** Sends the call within its trace, and passes the trace context to the server. */
  send<Answer>(
    options: SessionCallOptions,
    perform: (options: SessionCallOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const own = withoutTrace(options.meta);
    const carrying = (context: TraceScope): SessionCallOptions => {
      const trace = this.#telemetry.carried(context);
      return { ...options, meta: own && trace ? { ...own, ...trace } : (own ?? trace) };
    };
    this.#attempts += 1;
    // The call's span covers an attempt that is sent at once, and is already active.
    if (this.#attempts === 1 && this.#part === undefined) {
      this.#sentAt = this.#telemetry.now();
      return perform(carrying(this.#span.context));
    }
    this.#begin('attempt', { 'mcp_troupe.call.attempt': this.#attempts });
    const { context } = this.#part?.span ?? this.#span;
    const traced = carrying(context);
    return this.#telemetry.within(context, () => perform(traced));
  }

  /** Records that the attempt failed and may be retried. */
  lost({ code }: TroupeError, replay: Replay): void {
    // The call continues without this attempt, so the call's span no longer describes it.
    if (this.#sentAt !== undefined)
      this.#begin('attempt', { 'mcp_troupe.call.attempt': 1 }, this.#sentAt);
    this.#sentAt = undefined;
    this.#endPart(code);
    if (replay !== 'no') {
      const attributes = { 'error.type': code, 'mcp_troupe.call.replay': replay };
      this.#span.event('mcp_troupe.call.replay', attributes);
    }
  }

  leftBehind(): void {
    this.#span.event('mcp_troupe.call.background');
  }

  /** Records the end of a call that its caller did not wait for. */
  follow(running: Promise<Report>): void {
    running.then(
      (report) => this.answered(report),
      (error: unknown) => this.failed(error),
    );
  }

  answered({ result }: Pick<Report, 'result'>): void {
    const isError = isRecord(result) && result['isError'] === true;
    this.#end(asksForInput(result) ? 'unknown' : 'executed', isError ? 'tool_error' : undefined);
  }

  failed(error: unknown): void {
    if (!(error instanceof TroupeError)) return this.#end('unknown', 'INTERNAL');
    const { code, outcome, rpcCode } = error;
    if (rpcCode !== undefined) this.#span.set({ 'rpc.response.status_code': String(rpcCode) });
    this.#end(outcome, code);
  }

  #begin(kind: Hold | 'attempt', attributes: Attributes, startedAt?: number): void {
    this.#endPart();
    if (!this.#span.isRecording) return;
    const parent = this.#span.context;
    const name = `mcp_troupe.call.${kind}`;
    const span = this.#telemetry.start({ name, kind: 'internal', attributes, parent, startedAt });
    this.#part = { kind, span };
  }

  #endPart(errorType?: string): void {
    this.#part?.span.end(errorType);
    this.#part = undefined;
  }

  #end(outcome: TroupeError['outcome'], errorType?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endPart();
    this.#describe(outcome);
    this.#span.end(errorType);
    const [server, tool, context] = [this.#server, this.#tool, this.context];
    this.#onEnd({ context, server, tool, outcome, errorType });
  }

  /** Sets at once what has become known of the call. */
  #describe(outcome: TroupeError['outcome']): void {
    if (!this.#span.isRecording) return;
    const labels: Labels = {};
    if (this.#server !== undefined) labelServer(labels, this.#server.name, this.#server.transport);
    if (this.#tool !== undefined) {
      labels['gen_ai.tool.name'] = this.#tool;
      this.#span.rename(`${this.#method} ${this.#tool}`);
    }
    labels['mcp_troupe.call.outcome'] = outcome;
    labels['mcp_troupe.call.attempts'] = this.#attempts;
    this.#span.set(labels);
  }
}

/**
 * Returns the network attributes of the semantic conventions. A server inside the host has none.
 */
export function networkOf(transport: TransportKind): Attributes {
  switch (transport) {
    case 'stdio':
      return { 'network.transport': 'pipe' };
    case 'ws':
      return { 'network.transport': 'tcp', 'network.protocol.name': 'websocket' };
    case 'http':
    case 'sse':
      return { 'network.transport': 'tcp', 'network.protocol.name': 'http' };
    case 'memory':
      return {};
  }
}

// The SDK's own limit for one metric; beyond it, the SDK would drop the servers' labels.
const mostLabels = 2_000;

/** Replaces names in a metric once there are too many: a troupe that is edited for weeks has had a lot of them. */
export class BoundedLabels {
  readonly #known = new Set<string>();

  of(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= mostLabels) return '_OTHER';
    this.#known.add(name);
    return name;
  }
}
