/** One trace from a client through the gateway to real servers, beside the client's other metadata. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Gateway } from '../../src/gateway/gateway.ts';
import { startHttpGateway } from '../../src/gateway/http-gateway.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import { realClock } from '../../src/runtime/real-clock.ts';
import type { CallReport, TroupeOptions } from '../../src/runtime/troupe.ts';
import { recordTelemetry, rememberActiveSpans } from '../support/telemetry-recorder.ts';
import { connect, token } from './gateway-stage.ts';

const server = path.resolve('test/fixtures/meta-server.mjs');
const client = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=1',
  baggage: 'tenant=7',
};

type Meta = Readonly<Record<string, unknown>>;

function start(
  telemetry: TroupeOptions['telemetry'],
  { era = 'both', ...entry }: Readonly<Record<string, unknown>> & { readonly era?: string } = {},
) {
  const meta = { command: process.execPath, args: [server, era], ...entry };
  const troupe = createTroupe({
    settings: { mcpServers: { meta } },
    sources: [],
    ...(telemetry === undefined ? {} : { telemetry }),
  });
  onTestFinished(() => troupe.stop());
  return troupe;
}

async function servedBy(telemetry: TroupeOptions['telemetry'], era?: 'both' | 'modern') {
  const troupe = start(telemetry, era === undefined ? {} : { era });
  await troupe.waitFor('meta', 'ready');
  const gateway = new Gateway({ troupe, clock: realClock, report: () => undefined });
  const http = await startHttpGateway(gateway, {
    host: '127.0.0.1',
    port: 0,
    isLoopback: true,
    hosts: [],
    token,
  });
  onTestFinished(async () => {
    await http.close(0);
    gateway.close();
  });
  return { url: new URL(http.url) };
}

function metaIn(content: unknown): Meta {
  const [block] = content as readonly { readonly text: string }[];
  return JSON.parse(block?.text ?? '{}') as Meta;
}

const metaOf = ({ result }: CallReport): Meta => metaIn(result.content);
const spanIdIn = ({ traceparent }: Meta): unknown => String(traceparent).split('-')[2];

describe.each([
  ['auto', 'both'],
  ['auto', 'modern'],
  ['legacy', 'both'],
  ['legacy', 'modern'],
] as const)("a client's trace (%s) to a server (%s)", (mode, era) => {
  it("passes through the gateway with the client's other metadata", async () => {
    const recorder = recordTelemetry();
    const there = await servedBy(recorder.providers, era);
    const caller = await connect(there, mode);
    const { content } = await caller.callTool({
      name: 'meta__echo',
      arguments: {},
      _meta: { ...client, 'example.com/tenant': { id: 7 }, progressToken: 'mine' },
    });
    const seen = metaIn(content);
    const call = recorder.span('tools/call echo');
    expect(call.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    const { traceId, spanId } = call.spanContext();
    expect(traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(seen).toMatchObject({
      ...client,
      'example.com/tenant': { id: 7 },
      traceparent: `00-${traceId}-${spanId}-01`,
    });
    expect(seen['progressToken']).not.toBe('mine');
  });

  it('reaches the server unchanged without telemetry', async () => {
    const there = await servedBy(undefined, era);
    const caller = await connect(there, mode);
    const { content } = await caller.callTool({
      name: 'meta__echo',
      arguments: {},
      _meta: { ...client, locale: 'de' },
    });
    expect(metaIn(content)).toEqual({ ...client, locale: 'de' });
  });
});

describe.each(['both', 'modern'])("a host's call to a server (%s)", (era) => {
  it.each([
    ['by the direct path', {}],
    ['with progress', { onProgress: () => undefined }],
  ])('carries the active trace and baggage %s', async (_way, options) => {
    rememberActiveSpans();
    const recorder = recordTelemetry();
    const troupe = start(recorder.providers, { era });
    await troupe.waitFor('meta', 'ready');
    const turn = recorder.tracerProvider.getTracer('host').startSpan('turn');
    const baggage = propagation.createBaggage({ tenant: { value: '7' } });
    const active = propagation.setBaggage(trace.setSpan(ROOT_CONTEXT, turn), baggage);
    const report = await context.with(active, () =>
      troupe.callServerTool('meta', 'echo', {}, options),
    );
    const { traceId, spanId } = recorder.span('tools/call echo').spanContext();
    expect(traceId).toBe(turn.spanContext().traceId);
    expect(metaOf(report)).toMatchObject({
      traceparent: `00-${traceId}-${spanId}-01`,
      baggage: 'tenant=7',
    });
  });
});

it('each attempt sends its number to the server', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'telemetry-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const healthy = path.join(folder, 'healthy');
  const recorder = recordTelemetry();
  const env = { HEALTHY_FILE: healthy };
  const troupe = start(recorder.providers, { env, policy: { call: { replay: 'once' } } });
  const report = await troupe.callServerTool('meta', 'echo');
  expect(report.meta.attempts).toBe(2);
  const sendings = recorder
    .spans()
    .filter(({ name }) => name === 'mcp_troupe.call.attempt')
    .map((span) => span.spanContext().spanId);
  const first = JSON.parse(readFileSync(healthy, 'utf8')) as Meta;
  expect([spanIdIn(first), spanIdIn(metaOf(report))]).toEqual(sendings);
});
