/** Hosts that end in every way there is, and what is left of their servers: nothing. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { TroupeSnapshot } from '../../src/domain/host/status.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import { launcherFile } from '../actors/processes/stubborn-processes.ts';
import { ended, isRunning } from '../actors/session/bench.ts';
import { compiledProgram } from '../support/compiled-program.ts';

// A host, a launcher and its server: three Node processes, one after another.
const hostProgram = compiledProgram('test/fixtures/hosts/killable-host.ts');

const serverFile = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));

let stateDir = '';
let mark = '';

beforeEach(() => {
  stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-'));
  mark = `MARK_${randomUUID()}`;
});

afterEach(() => {
  for (const pid of servers()) process.kill(pid, 'SIGKILL');
  rmSync(stateDir, { recursive: true });
});

/** Every process that descends from a server of this test. */
function servers(): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && environmentOf(pid).includes(`${mark}=1`));
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

const registries = (): readonly string[] => readdirSync(path.join(stateDir, 'run'));

interface Host {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly pid: number;
  /** Gives it an order, and returns what it answers. */
  ask(order: 'snapshot' | 'stop'): Promise<unknown>;
  guardian(): number | undefined;
}

async function startHost(more: readonly string[] = [stateDir]): Promise<Host> {
  const words = [...hostProgram.words, launcherFile, ...more];
  const child = spawn(process.execPath, words, {
    env: { ...process.env, MARK: mark },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value));
  await next();
  return {
    process: child,
    pid: child.pid as number,
    ask: (order) => {
      child.stdin.write(`${order}\n`);
      return next();
    },
    guardian: () => guardiansOf(child.pid as number)[0],
  };
}

function guardiansOf(host: number): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
        return state !== 'Z' && Number(parent) === host && words.includes('guardian of mcp-troupe');
      } catch {
        return false;
      }
    });
}

/** Asks until there is an answer: the host reacts to a death, and a process gets its name, only later. */
async function present<T>(ask: () => T | Promise<T | undefined> | undefined): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function allEnded(pids: readonly number[]): Promise<void> {
  await Promise.all(pids.map((pid) => ended(pid)));
}

describe.runIf(process.platform === 'linux')("a host's processes", () => {
  it.each(['SIGKILL', 'SIGTERM', 'SIGSEGV'] as const)(
    'exit with their guardian after the host ends by %s',
    async (signal) => {
      const host = await startHost();
      const found = servers();
      // The launcher, its deaf server, and a deaf helper in a session of its own.
      expect(found).toHaveLength(3);
      const guardian = host.guardian() as number;
      host.process.kill(signal);
      await allEnded([...found, guardian]);
      expect(servers()).toEqual([]);
      expect(registries()).toEqual([]);
    },
  );

  it('exit even without a state folder', async () => {
    const host = await startHost([]);
    const found = [...servers(), host.guardian() as number];
    expect(found).toHaveLength(4);
    host.process.kill('SIGKILL');
    await allEnded(found);
    expect(servers()).toEqual([]);
  });

  it('are gone with guardian and registry once stop() resolves', async () => {
    const host = await startHost();
    expect(registries()).toHaveLength(1);
    const guardian = host.guardian() as number;
    expect(await host.ask('stop')).toBe('stopped');
    expect(servers()).toEqual([]);
    expect(isRunning(guardian)).toBe(false);
    expect(registries()).toEqual([]);
    host.process.kill();
  });

  it('are ended by the next host if the guardian is killed first', async () => {
    const host = await startHost();
    // The host replaces it three times, then gives up.
    for (let time = 0; time < 4; time += 1) {
      const guardian = await present(() => host.guardian());
      process.kill(guardian, 'SIGKILL');
      await ended(guardian);
    }
    const { troupe, servers: statuses } = await present(async () => {
      const snapshot = (await host.ask('snapshot')) as TroupeSnapshot;
      return snapshot.troupe.problems.length > 0 ? snapshot : undefined;
    });
    expect(host.guardian()).toBeUndefined();
    expect(troupe.problems).toEqual([
      { file: '/bin/sh', message: expect.stringContaining('guardian') as string },
    ]);
    expect(statuses).toMatchObject([{ name: 'db', state: 'ready' }]);
    const found = servers();
    host.process.kill('SIGKILL');
    await ended(host.pid);
    expect(servers()).toEqual(found);
    expect(registries()).toHaveLength(1);
    const next = createTroupe({ stateDir });
    await allEnded(found);
    await next.stop();
    expect(servers()).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('a host', () => {
  const killPatch = fileURLToPath(new URL('../fixtures/hosts/kill-at-spawn.mjs', import.meta.url));

  // First the guardian, then the server: at no moment is there a server without a guardian.
  it.each([1, 2, 3])('leaves no process when it is killed during spawn %i', async (killAt) => {
    const words = ['--import', killPatch, ...hostProgram.words, launcherFile, stateDir];
    const host = spawn(process.execPath, words, {
      env: { ...process.env, MARK: mark, KILL_AT: String(killAt) },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    onTestFinished(() => void host.kill('SIGKILL'));
    // There are two such spawns; the third number means that the host goes on.
    if (killAt === 3) {
      await spawned(2);
      host.kill('SIGKILL');
    }
    const [, signal] = (await once(host, 'exit')) as [null, NodeJS.Signals];
    expect(signal).toBe('SIGKILL');
    await allEnded(guardiansAnywhere());
    expect(servers()).toEqual([]);
    expect(existsSync(path.join(stateDir, 'run')) ? registries() : []).toEqual([]);
  });

  /** Settles when so many processes of this test run. */
  async function spawned(count: number): Promise<void> {
    while (servers().length < count) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Guardians of this test, under any parent. */
  function guardiansAnywhere(): readonly number[] {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && commandLineOf(pid).includes(stateDir));
  }
});

function commandLineOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    return words.includes('guardian of mcp-troupe') ? words : '';
  } catch {
    return '';
  }
}

describe.runIf(process.platform === 'linux')('two troupes in one process', () => {
  const create = (): ReturnType<typeof createTroupe> =>
    createTroupe({
      settings: {
        mcpServers: {
          db: { command: process.execPath, args: [serverFile], env: { [mark]: '1' } },
        },
      },
      stateDir,
    });

  it('have their own guardian and registry and end independently', async () => {
    const [one, two] = [create(), create()];
    await Promise.all([one.waitFor('db', 'ready'), two.waitFor('db', 'ready')]);
    expect(guardiansOf(process.pid)).toHaveLength(2);
    expect(registries()).toHaveLength(2);
    await one.stop();
    expect(guardiansOf(process.pid)).toHaveLength(1);
    expect(registries()).toHaveLength(1);
    expect(servers()).toHaveLength(1);
    expect(two.status('db')).toMatchObject({ state: 'ready' });
    await two.stop();
    expect(guardiansOf(process.pid)).toEqual([]);
    expect(registries()).toEqual([]);
    expect(servers()).toEqual([]);
  });
});
