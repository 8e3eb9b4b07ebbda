/** Docker's gateway on the command line, with a fake `docker` on PATH. */

import { writeFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { standInDocker } from '../support/stand-in-docker.ts';
import { createPlace } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';

// Each test starts several Node processes one after another, a second each on a busy machine.
const cli = compiledCli();

async function start(mode: 'ok' | 'noCommand' | 'noDaemon') {
  const docker = await standInDocker(mode);
  for (const [name, value] of Object.entries(docker.env)) vi.stubEnv(name, value);
  const place = createPlace(cli);
  writeFileSync(place.settings, '{\n  "mcp": { "dockerGateway": true }\n}');
  return { docker, place, config: ['--config', place.settings] };
}

describe("the command line with Docker's gateway", () => {
  it('shows it as dormant, calls it, shows it as ready and stops it', async () => {
    const { docker, place, config } = await start('ok');
    const up = place.start('up', ...config);
    await up.printed(/servers: /);
    const status = async () => {
      const { stdout } = await place.run('status', 'MCP_DOCKER', '--json');
      return JSON.parse(stdout) as { servers: unknown[] };
    };
    const source = { file: place.settings, key: 'mcp.dockerGateway', line: 2, scope: 'config' };
    expect((await status()).servers).toMatchObject([{ state: 'dormant', source }]);
    const called = await place.run('call', 'MCP_DOCKER', 'echo', 'text=hi');
    expect(called).toMatchObject({ exitCode: 0, stdout: '{"text":"hi"}\n' });
    expect((await status()).servers).toMatchObject([{ state: 'ready', source, tools: 4 }]);
    up.child.kill('SIGINT');
    expect(await up.ended).toMatchObject({ exitCode: 130 });
    await docker.gone();
  });

  it('calls it without a running troupe', async () => {
    const { docker, place, config } = await start('ok');
    const call = await place.run('call', 'MCP_DOCKER', 'echo', 'text=hi', ...config);
    expect(call).toMatchObject({ exitCode: 0, stdout: '{"text":"hi"}\n' });
    await docker.gone();
  });

  it('reports why it cannot be called without a running troupe', async () => {
    const { docker, place, config } = await start('noDaemon');
    const call = await place.run('call', 'MCP_DOCKER', 'echo', 'text=hi', ...config, '--json');
    expect(call.exitCode).toBe(5);
    expect(JSON.parse(call.stdout)).toMatchObject({
      error: { code: 'UNAVAILABLE', message: expect.stringContaining('start Docker') as unknown },
    });
    await docker.gone();
  });

  it('plans it with its reason, or nothing when Docker has no gateway', async () => {
    const { docker, place, config } = await start('ok');
    const plan = async (): Promise<unknown> =>
      JSON.parse((await place.run('plan', '--json', ...config)).stdout);
    const why = 'wanted by mcp.dockerGateway, not running yet';
    expect(await plan()).toEqual({
      steps: [{ server: 'MCP_DOCKER', step: 'spawn', why }],
      problems: [],
    });
    docker.become('noCommand');
    expect(await plan()).toMatchObject({
      steps: [],
      problems: [{ server: 'MCP_DOCKER', severity: 'warning' }],
    });
    await docker.gone();
  });

  it('shows why there is no gateway in the status', async () => {
    const { docker, place, config } = await start('noCommand');
    const up = place.start('up', ...config);
    await up.printed(/Docker has no command "docker mcp"/);
    const { stdout } = await place.run('status', '--json');
    const message = expect.stringContaining("install Docker's MCP plugin") as string;
    expect(JSON.parse(stdout)).toMatchObject({
      troupe: { problems: [{ file: place.settings, line: 2, key: 'mcp.dockerGateway', message }] },
      servers: [],
    });
    up.child.kill('SIGINT');
    await up.ended;
    await docker.gone();
  });
});
