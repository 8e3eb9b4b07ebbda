/**
 * What OpenTelemetry adds to a call over stdio: with its API alone, and with its SDK but no exporter. The
 * same span and metric made by hand, around calls without telemetry, say how much is the SDK's own.
 */

import { ROOT_CONTEXT, SpanKind, context as scope, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';

import type { Troupe, TroupeOptions } from '../../../src/index.ts';
import { importPublished } from '../published.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { below, measure, ownRounds, timed, turnsOf, type Values, type Work } from '../work.ts';
import { crowd, inFlight } from './calls.ts';

const callsInBlock = 2_000;
const blocks = 16;
// The compiler is still at work.
const warmUpBlocks = 4;
const modes = ['off', 'api', 'sdk', 'hand'] as const;

function telemetryOf(mode: (typeof modes)[number]): TroupeOptions['telemetry'] {
  if (mode !== 'sdk') return mode === 'api';
  return { tracerProvider: new BasicTracerProvider(), meterProvider: new MeterProvider() };
}

/** Makes for each call what a troupe with telemetry makes. */
function observed(call: () => Promise<unknown>): () => Promise<unknown> {
  const tracer = new BasicTracerProvider().getTracer('bench');
  const durations = new MeterProvider().getMeter('bench').createHistogram('duration');
  const attributes = {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'echo',
    'mcp_troupe.server.name': 'echo',
    'network.transport': 'pipe',
  };
  const outcome = { 'mcp_troupe.call.outcome': 'executed' };
  return async () => {
    const from = performance.now();
    const span = tracer.startSpan('tools/call echo', { kind: SpanKind.CLIENT, attributes });
    const within = trace.setSpan(ROOT_CONTEXT, span);
    const answer = await scope.with(within, call);
    span.setAttributes({ ...outcome, 'mcp_troupe.call.attempts': 1 });
    span.end();
    durations.record((performance.now() - from) / 1_000, { ...attributes, ...outcome }, within);
    return answer;
  };
}

async function job({ command, args }: ReturnType<typeof stdioServer>): Promise<Values> {
  const { createTroupe } = await importPublished();
  const troupes: Troupe[] = [];
  const calls = new Map<string, () => Promise<unknown>>();
  for (const mode of modes) {
    const telemetry = telemetryOf(mode);
    const troupe = createTroupe({
      settings: { mcpServers: { echo: { command, args } } },
      ...(telemetry !== undefined && { telemetry }),
    });
    await troupe.waitFor('echo', 'ready');
    troupes.push(troupe);
    const call = () => troupe.callServerTool('echo', 'echo', { text: 'a short text' });
    calls.set(mode, mode === 'hand' ? observed(call) : call);
  }
  const costs = new Map<string, number[]>(modes.map((mode) => [mode, []]));
  for (let block = 0; block < blocks; block += 1) {
    for (const mode of turnsOf(modes, block)) {
      const call = calls.get(mode) as () => Promise<unknown>;
      const { cpuMs } = await timed(() => crowd(call, callsInBlock));
      if (block >= warmUpBlocks) costs.get(mode)?.push((cpuMs * 1_000) / callsInBlock);
    }
  }
  await Promise.all(troupes.map((troupe) => troupe.stop()));
  const [off = 0, api = 0, sdk = 0, hand = 0] = modes.map((mode) => median(costs.get(mode) ?? []));
  return { api: api - off, sdk: sdk - off, own: hand - off };
}

const title = `echo over stdio, ${inFlight} in flight, CPU added per call by OpenTelemetry`;

export const telemetryWork: Work = {
  name: 'telemetry',
  measures: [
    measure('api', `${title}: API alone`, 'us'),
    measure('sdk', `${title}: SDK`, 'us', below(3)),
    measure('own', `${title}: SDK, of which its own work`, 'us'),
  ],
  rounds: { full: 5, quick: 2 },
  run: (context) => ownRounds(context, telemetryWork, stdioServer('echo'), 120_000),
  job,
};
