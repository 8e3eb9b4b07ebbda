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

describe('a run after one that was killed with its guardian', () => {
  it('ends its remaining servers and removes its registry', async () => {
    register(deadRun());
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(false);
    expect(filesLeft()).toEqual([]);
  });

  it('tolerates a second run at the same time', async () => {
    register(deadRun());
    expect(await Promise.all([reap(), reap()])).toEqual([[], []]);
    expect(isRunning(server)).toBe(false);
    expect(filesLeft()).toEqual([]);
  });

  it("spares a process that reused a server's id", async () => {
    register(deadRun({ servers: [{ pid: server, start: '12345', server: 'db' }] }));
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(true);
    expect(filesLeft()).toEqual([]);
  });

  it('spares a run whose process is alive', async () => {
    const owner = { pid: process.pid, start: startOf(process.pid) ?? '' };
    const file = register(deadRun({ owner }));
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(true);
    expect(filesLeft()).toEqual([path.basename(file)]);
  });

  it('only removes the registry of a run before the last boot', async () => {
    register(deadRun({ place: { ...placeOfThisProcess(), boot: 'before' } }));
    expect(await reap()).toEqual([]);
    expect(isRunning(server)).toBe(true);
    expect(filesLeft()).toEqual([]);
  });

  it.each(['host', 'namespace'])('ignores the process ids of another %s', async (key) => {
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
    ['empty', () => ''],
    ['torn', () => whole().slice(0, -2)],
    ['full of zeros', () => '\0'.repeat(4_096)],
    ['no JSON', () => 'kill everything'],
    ['of another version', () => whole().replace('"version":1', '"version":2')],
    ['more than it may be', () => whole().replace('{', '{"group":1,')],
    ['about every process', () => whole().replace(`"pid":${server}`, '"pid":1')],
    ['about its own group', () => whole().replace(`"pid":${server}`, '"pid":0')],
    ['no order in a number', () => whole().replace(`"pid":${server}`, `"pid":"${server}"`)],
    ['an order in a start time', () => whole().replace('"start":"7"', '"start":"7\\n+ 2 1"')],
    ['of another run than its name says', whole],
  ])('ends nothing, is set aside and reported when it is %s', async (_how, content) => {
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
  it('is readable only for its owner', () => {
    const file = register(deadRun());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(filesLeft()).toEqual([path.basename(file)]);
  });
});
