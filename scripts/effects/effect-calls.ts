/**
 * Calls a tool that counts its runs on disk, while its server dies at every point of a call.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { createTroupe, type Troupe, TroupeError } from '../../src/index.ts';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import { killAll } from '../../test/lab/processes.ts';
import { Endpoint } from './effect-endpoint.ts';
import { type CallArguments, type Place, places } from './effect-places.ts';

export const carriers = ['stdio', 'http'] as const;
export type Carrier = (typeof carriers)[number];

/** How one call ended. */
export interface CallEnd {
  readonly n: number;
  readonly carrier: Carrier;
  readonly place: Place;
  readonly end: 'ok' | 'not_executed' | 'executed' | 'unknown';
  readonly code?: string;
  /** How often the tool ran. */
  readonly effects: number;
}

export interface EffectRun {
  readonly calls: number;
  /** Equal seeds give equal calls, though not equal races. */
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

const serverFile = fileURLToPath(
  new URL('../../test/faults/servers/effect-counter.mjs', import.meta.url),
);

// A server that dies hundreds of times must restart immediately and forever.
const patient = {
  restart: {
    on: 'always',
    delays: [1],
    jitter: 'none',
    maxAttempts: null,
    budgetReset: 'immediate',
  },
  startup: { maxAttempts: null },
  storm: { crashLoop: null, reconnectStorm: null },
  breaker: { threshold: null },
};
// Several callers per server, so that one call's death affects others.
const serversEach = 4;
const callersEach = 4;
const callMs = 30_000;
// More than a pipe or socket buffers, so that its first half arrives alone.
const longArgument = 400_000;

/** Makes the calls over both carriers in turn and returns how each ended. */
export async function runEffects({
  calls,
  seed,
  onProgress,
}: EffectRun): Promise<readonly CallEnd[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-effects-'));
  const file = path.join(folder, 'effects');
  writeFileSync(file, '');
  const endpoints = await Promise.all(
    Array.from({ length: serversEach }, () => Endpoint.start(file)),
  );
  const mcpServers = Object.fromEntries(
    endpoints.flatMap(({ url }, index) => [
      [`stdio${index}`, { command: process.execPath, args: [serverFile, file] }],
      [`http${index}`, { url }],
    ]),
  );
  const settings = { mcpServers, mcp: { policy: patient, slots: { local: 8, remote: 8 } } };
  const troupe = createTroupe({ settings, projectRoot: folder });
  try {
    await troupe.ready();
    let draws = 0;
    const random = (): number => chanceOf(seed, (draws += 1));
    const planned = Array.from({ length: calls }, (_, n): Plan => {
      const carrier = carriers[n % carriers.length] ?? 'stdio';
      // Two of five calls do not kill their server, so that other calls can die with it.
      const place =
        random() < 0.4
          ? 'nowhere'
          : (places[1 + Math.floor(random() * (places.length - 1))] ?? 'abort');
      return { n, carrier, place, index: Math.floor(random() * serversEach), chance: random() };
    });
    const waiting = [...planned];
    const ended: Omit<CallEnd, 'effects'>[] = [];
    const work = async (): Promise<void> => {
      for (let plan = waiting.shift(); plan !== undefined; plan = waiting.shift()) {
        ended.push(await callOnce(troupe, endpoints, plan));
        onProgress?.(ended.length);
      }
    };
    await Promise.all(Array.from({ length: serversEach * callersEach }, work));
    // An aborted call may still run; after the stop nothing does.
    await troupe.stop();
    const effects = effectsIn(file);
    return ended
      .toSorted((a, b) => a.n - b.n)
      .map((end) => ({ ...end, effects: effects.get(end.n) ?? 0 }));
  } finally {
    await troupe.stop();
    await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Plan extends Pick<CallEnd, 'n' | 'carrier' | 'place'> {
  readonly index: number;
  readonly chance: number;
}

async function callOnce(
  troupe: Troupe,
  endpoints: readonly Endpoint[],
  { n, carrier, place, index, chance }: Plan,
): Promise<Omit<CallEnd, 'effects'>> {
  const server = `${carrier}${index}`;
  const args: CallArguments = {
    n,
    dies: place,
    ...(place === 'abort' || chance < 0.3 ? { ms: 1 + Math.floor(chance * 20) } : {}),
    ...(place === 'midRequest' ? { padding: 'x'.repeat(longArgument) } : {}),
  };
  const controller = new AbortController();
  if (place === 'beforeWrite') kill(troupe, endpoints, server, index);
  const timer =
    place === 'abort' ? setTimeout(() => controller.abort(), Math.floor(chance * 10)) : undefined;
  const { signal } = controller;
  try {
    await troupe.callServerTool(server, 'count', { ...args }, { signal, timeoutMs: callMs });
    return { n, carrier, place, end: 'ok' };
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return { n, carrier, place, end: error.outcome, code: error.code };
  } finally {
    clearTimeout(timer);
  }
}

/** Kills the server before the troupe can notice. */
function kill(troupe: Troupe, endpoints: readonly Endpoint[], server: string, index: number): void {
  if (server.startsWith('http')) endpoints[index]?.die();
  const { pid } = troupe.status(server) ?? {};
  if (pid !== undefined) killAll([pid]);
}

function effectsIn(file: string): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line !== '') counts.set(Number(line), (counts.get(Number(line)) ?? 0) + 1);
  }
  return counts;
}
