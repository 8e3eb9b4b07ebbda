/** A call from the command line to a running troupe, compared with the start of Node alone. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { StdioServer } from '../contender.ts';
import { publishedCli } from '../published.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { atMost, measure, ownRounds, timed, type Work } from '../work.ts';

const turns = 15;
const call = ['call', 'echo', 'echo', 'text=hello'];

interface CliTask {
  readonly cli: string;
  readonly server: StdioServer;
}

async function job({ cli, server }: CliTask): Promise<unknown> {
  const home = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
  await mkdir(join(home, 'project'));
  const { command, args } = server;
  const settings = { mcpServers: { echo: { command, args } } };
  await writeFile(join(home, 'troupe.json'), JSON.stringify(settings));
  const options = {
    cwd: join(home, 'project'),
    env: { ...process.env, MCP_TROUPE_HOME: home },
  };
  const up = spawn(process.execPath, [cli, 'up'], { ...options, stdio: 'ignore' });
  const gone = once(up, 'exit');
  const run = (...words: readonly string[]) =>
    timed(() => spawnSync(process.execPath, words, { ...options, encoding: 'utf8' }));
  const timeOf = async (...words: readonly string[]): Promise<number> => {
    const { result, ms } = await run(...words);
    if (result.status !== 0) throw new Error(`${words.join(' ')}: ${result.stderr}`);
    return ms;
  };
  try {
    while (!(await run(cli, 'status', 'echo')).result.stdout.includes('ready')) await pause(50);
    const times: Record<'node' | 'call' | 'version', number[]> = {
      node: [],
      call: [],
      version: [],
    };
    for (let turn = 0; turn < turns; turn += 1) {
      times.node.push(await timeOf('-e', '0'));
      times.call.push(await timeOf(cli, ...call));
      times.version.push(await timeOf(cli, '--version'));
    }
    const [node, called] = [median(times.node), median(times.call)];
    return { node, call: called, version: median(times.version), ratio: called / node };
  } finally {
    up.kill('SIGTERM');
    await gone;
    await rm(home, { recursive: true, force: true });
  }
}

const title = 'troupe call to a running troupe';

export const cliCallWork: Work = {
  name: 'cli-call',
  measures: [
    measure('node', 'node -e 0', 'ms'),
    measure('version', 'troupe --version', 'ms'),
    measure('call', title, 'ms'),
    measure('ratio', `${title}, times node -e 0`, '', atMost(1.5)),
  ],
  rounds: { full: 5, quick: 2 },
  run: (context) =>
    ownRounds(context, cliCallWork, { cli: publishedCli(), server: stdioServer('echo') }),
  job,
};
