/** A short run of `npm run fuzz`, in a host of its own. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

const script = new URL('../../scripts/fuzz.ts', import.meta.url).pathname;

describe('a host whose servers send mutated messages', { timeout: 190_000 }, () => {
  it('lives, settles every call and keeps its neighbour answered', async () => {
    const args = ['--import', 'tsx', script, '--messages', '10000', '--seed', '1'];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      // Beyond the limits of the script itself: half a minute each for the start, the messages and the stop.
      timeout: 180_000,
      killSignal: 'SIGKILL',
    }).catch((failure: { stdout: string }) => failure);
    expect(stdout).toMatch(/0 uncaught, 0 unsettled, 0 unanswered/u);
  });
});
