/** F85: the ends of the host. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Seen } from '../expectation.ts';
import { eachOf, type Rows } from '../row.ts';
import type { Stage } from '../stage.ts';
import type { TroupeProcess } from '../troupe-process.ts';

/** Servers that exit immediately, slowly and never. */
async function threeServers(
  stage: Stage,
  node: readonly string[] = [],
  words?: readonly string[],
): Promise<TroupeProcess> {
  const servers = {
    quick: stage.stdio('ok'),
    crowd: stage.stdio('grandchild'),
    stubborn: stage.stdio('ignore-term'),
  };
  const up = stage.up(servers, { node, ...(words && { words }) });
  await up.printed(words === undefined ? /servers: 3/u : /serving all servers/u);
  await up.when(({ servers: all }) => all.every(({ state }) => state === 'ready'), 'all servers');
  return up;
}

async function endOf(stage: Stage, up: TroupeProcess, from: number): Promise<Seen> {
  const { exitCode, signal } = await up.ended;
  const endMs = Math.round(performance.now() - from);
  const left = await stage.leftOver(5_000);
  return { exitCode: exitCode ?? undefined, signal: signal ?? undefined, endMs, left };
}

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const exitCodes = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;

export const hostEndRows: Rows = {
  ...eachOf(signals, (signal) => [
    `F85/${signal}`,
    {
      inject: `${signal} to troupe up with a server that ignores SIGTERM`,
      expect: { exitCode: exitCodes[signal], left: 0, endMs: { atMost: 5_500 } },
      async run(stage) {
        const up = await threeServers(stage);
        const from = performance.now();
        up.child.kill(signal);
        return endOf(stage, up, from);
      },
    },
  ]),
  'F85/twice': {
    inject: 'SIGINT twice to troupe up',
    expect: { exitCode: 130, left: 0, endMs: { atMost: 900 } },
    async run(stage) {
      const up = await threeServers(stage);
      up.child.kill('SIGINT');
      await pause(300);
      const from = performance.now();
      up.child.kill('SIGINT');
      return endOf(stage, up, from);
    },
  },
  'F85/uncaught': {
    inject: 'an uncaught exception in troupe up',
    expect: { exitCode: 1, left: 0, endMs: { atMost: 5_500 } },
    async run(stage) {
      const code = 'process.on("SIGUSR2",()=>setTimeout(()=>{throw new Error("a bug")}))';
      const up = await threeServers(stage, [
        '--import',
        `data:text/javascript,${encodeURIComponent(code)}`,
      ]);
      const from = performance.now();
      up.child.kill('SIGUSR2');
      return endOf(stage, up, from);
    },
  },
  'F85/SIGKILL': {
    inject: 'SIGKILL to troupe up',
    expect: { signal: 'SIGKILL', left: 0 },
    async run(stage) {
      const up = await threeServers(stage);
      const from = performance.now();
      up.child.kill('SIGKILL');
      return endOf(stage, up, from);
    },
  },
  'F85/gateway': {
    inject: 'stdin of troupe serve closes, with a server that ignores SIGTERM',
    expect: { exitCode: 0, left: 0, endMs: { atMost: 5_500 } },
    async run(stage) {
      const up = await threeServers(stage, [], ['serve', '--alone']);
      const from = performance.now();
      up.child.stdin?.end();
      return endOf(stage, up, from);
    },
  },
};
