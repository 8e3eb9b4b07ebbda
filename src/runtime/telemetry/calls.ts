/**
 * Spans and metrics of calls. A call has one span, and below it one for each wait and each send.
 * Observing never throws; arguments and results are not recorded.
 */

import type {
  Attributes,
  Note,
  OpenTelemetry,
  SafeSpan,
  TraceScope,
} from '../../../actors/host/open-telemetry.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { TransportKind } from '../../domain/server-spec.ts';
import type { SessionCallOptions } from '../../domain/session.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { Replay } from '../../policies/calls/replay-decision.ts';
import { isRecord } from '../../policies/is-record.ts';
import type { CallOptions } from '../troupe.ts';

type Method = 'tools/call' | 'resources/read' | 'prompts/get' | 'completion/complete';

/** Why a call waits before it is sent. */
type Hold = 'wait' | 'queue' | 'permission';

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
  async during<Answer extends Report>(
    method: Method,
    { traceContext }: CallOptions,
    work: (watch: CallWatch) => Promise<Answer>,
  ): Promise<Answer> {
    const startedAt = this.#clock.now();
    const watch = new CallWatch(this.#telemetry, method, traceContext, (labels, context) => {
      const seconds = (this.#clock.now() - startedAt) / 1_000;
      this.#note(seconds, this.#bounded(labels), context);
    });
    try {
      const answer = await this.#telemetry.within(watch.context, () => work(watch));
      // The call continues in the background; `follow` records its end.
      if (answer.meta.background === undefined) watch.answered(answer);
      else watch.leftBehind();
      return answer;
    } catch (error) {
      watch.failed(error);
      throw error;
    }
  }

  #bounded(labels: Attributes): Attributes {
    const { 'mcp_troupe.server.name': server, 'gen_ai.tool.name': tool } = labels;
    return {
      ...labels,
      ...(server !== undefined && { 'mcp_troupe.server.name': this.#servers.of(String(server)) }),
      ...(tool !== undefined && { 'gen_ai.tool.name': this.#tools.of(String(tool)) }),
    };
  }
}

/** Observes one call. */
export class CallWatch {
  readonly #telemetry: OpenTelemetry;
  readonly #method: Method;
  readonly #span: SafeSpan;
  readonly #onEnd: (labels: Attributes, context: TraceScope) => void;
  #labels: Attributes;
  #part: { readonly kind: Hold | 'attempt'; readonly span: SafeSpan } | undefined;
  #attempts = 0;
  #isOver = false;

  constructor(
    telemetry: OpenTelemetry,
    method: Method,
    traceContext: CallOptions['traceContext'],
    onEnd: (labels: Attributes, context: TraceScope) => void,
  ) {
    this.#telemetry = telemetry;
    this.#method = method;
    this.#onEnd = onEnd;
    this.#labels = {
      'mcp.method.name': method,
      ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
    };
    const { context: parent, besides } = telemetry.contextOf(traceContext);
    const attributes = this.#labels;
    this.#span = telemetry.start({ name: method, kind: 'client', attributes, parent, besides });
  }

  get context(): TraceScope {
    return this.#span.context;
  }

  /** Records the call's server, which exists. Names of unknown servers are not recorded. */
  aimedAt({ name, transport }: Pick<ServerStatus, 'name' | 'transport'>): void {
    this.#setLabels({ 'mcp_troupe.server.name': name, ...networkOf(transport) });
  }

  /** Records the call's tool, if it exists. Names of unknown tools are not recorded. */
  found(tool: string | undefined): void {
    if (tool === undefined || this.#labels['gen_ai.tool.name'] === tool) return;
    this.#setLabels({ 'gen_ai.tool.name': tool });
    this.#span.rename(`${this.#method} ${tool}`);
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
    perform: (added: Pick<SessionCallOptions, 'meta'>) => Promise<Answer>,
  ): Promise<Answer> {
    this.#attempts += 1;
    this.#begin('attempt', { 'mcp_troupe.call.attempt': this.#attempts });
    const { context } = this.#part?.span ?? this.#span;
    const meta = this.#telemetry.carried(context);
    return this.#telemetry.within(context, () => perform(meta === undefined ? {} : { meta }));
  }

  /** Records that the attempt failed and may be retried. */
  lost({ code }: TroupeError, replay: Replay): void {
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
    const { isError, resultType } = isRecord(result) ? result : {};
    // A modern server's question is passed on; it does not say whether the tool has begun.
    const outcome = resultType === 'input_required' ? 'unknown' : 'executed';
    this.#end(outcome, isError === true ? 'tool_error' : undefined);
  }

  failed(error: unknown): void {
    if (!(error instanceof TroupeError)) return this.#end('unknown', 'INTERNAL');
    const { code, outcome, rpcCode } = error;
    if (rpcCode !== undefined) this.#span.set({ 'rpc.response.status_code': String(rpcCode) });
    this.#end(outcome, code);
  }

  #setLabels(labels: Attributes): void {
    this.#labels = { ...this.#labels, ...labels };
    this.#span.set(labels);
  }

  #begin(kind: Hold | 'attempt', attributes: Attributes): void {
    this.#endPart();
    if (!this.#span.isRecording) return;
    const parent = this.#span.context;
    const name = `mcp_troupe.call.${kind}`;
    const span = this.#telemetry.start({ name, kind: 'internal', attributes, parent });
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
    const told = { 'mcp_troupe.call.outcome': outcome };
    this.#span.set({ ...told, 'mcp_troupe.call.attempts': this.#attempts });
    this.#span.end(errorType);
    const labels = { ...this.#labels, ...told };
    this.#onEnd(
      errorType === undefined ? labels : { ...labels, 'error.type': errorType },
      this.context,
    );
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
