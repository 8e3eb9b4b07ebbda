/** The clock of the machine, when something holds the event loop. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { promptClock, realClock } from '../../src/runtime/real-clock.ts';

/** Answers the first word it hears, and leaves a mark once the answer is in the pipe. */
const answering = `
  process.stdout.write('up');
  process.stdin.once('data', () => {
    process.stdout.write('answer', () => require('node:fs').writeFileSync(process.argv[1], ''));
  });`;

/** Lets nothing else run, as a plug-in that computes would. */
function holdLoop(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('the real clock', () => {
  it('reads pending pipe data before an overdue deadline fires', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'real-clock-'));
    const marker = join(folder, 'answered');
    const child = spawn(process.execPath, ['-e', answering, marker]);
    await once(child.stdout, 'data');
    const story: string[] = [];
    const over = new Promise<void>((resolve) => {
      realClock.setTimeout(() => {
        story.push('deadline');
        resolve();
      }, 100);
    });
    child.stdout.once('data', () => story.push('answer'));
    child.stdin.write('question');
    setImmediate(() => {
      holdLoop(200);
      while (!existsSync(marker)) holdLoop(1);
    });
    await over;
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
    expect(story).toEqual(['answer', 'deadline']);
  });

  it('does not call back after an overdue timer is cleared', async () => {
    const story: string[] = [];
    const late = realClock.setTimeout(() => story.push('late'), 1);
    await new Promise<void>((resolve) => {
      promptClock.setTimeout(() => {
        realClock.clearTimeout(late);
        setImmediate(() => setImmediate(() => setImmediate(resolve)));
      }, 2);
      holdLoop(200);
    });
    expect(story).toEqual([]);
  });

  it('calls back two event loop turns after an overdue timer', async () => {
    await new Promise<void>((resolve) => {
      realClock.setTimeout(resolve, 1);
      holdLoop(200);
    });
    realClock.clearTimeout(undefined);
    expect(realClock.wallNow()).toBeGreaterThan(1_700_000_000_000);
  });
});
