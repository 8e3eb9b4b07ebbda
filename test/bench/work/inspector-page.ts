/**
 * The inspector's page in a browser, while a thousand servers change state. It runs only when
 * requested and needs Chromium, at the path where Debian installs it or in CHROME_BIN.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

import { compiledFolder, rootFolder } from '../../lab/build.ts';
import { below, measure, ownRounds, type Values, type Work } from '../work.ts';

const fleetCount = 1_000;
const changesPerSecond = 200;
const framesMs = 5_000;
const title = `${fleetCount} servers, ${changesPerSecond} changes of state in a second`;
const chromium = process.env['CHROME_BIN'] ?? '/usr/bin/chromium';
// Where the compiled inspector looks for its page.
const pageFolder = join(compiledFolder, 'inspector');

/** Starts a recorded troupe: real charts in real time, over sessions that answer at once. */
async function startFleet() {
  const { createApprovalStore } = await import('../../../actors/stores/approvals.ts');
  const { createPermissionStore } = await import('../../../actors/stores/permissions.ts');
  const { assembleTroupe } = await import('../../../src/runtime/assembly/assemble-troupe.ts');
  const { realClock: clock } = await import('../../../src/runtime/real-clock.ts');
  const { createScriptedSessions } = await import('../../../src/testing/scripted-session.ts');
  const sessions = createScriptedSessions();
  sessions.onCommand = (script, { type }) => {
    if (type === 'session.open') queueMicrotask(() => script.open());
    if (type === 'session.list')
      queueMicrotask(() => script.list([{ name: 'echo', inputSchema: { type: 'object' } }]));
    if (type === 'session.close') queueMicrotask(() => script.closed());
  };
  const names = Array.from({ length: fleetCount }, (_, index) => `s${index}`);
  const mcpServers = Object.fromEntries(
    names.map((name) => [name, { type: 'http', url: `http://127.0.0.1/${name}` }]),
  );
  const troupe = assembleTroupe(
    { settings: { mcpServers }, inspect: true },
    {
      clock,
      seed: 1,
      coreCount: 1,
      env: {},
      keepApprovals: (ports) => createApprovalStore({ ...ports, clock }),
      keepPermissions: (ports) => createPermissionStore({ ...ports, clock }),
      createSession: (ports) => sessions.createActors(ports),
      report: (message, error) => console.error(message, error),
    },
  );
  for (const name of names) await troupe.waitFor(name, 'ready', { timeoutMs: 60_000 });
  return { troupe, scriptAt: (turn: number) => sessions.of(names[turn % fleetCount] ?? '') };
}

/** Impairs and recovers one server after the other; resolves with the changes per second. */
async function keepChanging({ troupe, scriptAt }: Awaited<ReturnType<typeof startFleet>>) {
  let changes = 0;
  troupe.on('status.changed', () => {
    changes += 1;
  });
  const from = performance.now();
  let turn = 0;
  const timer = setInterval(() => {
    // Timers fire late; this catches up.
    const due = ((performance.now() - from) / 1_000) * changesPerSecond;
    for (; turn < due; turn += 1) {
      const script = scriptAt(Math.floor(turn / 2));
      if (turn % 2 === 0) script.impair('flooding');
      else script.recover('flooding');
    }
  }, 1_000 / changesPerSecond);
  await pause(framesMs * 2);
  clearInterval(timer);
  return (changes / (performance.now() - from)) * 1_000;
}

/** The whole page, pictures of charts included, as a browser that accepts gzip gets it. */
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

async function job({ bundle }: { readonly bundle: number }): Promise<Values> {
  const { chromium: launcher } = await import('playwright-core');
  const { startInspector } = await import('../../../visualizations/server/inspector-server.ts');
  const fleet = await startFleet();
  const source = fleet.troupe.inspection;
  const inspector = await startInspector({ source, mode: 'live', title: 'bench' });
  const browser = await launcher.launch({ executablePath: chromium, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    await page.addInitScript(readyScript);
    const rate = keepChanging(fleet);
    await page.goto(inspector.newAddress());
    const ready = Number(await page.evaluate('window.firstTile'));
    const frames = Number(await page.evaluate(framesScript));
    return { ready, frames, rate: await rate, bundle };
  } finally {
    await browser.close();
    inspector.close();
  }
}

export const inspectorPageWork: Work = {
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
    return ownRounds(context, inspectorPageWork, { bundle: await bundleKb() }, 240_000);
  },
  job,
};
