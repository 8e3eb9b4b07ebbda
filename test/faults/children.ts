/** Runs each row in its own process and detects leftover processes. */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { compiledFolder } from '../lab/build.ts';
import { killAll, processesWith, survivorsOf } from '../lab/processes.ts';
import { runChild } from '../lab/run-child.ts';
import type { RowTask } from './child.ts';
import type { Row } from './row.ts';
import type { Performance } from './run-rows.ts';

const defaultLimitMs = 90_000;
// A killed process is gone long before, except on a busy machine; one that lives longer was forgotten.
const leftOverMs = 1_000;
const busyLeftOverMs = 5_000;

export const performInChild = async (
  name: string,
  row: Row,
  ignoresTimes: boolean,
): Promise<Performance> => {
  // A shell passes on only valid variable names.
  const mark = `FAULTS_MARK_${randomUUID().replaceAll('-', '_')}`;
  const folder = await mkdtemp(join(tmpdir(), 'troupe-faults-'));
  const findMarked = (): readonly number[] => processesWith(mark, 'environ');
  const serversFolder = fileURLToPath(new URL('servers', import.meta.url));
  const cliFile = join(compiledFolder, 'src/cli/main.js');
  const task: RowTask = { name, ignoresTimes, place: { mark, folder, serversFolder, cliFile } };
  const { limitMs = defaultLimitMs } = row;
  try {
    const { answer, problems } = await runChild({
      file: join(compiledFolder, 'test/faults/child.js'),
      task,
      limitMs,
      node: ['--enable-source-maps'],
      isQuiet: true,
    });
    const left = await survivorsOf(findMarked, ignoresTimes ? busyLeftOverMs : leftOverMs);
    const performed = answer as Performance | undefined;
    return {
      seen: performed?.seen ?? {},
      problems: [
        ...(performed?.problems ?? []),
        ...problems,
        ...(left.length > 0 ? [`${left.length} processes were left over`] : []),
      ],
      ms: performed?.ms ?? limitMs,
    };
  } finally {
    killAll(findMarked());
    // A process that was just killed may still be writing.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
};
