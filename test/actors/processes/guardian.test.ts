/** What the guardian ends, and what it leaves alone: the program itself, in every shell there is. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { Guardian } from '../../../actors/processes/guardian.ts';
import { guardianScript } from '../../../actors/processes/guardian-script.ts';
import { hasProcessTable, startFromPs, startOf } from '../../../actors/processes/process-table.ts';
import { ended, isRunning } from '../session/bench.ts';
import { type Stubborn, startDeaf as spawnDeaf, startLauncher } from './stubborn-processes.ts';

const shells = ['/bin/sh', '/bin/bash', '/bin/busybox'].filter((file) => existsSync(file));
// Where there is a process table, the other way is tried all the same.
const ways = (['proc', 'ps'] as const).filter((way) =>
  way === 'proc' ? hasProcessTable : startFromPs(process.pid) !== undefined,
);
const cases = shells.flatMap((shell) => ways.map((way) => [shell, way] as const));

const started: number[] = [];
let folder: string | undefined;

afterEach(() => {
  for (const pid of started.splice(0)) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
});

async function startDeaf(env?: Readonly<Record<string, string>>): Promise<Stubborn> {
  const deaf = await spawnDeaf(env);
  started.push(deaf.pid);
  return deaf;
}

interface Watch {
  readonly shell: string;
  readonly way: 'proc' | 'ps';
  readonly isHostAlive?: boolean;
  readonly mark?: string;
  readonly file?: string;
  /** How long its phases are, in waits of 100 ms. Default: short. */
  readonly rests?: readonly [input: number, term: number, kill: number];
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Gives it these orders, ends its input, and waits for its exit code. */
async function guard(watch: Watch, ...orders: readonly string[]): Promise<number> {
  const { shell, way, isHostAlive = true, mark = 'MCP_TROUPE_RUN=none', file = '' } = watch;
  const { rests = [1, 2, 40], env = process.env } = watch;
  const words = [mark, file, way, isHostAlive ? '1' : '0', ...rests.map(String)];
  const applet = shell.endsWith('busybox') ? ['sh'] : [];
  const child = spawn(shell, [...applet, '-c', guardianScript, 'guardian', ...words], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env,
  });
  // It may leave before it has read everything.
  child.stdin.on('error', () => undefined);
  child.stdin.end(orders.join(''));
  const [exitCode] = (await once(child, 'exit')) as [number];
  return exitCode;
}

const startBy = { proc: startOf, ps: startFromPs };
const orderFor = (way: 'proc' | 'ps', pid: number): string => `+ ${pid} ${startBy[way](pid)}\n`;

describe.each(cases)('the guardian in %s, using %s', (shell, way) => {
  it('ends a group that ignores signals when its input ends, and removes the registry', async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'troupe-'));
    const file = path.join(folder, "it's a registry");
    writeFileSync(file, '');
    const deaf = await startDeaf();
    expect(await guard({ shell, way, file }, orderFor(way, deaf.pid))).toBe(0);
    expect(isRunning(deaf.pid)).toBe(false);
    expect(existsSync(file)).toBe(false);
  });

  it('ends a server whose launcher exited on SIGTERM', async () => {
    const { pid, serverPid } = await startLauncher();
    started.push(pid, serverPid);
    expect(await guard({ shell, way }, orderFor(way, pid))).toBe(0);
    expect(isRunning(serverPid)).toBe(false);
  });

  it('spares a process that reuses a registered id', async () => {
    const stranger = await startDeaf();
    for (const isHostAlive of [true, false]) {
      expect(await guard({ shell, way, isHostAlive }, `+ ${stranger.pid} 12345\n`)).toBe(0);
    }
    expect(isRunning(stranger.pid)).toBe(true);
  });

  it('ignores commands that are truncated, revoked or followed by a dismissal', async () => {
    const deaf = await startDeaf();
    const order = orderFor(way, deaf.pid);
    expect(await guard({ shell, way }, order.slice(0, -1))).toBe(0);
    expect(await guard({ shell, way }, order, `- ${deaf.pid}\n`)).toBe(0);
    expect(await guard({ shell, way }, order, 'bye\n')).toBe(0);
    expect(isRunning(deaf.pid)).toBe(true);
    expect(await guard({ shell, way }, order)).toBe(0);
    expect(isRunning(deaf.pid)).toBe(false);
  });
});

describe('a guardian that stops reading commands', () => {
  it('is replaced before commands fill the memory, and its successor receives them', async () => {
    const deaf = await startDeaf();
    const guardian = new Guardian({ mark: 'MCP_TROUPE_RUN=none', report: () => undefined });
    guardian.add({ pid: deaf.pid, start: startOf(deaf.pid) ?? '' });
    const first = guardian.pid ?? 0;
    process.kill(first, 'SIGSTOP');
    // A process that has come and gone, again and again.
    for (let count = 0; count < 20_000 && isRunning(first); count += 1) {
      guardian.add({ pid: 999_999_999, start: 'another' });
      guardian.remove(999_999_999);
      if (count % 100 === 0) await new Promise(setImmediate);
    }
    expect(isRunning(first)).toBe(false);
    while (guardian.pid === undefined || guardian.pid === first) await new Promise(setImmediate);
    // It ends what was not removed.
    const gone = ended(deaf.pid);
    await guardian.dismiss();
    await gone;
  });
});

describe('the guardian without a process table', () => {
  it('passes each column to ps as a separate argument, which every system accepts', () => {
    const columns = /\bps -A (.*)\)/.exec(guardianScript)?.[1];
    expect(columns?.split(' -o ').slice(1)).toEqual(['pgid=', 'state=', 'lstart=']);
    expect(columns).toMatch(/^-o pid= /);
  });
});

describe.runIf(hasProcessTable).each(shells)('the guardian in %s', (shell) => {
  it('grants each phase its time, however long a look at the processes takes', async () => {
    const here = mkdtempSync(path.join(tmpdir(), 'troupe-'));
    folder = here;
    const looks = path.join(here, 'looks');
    const slow = `case $1 in */stat) echo >> '${looks}'; sleep 0.4 ;; esac\nexec /bin/cat "$@"\n`;
    writeFileSync(path.join(here, 'cat'), `#!/bin/sh\n${slow}`, { mode: 0o755 });
    const deaf = await startDeaf();
    const env = { HOME: here, PATH: `${here}:${process.env['PATH']}` };
    const watch = { shell, way: 'proc', env, rests: [10, 10, 40] } as const;
    expect(await guard(watch, orderFor('proc', deaf.pid))).toBe(0);
    expect(isRunning(deaf.pid)).toBe(false);
    // Three a second in two seconds, and those of each signal; by count, there would be 25.
    expect(readFileSync(looks, 'utf8').length).toBeLessThanOrEqual(12);
  });

  it('ends marked processes that left their group, and no others', async () => {
    const marked = await startDeaf({ MCP_TROUPE_RUN: 'one.1' });
    const other = await startDeaf({ MCP_TROUPE_RUN: 'two.1' });
    expect(await guard({ shell, way: 'proc', mark: 'MCP_TROUPE_RUN=one' })).toBe(0);
    // Its environment is gone a moment before it is.
    await ended(marked.pid);
    expect(isRunning(other.pid)).toBe(true);
  });
});
