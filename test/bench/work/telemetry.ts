/** What OpenTelemetry adds to a call over stdio: with its API alone, and with its SDK but no exporter. */

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
const modes = ['off', 'api', 'sdk'] as const;

async function telemetryOf(mode: string): Promise<TroupeOptions['telemetry']> {
  if (mode !== 'sdk') return mode === 'api';
  const { BasicTracerProvider } = await import('@opentelemetry/sdk-trace-base');
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  return { tracerProvider: new BasicTracerProvider(), meterProvider: new MeterProvider() };
}

async function job({ command, args }: ReturnType<typeof stdioServer>): Promise<Values> {
  const { createTroupe } = await importPublished();
  const troupes = new Map<string, Troupe>();
  for (const mode of modes) {
    const telemetry = await telemetryOf(mode);
    const troupe = createTroupe({
      settings: { mcpServers: { echo: { command, args } } },
      ...(telemetry !== undefined && { telemetry }),
    });
    await troupe.waitFor('echo', 'ready');
    troupes.set(mode, troupe);
  }
  const costs = new Map<string, number[]>(modes.map((mode) => [mode, []]));
  for (let block = 0; block < blocks; block += 1) {
    for (const mode of turnsOf(modes, block)) {
      const call = async (): Promise<unknown> =>
        troupes.get(mode)?.callServerTool('echo', 'echo', { text: 'a short text' });
      const { cpuMs } = await timed(() => crowd(call, callsInBlock));
      if (block >= warmUpBlocks) costs.get(mode)?.push((cpuMs * 1_000) / callsInBlock);
    }
  }
  await Promise.all([...troupes.values()].map((troupe) => troupe.stop()));
  const [off = 0, api = 0, sdk = 0] = modes.map((mode) => median(costs.get(mode) ?? []));
  return { api: api - off, sdk: sdk - off };
}

const title = `echo over stdio, ${inFlight} in flight, CPU added per call by OpenTelemetry`;

export const telemetryWork: Work = {
  name: 'telemetry',
  measures: [
    measure('api', `${title}: API alone`, 'us'),
    measure('sdk', `${title}: SDK`, 'us', below(3)),
  ],
  rounds: { full: 5, quick: 2 },
  run: (context) => ownRounds(context, telemetryWork, stdioServer('echo'), 120_000),
  job,
};
