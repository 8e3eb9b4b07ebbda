/**
 * The cost of inspecting a busy troupe, and the speed of the page in a browser. The page is
 * optional: it needs Chromium, which is taken from where Debian puts it or from CHROME_BIN.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import { compiledFolder, rootFolder } from '../../lab/build.ts';
import { changesPerSecond, fleetCount, startBusyFleet } from '../busy-fleet.ts';
import { median } from '../statistics.ts';
import { below, measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';

const blockMs = 2_000;
const blocks = 8;
const warmUpBlocks = 3;
const framesMs = 5_000;
const startLimitMs = 30_000;
const limitMs = 240_000;

const ways: readonly string[] = ['off', 'on', 'watched'];
const title = `${fleetCount} servers, ${changesPerSecond} changes of state in a second`;
const readerFile = fileURLToPath(new URL('../servers/stream-reader.mjs', import.meta.url));
const chromium = process.env['CHROME_BIN'] ?? '/usr/bin/chromium';
// Where the compiled inspector looks for its page.
const pageFolder = join(compiledFolder, 'inspector');

/** Measures the CPU time of this process; the reader of the stream has its own. */
async function watchJob(reader: string): Promise<Values> {
  const { startInspector } = await import('../../../src/inspector/inspector-server.ts');
  const fleets = new Map(
    await Promise.all(ways.map(async (way) => [way, await startBusyFleet(way !== 'off')] as const)),
  );
  const watched = fleets.get('watched')?.troupe.inspection;
  if (watched === undefined) throw new Error('The watched fleet is missing.');
  const inspector = await startInspector({ source: watched, mode: 'live', title: 'bench' });
  const watcher = spawn(process.execPath, [reader, inspector.newAddress()], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(watcher.stdout, 'data');
  const times = new Map<string, number[]>(ways.map((way) => [way, []]));
  const rates: number[] = [];
  for (let block = 0; block < blocks; block += 1) {
    for (const way of turnsOf(ways, block)) {
      const from = process.cpuUsage();
      const rate = (await fleets.get(way)?.work(blockMs)) ?? 0;
      const { user, system } = process.cpuUsage(from);
      if (block < warmUpBlocks) continue;
      times.get(way)?.push((user + system) / blockMs);
      rates.push(rate);
    }
  }
  watcher.stdin.end();
  inspector.close();
  const [off = 0, on = 0, watching = 0] = ways.map((way) => median(times.get(way) ?? []));
  return { rate: median(rates), off, on, watching, recordedRatio: on / off, ratio: watching / on };
}

const inspectorWork: Work = {
  name: 'inspector',
  measures: [
    measure('rate', `${title}: changes reached in a second`, ''),
    measure('off', `${title}, nothing recorded: CPU in a second`, 'ms'),
    measure('on', 'the same, recorded', 'ms'),
    measure('watching', 'the same, recorded and sent to a page', 'ms'),
    measure('recordedRatio', 'recorded, times nothing recorded', ''),
    measure('ratio', 'recorded and sent to a page, times recorded', '', below(1.1)),
  ],
  rounds: { full: 3, quick: 1 },
  run: (context) => ownRounds(context, inspectorWork, readerFile, limitMs),
  job: watchJob,
};

/** The whole page, pictures of charts included, as a browser that asks for gzip would get it. */
async function bundleKb(): Promise<number> {
  const entries = await readdir(pageFolder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(
      async ({ parentPath, name }) => gzipSync(await readFile(join(parentPath, name))).length,
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000;
}

/** From the beginning of the navigation until the first tile is drawn. */
const readyScript = `window.firstTile = new Promise((resolve) => {
  const look = () => {
    if (document.querySelector('[data-tile]') === null) requestAnimationFrame(look);
    else requestAnimationFrame(() => resolve(performance.now()));
  };
  look();
})`;

const framesScript = `new Promise((resolve) => {
  const from = performance.now();
  let frames = 0;
  const count = () => {
    const taken = performance.now() - from;
    if (taken >= ${framesMs}) resolve((frames / taken) * 1_000);
    else { frames += 1; requestAnimationFrame(count); }
  };
  requestAnimationFrame(count);
})`;

async function pageJob({ bundle }: { readonly bundle: number }): Promise<Values> {
  const { chromium: launcher } = await import('playwright-core');
  const { startInspector } = await import('../../../src/inspector/inspector-server.ts');
  const fleet = await startBusyFleet(true);
  const source = fleet.troupe.inspection;
  const inspector = await startInspector({ source, mode: 'live', title: 'bench' });
  const browser = await launcher.launch({
    executablePath: chromium,
    args: ['--no-sandbox'],
    timeout: startLimitMs,
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    await page.addInitScript(readyScript);
    const rate = fleet.work(framesMs * 2);
    await page.goto(inspector.newAddress());
    const ready = Number(await page.evaluate('window.firstTile'));
    const frames = Number(await page.evaluate(framesScript));
    return { ready, frames, rate: await rate, bundle };
  } finally {
    await browser.close();
    inspector.close();
  }
}

const inspectorPageWork: Work = {
  name: 'inspector-page',
  isOptional: true,
  lacks: () =>
    existsSync(chromium) ? undefined : `there is no ${chromium}; install it or set CHROME_BIN`,
  measures: [
    measure('ready', `page of ${title}: navigation to the first tile`, 'ms', below(1_000)),
    measure('frames', 'the same: frames drawn in a second', '', { of: 'value', atLeast: 30 }),
    measure('rate', 'the same: changes reached in a second', ''),
    measure('bundle', 'all files of the page, gzip', 'KB', below(250)),
  ],
  rounds: { full: 3, quick: 1 },
  async run(context) {
    const vite = join(rootFolder, 'node_modules/vite/bin/vite.js');
    const config = join(rootFolder, 'visualizations/vite.config.ts');
    const words = [vite, 'build', '--config', config, '--outDir', pageFolder, '--emptyOutDir'];
    await promisify(execFile)(process.execPath, words, { cwd: rootFolder });
    return ownRounds(context, inspectorPageWork, { bundle: await bundleKb() }, limitMs);
  },
  job: pageJob,
};

export const inspectorWorks: readonly Work[] = [inspectorWork, inspectorPageWork];
