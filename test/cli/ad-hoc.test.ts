/** Servers named on the command line, with the real command line and real servers. */

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createPlace, type Place } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';
import { runCliHere, temporaryFolder } from './run-cli.ts';
import { createStandIn, statusOf, toolOf } from './stand-in-troupe.ts';

const cli = compiledCli();
const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const everything = pathOf(
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);
const fixture = pathOf('../fixtures/stdio-server.mjs');

/** A place whose settings and project folder name servers that must not start. */
function trap(): Place {
  const place = createPlace(cli);
  place.writeSettings({ mine: place.server() });
  place.writeProject({ gated: place.server() });
  mkdirSync(path.join(place.folder, 'state'), { recursive: true });
  writeFileSync(
    path.join(place.folder, 'state', 'troupe.json'),
    JSON.stringify({ mcpServers: { own: place.server('no-such-mode') } }),
  );
  return place;
}

describe('a server of --stdio', () => {
  it('is called once, beside servers of settings, which are not read', async () => {
    const place = trap();
    const stdio = ['--stdio', `"${process.execPath}" '${everything}' stdio`];
    expect(await place.run('call', 'get-sum', 'a=2', 'b=3', ...stdio)).toEqual({
      exitCode: 0,
      stdout: 'The sum of 2 and 3 is 5.\n',
      stderr: '',
    });
    const tools = await place.run('tools', ...stdio);
    expect(tools.stdout).toMatch(/^get-sum\(a: number, b: number\) — Returns the sum/m);
    const one = await place.run('tools', 'get-sum', ...stdio, '--json');
    expect(JSON.parse(one.stdout)).toMatchObject({
      tools: [{ server: 'ad-hoc', tool: 'get-sum', inputSchema: { required: ['a', 'b'] } }],
    });
    const listed = await place.run('tools', ...stdio, '--json');
    const { tools: all } = JSON.parse(listed.stdout) as { tools: { server: string }[] };
    expect(new Set(all.map(({ server }) => server))).toEqual(new Set(['ad-hoc']));
    await place.isEmpty();
  });

  it('may be named by a quoted command in place of a server, and called without a command', async () => {
    const place = trap();
    const command = `"${process.execPath}" '${fixture}' ok`;
    const echo = { exitCode: 0, stdout: '{"text":"hi"}\n', stderr: '' };
    expect(await place.run('call', command, 'echo', 'text=hi')).toEqual(echo);
    expect(await place.run(command, 'echo', 'text=hi')).toEqual(echo);
    expect((await place.run(command)).stdout).toMatch(/^echo\(/mu);
    expect(await place.run('call', command, 'ehco')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Did you mean echo?') as string,
    });
    await place.isEmpty();
  });

  it('gets variables of --env, with references to the environment', async () => {
    const place = trap();
    const stdio = ['--stdio', `${process.execPath} ${everything} stdio`];
    const run = await place.run(
      'call',
      'get-env',
      ...stdio,
      '--env',
      'X=a b',
      '--env',
      'P=<${PATH}>',
    );
    expect(JSON.parse(run.stdout)).toMatchObject({ X: 'a b', P: `<${process.env['PATH']}>` });
  });

  it('fails once, with the reason and a next step that works', async () => {
    const place = createPlace(cli);
    const missing = await place.run('call', 'echo', '--stdio', 'no-such-program -x');
    expect(missing.exitCode).toBe(8);
    expect(missing.stderr).toContain('"no-such-program" was not found');
    expect(missing.stderr).not.toMatch(/troupe (?:up|status|restart|start)|ad-hoc/);
    const unset = await place.run('call', 'echo', '--stdio', 'node ${NO_SUCH_VARIABLE}');
    expect(unset.stderr).toContain('Next: set NO_SUCH_VARIABLE and run it again');
    const typo = await place.run('call', 'ehco', '--stdio', `${process.execPath} ${fixture} ok`);
    expect(typo).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Did you mean echo?'),
    });
    await place.isEmpty();
  });
});

describe('the flags --stdio and --url', () => {
  it.each([
    [['--stdio', 'a', '--url', 'b'], 'name two servers'],
    [['--stdio', 'a', '--config', 'x.json'], 'leave out --config'],
    [['--url', 'http://a', '--env', 'A=b'], 'add --stdio, or leave out --env'],
    [['--stdio', 'a', '--header', 'A=b'], 'add --url, or leave out --header'],
    [['--stdio', 'a', '--env', 'nothing'], 'a value of --env has another form; write NAME=VALUE'],
    [['--stdio', "a 'b"], "ends within an open '"],
    [['--stdio', ' '], 'needs a command'],
  ])('are checked: %j', async (flags, message) => {
    const run = await runCliHere(['call', 'echo', ...flags], { folder: temporaryFolder() });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain(message);
    expect(run.created).toEqual([]);
  });

  it.each([
    ['--stdio', 'sleep 100'],
    ['--url', 'https://example.com/mcp'],
  ])('name a next step that works when the wait for %s ends', async (...flags) => {
    const troupe = createStandIn({ servers: [statusOf('ad-hoc', { state: 'connecting' })] });
    for (const words of [['tools'], ['call', 'echo', 'text=hi']]) {
      const argv = [...words, ...flags, '--timeout', '1'];
      const run = await runCliHere(argv, { folder: temporaryFolder(), troupe });
      expect(run).toMatchObject({
        exitCode: 4,
        stderr: `troupe: The server of ${flags[0]} is still connecting; wait longer with --timeout\n`,
      });
    }
  });

  it('make a troupe with this server and managed settings only', async () => {
    const folder = temporaryFolder();
    const troupe = createStandIn({
      servers: [statusOf('ad-hoc')],
      tools: [toolOf('ad-hoc', 'echo')],
    });
    const header = ['--header', 'Authorization: Bearer ${KEY}', '--header', 'X-A=b'];
    const argv = ['call', 'echo', '--url', 'https://example.com/mcp', ...header];
    const run = await runCliHere(argv, { folder, troupe });
    expect(run.exitCode).toBe(0);
    expect(troupe.calls).toMatchObject([{ server: 'ad-hoc', tool: 'echo' }]);
    expect(run.created).toMatchObject([
      {
        sources: [{ file: path.join(folder, 'managed.json'), scope: 'managed' }],
        bare: true,
        settings: {
          mcpServers: {
            'ad-hoc': {
              url: 'https://example.com/mcp',
              headers: { Authorization: 'Bearer ${KEY}', 'X-A': 'b' },
            },
          },
        },
      },
    ]);
  });
});
