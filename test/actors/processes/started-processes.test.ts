/** Descendants of a server that dropped both their environment and their session: how they are found, and what is reported of them. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { openRunCgroup, type RunCgroup, ServerCgroup } from '../../../actors/processes/cgroups.ts';
import { hasProcessTable } from '../../../actors/processes/process-table.ts';
import {
  createProcessKeeper,
  type KeeperPorts,
  type KeptProcess,
  type ProcessKeeper,
} from '../../../actors/processes/started-processes.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { createTroupe } from '../../../src/index.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { ended, isRunning } from '../session/bench.ts';

const serverFile = fileURLToPath(new URL('../../fixtures/stdio-server.mjs', import.meta.url));
const started: number[] = [];
afterEach(() => {
  for (const pid of started.splice(0)) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
});

// A process without mark and session, which says its number.
const escapes = (more = ''): string => `env -i ${more} setsid sh -c 'echo $$; exec sleep 600'`;
const isChild = `${escapes()} & exec sleep 601`;
const isMeantToStay = `${escapes('MCP_TROUPE_RUN=stay')} & exec sleep 601`;
// Its parent ends as soon as it may, which is before any look or after the first.
const isAdoptedAtOnce = `read line; (${escapes()} &) ; exec sleep 601`;
const isAdoptedLater = `(${escapes()} & read line); exec sleep 601`;

type Before = (keeper: ProcessKeeper | undefined, clock: VirtualClock) => void;

async function startFamily(script: string, cgroup: KeeperPorts['cgroup'], before?: Before) {
  const clock = new VirtualClock();
  const problems: (readonly Problem[])[] = [];
  let tell = (): void => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const keeper = createProcessKeeper({
    clock,
    wallNow: Date.now,
    cgroup,
    onProblems: (list) => {
      problems.push(list);
      tell();
    },
  });
  before?.(keeper, clock);
  const kept = keeper?.expect('db');
  const env = { PATH: process.env['PATH'], ...kept?.prepare() };
  const child = spawn('/bin/sh', ['-c', script], {
    detached: true,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const pid = child.pid as number;
  await kept?.started(pid);
  if (script.startsWith('read')) child.stdin.write('\n');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const escaped = Number(line.toString());
  started.push(pid, escaped);
  if (keeper === undefined || kept === undefined) throw new Error('no keeper here');
  return { keeper, kept, child, pid, escaped, clock, problems, told };
}

class UnjoinedCgroup extends ServerCgroup {
  override add(): void {}

  override joined(): Promise<never> {
    return new Promise(() => {});
  }

  override members(): readonly number[] {
    return [42];
  }
}

const withoutCgroups = (): undefined => undefined;
const probe = openRunCgroup('probe');
const probed = probe?.create(0);
probed?.remove();
probe?.remove();

async function end(keeper: ProcessKeeper, kept: KeptProcess): Promise<void> {
  for (const pid of started) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  await Promise.all(started.map((pid) => ended(pid)));
  kept.gone();
  await keeper.close();
}

describe.runIf(hasProcessTable)('a descendant that dropped its environment and session', () => {
  it('is found by a parent-child snapshot', async () => {
    const { keeper, kept, escaped } = await startFamily(isChild, withoutCgroups);
    expect(await kept.descendants()).toContain(escaped);
    await end(keeper, kept);
  });

  it('is found by its control group, which is removed with it', async ({ skip }) => {
    skip(probed === undefined, 'no control group of version 2 is delegated to this process');
    let path = '';
    const { keeper, kept, escaped } = await startFamily(isAdoptedAtOnce, (run) => {
      const cgroup = openRunCgroup(run);
      path = cgroup?.path ?? '';
      return cgroup;
    });
    expect(await kept.descendants()).toContain(escaped);
    await end(keeper, kept);
    expect(path).not.toBe('');
    expect(existsSync(path)).toBe(false);
  });

  it('is looked for although its server has not joined its control group in time', async () => {
    const create = () => new UnjoinedCgroup('/nowhere');
    const cgroup = (): RunCgroup => ({ path: '/nowhere', create, remove: () => {} });
    const clock = new VirtualClock();
    const keeper = createProcessKeeper({
      clock,
      wallNow: Date.now,
      cgroup,
      onProblems: () => {},
    });
    const kept = keeper?.expect('db');
    // No process has this id.
    void kept?.started(2 ** 30);
    const descendants = kept?.descendants();
    clock.advanceBy(250);
    expect(await descendants).toContain(42);
  });

  it('is reported from the first snapshot until its server is gone, even once its parent is dead', async () => {
    const family = await startFamily(isAdoptedLater, withoutCgroups);
    const { keeper, kept, child, escaped, clock, problems, told } = family;
    clock.advanceBy(1_000);
    await told;
    expect(problems.at(-1)).toEqual([
      {
        file: `/proc/${escaped}`,
        message: expect.stringMatching(
          new RegExp(
            `^server db started process ${escaped} \\((?:sh|sleep)\\), which left its environment`,
          ),
        ) as string,
      },
    ]);
    const parent = parentOf(escaped);
    child.stdin.write('\n');
    await ended(parent);
    expect(parentOf(escaped)).not.toBe(parent);
    expect(await kept.descendants()).toContain(escaped);
    await end(keeper, kept);
    expect(problems.at(-1)).toEqual([]);
  });

  it('is reported a second after its server starts, even if other servers ran earlier', async () => {
    const { keeper, kept, escaped, clock, problems, told } = await startFamily(
      isChild,
      withoutCgroups,
      (other, time) => {
        const { pid } = spawn('sleep', ['602'], { detached: true, stdio: 'ignore' });
        if (pid === undefined) throw new Error('no process here');
        started.push(pid);
        void other?.expect('quiet').started(pid);
        time.advanceBy(1_000);
      },
    );
    clock.advanceBy(1_000);
    await told;
    expect(problems.at(-1)).toMatchObject([{ file: `/proc/${escaped}` }]);
    await end(keeper, kept);
  });

  it('is reported but not ended when it opts out of being ended', async () => {
    const { keeper, kept, escaped, clock, problems, told } = await startFamily(
      isMeantToStay,
      withoutCgroups,
    );
    expect(await kept.descendants()).not.toContain(escaped);
    clock.advanceBy(1_000);
    await told;
    expect(problems.at(-1)).toMatchObject([
      { file: `/proc/${escaped}`, message: expect.stringContaining('meant to outlive it') },
    ]);
    await end(keeper, kept);
  });

  it('ends with its server in a troupe', async () => {
    const script = `${escapes()} >&2 & exec "${process.execPath}" "${serverFile}"`;
    const troupe = createTroupe({
      settings: { mcpServers: { db: { command: '/bin/sh', args: ['-c', script] } } },
    });
    await troupe.waitFor('db', 'ready', { timeoutMs: 30_000 });
    const escaped = Number(troupe.logs('db')?.find(({ stream }) => stream === 'stderr')?.line);
    started.push(escaped);
    expect(isRunning(escaped)).toBe(true);
    await troupe.stop();
    expect(isRunning(escaped)).toBe(false);
  });
});

function parentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^PPid:\s+(\d+)$/mu.exec(status)?.[1]);
}
