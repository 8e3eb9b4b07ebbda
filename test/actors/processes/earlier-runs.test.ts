/** What the next run does about what an earlier one registered. */

import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ProcessRegistry,
  reapEarlierRuns,
  registryFile,
  writeRegistry,
} from '../../../actors/processes/earlier-runs.ts';
import { placeOfThisProcess, startOf } from '../../../actors/processes/process-table.ts';
import { isRunning } from '../session/bench.ts';
import { startDeaf } from './stubborn-processes.ts';

let stateDir = '';
let server = 0;

beforeEach(async () => {
  stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-'));
  server = (await startDeaf()).pid;
});

afterEach(() => {
  if (isRunning(server)) process.kill(server, 'SIGKILL');
  rmSync(stateDir, { recursive: true });
});

/** A run whose process is dead: the number is ours, the start is not. */
function deadRun(more: Partial<ProcessRegistry> = {}): ProcessRegistry {
  return {
    version: 1,
    run: randomUUID(),
    place: placeOfThisProcess(),
    owner: { pid: process.pid, start: '7' },
    servers: [{ pid: server, start: startOf(server) ?? '', server: 'db' }],
    ...more,
  };
}

function register(registry: ProcessRegistry): string {
  const file = registryFile(stateDir, registry.run);
  writeRegistry(file, registry);
  return file;
}

const reap = (): ReturnType<typeof reapEarlierRuns> => reapEarlierRuns(stateDir, () => Date.now());
const filesLeft = (): readonly string[] => readdirSync(path.join(stateDir, 'run'));

describe('a run after a host was killed with its guardian', () => {
  it("ends the killed run's servers and removes its registry", async () => {
    register(deadRun());
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(false);
    expect(filesLeft()).toEqual([]);
  });

  it('tolerates a concurrent run', async () => {
    register(deadRun());
    expect(await Promise.all([reap(), reap()])).toEqual([[], []]);
    expect(isRunning(server)).toBe(false);
    expect(filesLeft()).toEqual([]);
  });

  it("spares a process that reuses a server's process id", async () => {
    register(deadRun({ servers: [{ pid: server, start: '12345', server: 'db' }] }));
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(true);
    expect(filesLeft()).toEqual([]);
  });

  it('spares a run whose host is still alive', async () => {
    const owner = { pid: process.pid, start: startOf(process.pid) ?? '' };
    const file = register(deadRun({ owner }));
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(true);
    expect(filesLeft()).toEqual([path.basename(file)]);
  });

  it('only removes the registry of a run from before the last boot', async () => {
    register(deadRun({ place: { ...placeOfThisProcess(), boot: 'before' } }));
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(true);
    expect(filesLeft()).toEqual([]);
  });

  it.each(['host', 'namespace'])('ignores process ids from another %s', async (key) => {
    const file = register(deadRun({ place: { ...placeOfThisProcess(), [key]: 'elsewhere' } }));
    expect(await reap()).toEqual([]);
    expect(filesLeft()).toEqual([path.basename(file)]);
    utimesSync(file, 0, 0);
    expect(await reap()).toEqual([]);
    expect(filesLeft()).toEqual([]);
    expect(isRunning(server)).toBe(true);
  });
});

describe('a damaged registry', () => {
  const whole = (): string => JSON.stringify(deadRun());
  it.each([
    ['is empty', () => ''],
    ['is truncated', () => whole().slice(0, -2)],
    ['is full of zeros', () => '\0'.repeat(4_096)],
    ['is not JSON', () => 'kill everything'],
    ['has another version', () => whole().replace('"version":1', '"version":2')],
    ['has an unknown field', () => whole().replace('{', '{"group":1,')],
    ['lists process id 1', () => whole().replace(`"pid":${server}`, '"pid":1')],
    ['lists process id 0', () => whole().replace(`"pid":${server}`, '"pid":0')],
    ['has a string as a process id', () => whole().replace(`"pid":${server}`, `"pid":"${server}"`)],
    [
      'contains a guardian command in a start time',
      () => whole().replace('"start":"7"', '"start":"7\\n+ 2 1"'),
    ],
    ['belongs to a different run than its file name', whole],
  ])('ends no process, is set aside and is reported when it %s', async (_how, content) => {
    mkdirSync(path.join(stateDir, 'run'));
    const file = registryFile(stateDir, randomUUID());
    const text = content();
    writeFileSync(file, text);
    const aside = `${file}.damaged`;
    expect(await reap()).toEqual([
      { file: aside, message: expect.stringContaining('damaged and was set aside') as string },
    ]);
    expect(readFileSync(aside, 'utf8')).toBe(text);
    expect(isRunning(server)).toBe(true);
    expect(await reap()).toEqual([]);
  });
});

describe('a registry', () => {
  it('is readable only by its owner', () => {
    const file = register(deadRun());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(filesLeft()).toEqual([path.basename(file)]);
  });
});
