/** A call from the command line to a running troupe, compared with the start of Node alone. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { publishedCli } from '../published.ts';
import { stdioServer } from '../servers.ts';
import { median } from '../statistics.ts';
import { atMost, measure, ownRounds, timed, type Work } from '../work.ts';

interface CliTask {
  readonly cli: string;
  readonly home: string;
}

const turns = 15;
const call = ['call', 'echo', 'echo', 'text=hello'];

async function job({ cli, home }: CliTask): Promise<unknown> {
  const options = {
    cwd: join(home, 'project'),
    env: { ...process.env, MCP_TROUPE_HOME: home },
  };
  const up = spawn(process.execPath, [cli, 'up', '--json'], {
    ...options,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const gone = once(up, 'exit');
  const isUp = new Promise<void>((resolve) => {
    let printed = '';
    up.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      if (printed.includes('"ready"')) resolve();
    });
  });
  const run = async (words: readonly string[]): Promise<number> => {
    const { result, ms } = await timed(() => spawnSync(process.execPath, words, options));
    if (result.status !== 0) throw new Error(`${words.join(' ')}: ${result.stderr.toString()}`);
    return ms;
  };
  await Promise.race([isUp, gone.then(() => Promise.reject(new Error('troupe up ended.')))]);
  const times: Record<'node' | 'call' | 'version', number[]> = { node: [], call: [], version: [] };
  for (let turn = 0; turn < turns; turn += 1) {
    times.node.push(await run(['-e', '0']));
    times.call.push(await run([cli, ...call]));
    times.version.push(await run([cli, '--version']));
  }
  up.kill('SIGTERM');
  await gone;
  const [node, called, version] = [median(times.node), median(times.call), median(times.version)];
  return { node, call: called, version, ratio: called / node };
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
  async run(context) {
    const home = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
    await mkdir(join(home, 'project'));
    const { command, args } = stdioServer('echo');
    const settings = { mcpServers: { echo: { command, args } } };
    await writeFile(join(home, 'troupe.json'), JSON.stringify(settings));
    try {
      return await ownRounds(context, cliCallWork, { cli: publishedCli(), home });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  },
  job,
};
