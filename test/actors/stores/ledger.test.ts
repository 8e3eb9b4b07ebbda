import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createLedger, ledgerFile, readLedger } from '../../../actors/stores/ledger.ts';
import type { CallRecord } from '../../../src/domain/call-record.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { temporaryFolder } from '../../cli/run-cli.ts';
import { compiledProgram } from '../../support/compiled-program.ts';

const isRoot = process.getuid?.() === 0;
const large = { maxBytes: 1_000_000, files: 3 };

function recordOf(server: string, more: Partial<CallRecord> = {}): CallRecord {
  return {
    time: '2026-01-02T03:04:05.000Z',
    project: '/project',
    client: 'host',
    server,
    method: 'tools/call',
    outcome: 'executed',
    durationMs: 1,
    argumentsBytes: 2,
    ...more,
  };
}
const lineOf = (server: string): string => JSON.stringify(recordOf(server));

function ledgerIn(stateDir = temporaryFolder()) {
  let problems: readonly Problem[] = [];
  const ledger = createLedger({
    stateDir,
    clock: realClock,
    onProblems: (list) => {
      problems = list;
    },
  });
  const write = async (servers: readonly string[], sizes = large): Promise<void> => {
    for (const server of servers) ledger.append(lineOf(server), sizes);
    await ledger.close();
  };
  return { stateDir, file: ledgerFile(stateDir), ledger, write, problems: () => problems };
}

async function serversIn(stateDir: string): Promise<readonly (string | undefined)[]> {
  const servers: (string | undefined)[] = [];
  for await (const record of readLedger(stateDir)) servers.push(record?.server);
  return servers;
}

describe('the ledger', () => {
  it('is a private file of whole lines, to which later runs append', async () => {
    const { stateDir, file, write } = ledgerIn();
    expect(await serversIn(stateDir)).toEqual([]);
    expect(existsSync(file)).toBe(false);
    await write(['a', 'b']);
    await ledgerIn(stateDir).write(['c']);
    expect(readFileSync(file, 'utf8')).toBe(`${['a', 'b', 'c'].map(lineOf).join('\n')}\n`);
    expect(await serversIn(stateDir)).toEqual(['a', 'b', 'c']);
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(stateDir)).toEqual(['ledger.ndjson']);
  });

  it('starts a new file before one becomes too large, and keeps as many as asked for', async () => {
    const { stateDir, write } = ledgerIn();
    const two = { maxBytes: 2 * lineOf('a').length + 2, files: 3 };
    for (const server of 'abcdefgh') await write([server], two);
    expect(readdirSync(stateDir)).toEqual(['ledger.1.ndjson', 'ledger.2.ndjson', 'ledger.ndjson']);
    expect(await serversIn(stateDir)).toEqual(['c', 'd', 'e', 'f', 'g', 'h']);
    await write(['i'], { ...two, files: 1 });
    expect(readdirSync(stateDir)).toEqual(['ledger.ndjson']);
    expect(await serversIn(stateDir)).toEqual(['i']);
  });

  it('takes a batch that is larger than a file may be, in a file of its own', async () => {
    const { stateDir, write } = ledgerIn();
    await write(['a']);
    await write(['b', 'c'], { maxBytes: 10, files: 2 });
    expect(await serversIn(stateDir)).toEqual(['a', 'b', 'c']);
    expect(readdirSync(stateDir)).toHaveLength(2);
  });

  it('ends a line that was cut before it appends the next one', async () => {
    const { stateDir, file, write } = ledgerIn();
    writeFileSync(file, `${lineOf('a')}\n${lineOf('lost').slice(0, 40)}`);
    // Until then, another process may be writing it.
    expect(await serversIn(stateDir)).toEqual(['a']);
    await write(['b']);
    expect(await serversIn(stateDir)).toEqual(['a', undefined, 'b']);
  });

  it('reports lines that are not records, and keeps fields of later versions', async () => {
    const { stateDir, file } = ledgerIn();
    writeFileSync(file, `{}\n[1]\n${JSON.stringify({ ...recordOf('a'), cost: 3 })}\nnonsense\n`);
    const records: unknown[] = [];
    for await (const record of readLedger(stateDir)) records.push(record);
    expect(records).toEqual([undefined, undefined, { ...recordOf('a'), cost: 3 }]);
  });

  it('keeps lines until the file can be written again, and reports why it cannot', async () => {
    const { stateDir, file, ledger, write, problems } = ledgerIn();
    mkdirSync(file);
    await write(['a', 'b']);
    expect(problems()).toMatchObject([{ file, message: expect.stringContaining('EISDIR') }]);
    rmdirSync(file);
    ledger.append(lineOf('c'), large);
    await ledger.close();
    expect(await serversIn(stateDir)).toEqual(['a', 'b', 'c']);
    expect(problems()).toEqual([]);
  });

  it('drops lines once too many wait, and says so from then on', async () => {
    const { stateDir, file, ledger, problems } = ledgerIn();
    mkdirSync(file);
    const long = JSON.stringify(recordOf('long', { arguments: 'x'.repeat(9_000_000) }));
    ledger.append(long, large);
    ledger.append(long, large);
    await ledger.close();
    rmdirSync(file);
    ledger.append(lineOf('a'), large);
    await ledger.close();
    expect(await serversIn(stateDir)).toEqual(['long', 'a']);
    expect(problems()).toMatchObject([{ file, message: expect.stringContaining('missing') }]);
  });

  it('writes through no link', async () => {
    const { stateDir, file, write, problems } = ledgerIn();
    const other = path.join(stateDir, 'other');
    writeFileSync(other, 'mine');
    symlinkSync(other, file);
    await write(['a']);
    expect(readFileSync(other, 'utf8')).toBe('mine');
    expect(problems()[0]?.message).toMatch(/ELOOP|EMLINK/u);
  });

  it.runIf(process.platform === 'linux')('waits for no pipe in its place', async () => {
    const { file, write, problems } = ledgerIn();
    expect(spawnSync('mkfifo', [file]).status).toBe(0);
    await write(['a']);
    expect(problems()).toHaveLength(1);
  });

  it.runIf(process.platform === 'linux' && isRoot)(
    'leaves nothing of a batch for which the disk has no room',
    async () => {
      const { stateDir, file, ledger, write, problems } = ledgerIn();
      const size = 'size=64k,mode=700';
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', stateDir]);
      // Where nothing may be mounted, as in most containers, this is not to be seen.
      if (mounted.status !== 0) return;
      try {
        await write(['a']);
        const before = readFileSync(file, 'utf8');
        ledger.append(JSON.stringify(recordOf('b', { arguments: 'x'.repeat(80_000) })), large);
        await ledger.close();
        expect(problems()[0]?.message).toContain('ENOSPC');
        expect(readFileSync(file, 'utf8')).toBe(before);
      } finally {
        spawnSync('umount', ['-l', stateDir]);
      }
    },
  );

  it('is read without a gap while files rotate', async () => {
    const { stateDir, write } = ledgerIn();
    const two = { maxBytes: 2 * lineOf('a').length + 2, files: 50 };
    for (const server of 'abcdef') await write([server], two);
    const reading = readLedger(stateDir);
    const read = [(await reading.next()).value?.server];
    for (const server of 'ghijkl') await write([server], two);
    for await (const record of reading) read.push(record?.server);
    expect(read.join('')).toBe('abcdef');
  });
});

describe('processes that share a ledger', { timeout: 120_000 }, () => {
  const program = compiledProgram('test/fixtures/hosts/ledger-host.ts');
  const children: ChildProcessWithoutNullStreams[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });
  const host = async (
    stateDir: string,
    name: string,
    count: number,
  ): Promise<ChildProcessWithoutNullStreams> => {
    const words = [...program.words, stateDir, name, String(count)];
    const child = spawn(process.execPath, words, { stdio: 'pipe' });
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  };
  const turnsOf = (records: readonly (CallRecord | undefined)[], name: string) =>
    records.filter((record) => record?.client === name).map((record) => Number(record?.server));

  it('lose no line and damage none, although one is killed again and again', async () => {
    const stateDir = temporaryFolder();
    const [steady, ...victims] = await Promise.all(
      ['steady', 'one', 'two', 'three', 'four'].map((name) =>
        host(stateDir, name, name === 'steady' ? 400 : 20_000),
      ),
    );
    const exit = once(steady as ChildProcessWithoutNullStreams, 'exit');
    for (const child of [steady, ...victims]) child?.stdin.write('go\n');
    for (const [at, victim] of victims.entries()) {
      // Each has written some lines by then, and is writing more.
      for (;;) {
        const records: unknown[] = [];
        for await (const record of readLedger(stateDir)) records.push(record);
        if (records.length > at * 100) break;
      }
      victim.kill('SIGKILL');
    }
    expect(await exit).toEqual([0, null]);
    const { write } = ledgerIn(stateDir);
    await write(['last'], { maxBytes: 500_000, files: 100 });
    const records: (CallRecord | undefined)[] = [];
    for await (const record of readLedger(stateDir)) records.push(record);
    expect(turnsOf(records, 'steady')).toEqual(Array.from({ length: 400 }, (_, turn) => turn));
    for (const name of ['one', 'two', 'three', 'four']) {
      const turns = turnsOf(records, name);
      expect(turns).toEqual(Array.from({ length: turns.length }, (_, turn) => turn));
    }
    expect(records.at(-1)?.server).toBe('last');
    // A kill cuts at most the line that the process was writing.
    expect(records.filter((record) => record === undefined).length).toBeLessThanOrEqual(4);
    for (const name of readdirSync(stateDir).filter((each) => each.endsWith('.ndjson')))
      expect(readFileSync(path.join(stateDir, name), 'utf8').endsWith('\n')).toBe(true);
  });
});
