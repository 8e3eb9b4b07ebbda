/** The cost of watching a thousand settings files, each in its own folder. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { importPublished } from '../published.ts';
import { below, measure, ownRounds, type Work } from '../work.ts';

const count = 1_000;
const idleMs = 5_000;

const settingsText = (name: string): string =>
  JSON.stringify({ mcpServers: { [name]: { command: 'node', args: [name], startup: 'lazy' } } });

async function job(): Promise<unknown> {
  const { createTroupe } = await importPublished();
  const root = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
  const files = Array.from({ length: count }, (_, index) => join(root, `${index}`, 'troupe.json'));
  for (const [index, file] of files.entries()) {
    await mkdir(join(root, `${index}`));
    await writeFile(file, settingsText(`s${index}`));
  }
  const troupe = createTroupe({ sources: files });
  await troupe.ready();
  // Watches are set up a second after the start; then all files are read once more.
  await pause(5_000);
  const cpu = process.cpuUsage();
  const { voluntaryContextSwitches } = process.resourceUsage();
  await pause(idleMs);
  const used = process.cpuUsage(cpu);
  const wakeUps = process.resourceUsage().voluntaryContextSwitches - voluntaryContextSwitches;
  const from = performance.now();
  const seen = new Promise<void>((resolve) => {
    troupe.on('reconciled', () => resolve());
  });
  await writeFile(files[count / 2] ?? '', settingsText('edited'));
  await seen;
  const edit = performance.now() - from;
  const problems = troupe.snapshot().troupe.problems.length;
  await troupe.stop();
  await rm(root, { recursive: true, force: true });
  const seconds = idleMs / 1_000;
  return {
    // Without enough watches, files are polled once a second, which costs more.
    cpu: problems > 0 ? null : (used.user + used.system) / 1_000 / seconds,
    wakeUps: problems > 0 ? null : wakeUps / seconds,
    edit,
  };
}

const title = `${count} watched settings files`;

export const watchWork: Work = {
  name: 'watch-1000',
  measures: [
    measure('cpu', `${title}, idle: CPU in a second`, 'ms', below(5)),
    measure('wakeUps', `${title}, idle: wake-ups in a second`, '', below(10)),
    measure('edit', `${title}: edit of one seen, with the debounce`, 'ms'),
  ],
  rounds: { full: 2, quick: 1 },
  run: (context) => ownRounds(context, watchWork, null, 120_000),
  job,
};
