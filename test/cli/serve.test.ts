import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { initialize } from '../fixtures/initialize.ts';
import { createPlace, type Place } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';
import { runCliHere, temporaryFolder } from './run-cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const everything = path.join(
  root,
  'node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);
const program = compiledCli();
// Starts two processes that each load an SDK, possibly on a busy machine.
const limit = { timeout: 180_000 };

/** A project with the reference server under the name `everything`. */
function placeWithEverything(): Place {
  const place = createPlace(program);
  place.writeSettings({
    everything: {
      command: process.execPath,
      args: [everything, 'stdio'],
      env: { [place.mark]: '1' },
    },
  });
  return place;
}

function wordsOf(place: Place, ...more: readonly string[]): string[] {
  const folders = ['--project', place.folder, '--state-dir', path.join(place.folder, 'state')];
  return [...program.words, 'serve', '--alone', '--config', place.settings, ...folders, ...more];
}

describe.each(['modern', 'legacy', 'legacy, SDK v1'] as const)(
  'troupe serve over stdio (%s)',
  (line) => {
    it('presents all servers as one MCP server', limit, async () => {
      const place = placeWithEverything();
      const launch = {
        command: process.execPath,
        args: wordsOf(place),
        cwd: root,
        stderr: 'ignore' as const,
      };
      const info = { name: 'host', version: '1.0.0' };
      if (line === 'legacy, SDK v1') {
        const client = new OldClient(info);
        await client.connect(new OldStdio(launch));
        onTestFinished(() => client.close());
        const { content } = await client.callTool({
          name: 'everything__echo',
          arguments: { message: 'hello' },
        });
        expect(content).toEqual([{ type: 'text', text: 'Echo: hello' }]);
        await client.close();
      } else {
        const mode = line === 'modern' ? ('auto' as const) : ('legacy' as const);
        const client = new Client(info, { versionNegotiation: { mode } });
        await client.connect(new StdioClientTransport(launch));
        onTestFinished(() => client.close());
        expect(client.getProtocolEra()).toBe(line);
        expect(client.getServerVersion()?.name).toBe('mcp-troupe');
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name)).toContain('everything__get-sum');
        const { content } = await client.callTool({
          name: 'everything__get-sum',
          arguments: { a: 2, b: 3 },
        });
        expect(content).toEqual([{ type: 'text', text: expect.stringContaining('5') }]);
        const uri = 'troupe://everything/demo://resource/dynamic/text/1';
        const { contents } = await client.readResource({ uri });
        expect(contents[0]?.uri).toBe(uri);
        await client.close();
      }
      await place.isEmpty();
    });
  },
);

describe('troupe serve', () => {
  it(
    'writes only protocol messages to stdout, ignores garbage and exits with its host',
    limit,
    async () => {
      const place = createPlace(program);
      place.writeSettings({ db: place.server() });
      const child = spawn(process.execPath, wordsOf(place), { cwd: root });
      onTestFinished(() => void child.kill('SIGKILL'));
      let written = '';
      const answered = new Promise<void>((resolve) => {
        child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
          written += chunk;
          if (written.includes('"id":2')) resolve();
        });
      });
      const send = (message: unknown): void => {
        child.stdin.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
      };
      send('this is no JSON');
      send('{"half": ');
      send(initialize());
      send({ jsonrpc: '2.0', method: 'notifications/initialized' });
      send({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
      await answered;
      const lines = written.trimEnd().split('\n');
      for (const each of lines) expect(JSON.parse(each)).toMatchObject({ jsonrpc: '2.0' });
      child.stdin.end();
      const [exitCode] = (await once(child, 'exit')) as [number];
      expect(exitCode).toBe(0);
      await place.isEmpty();
    },
  );

  it(
    'shows its host only the view that it names, which the settings must have',
    limit,
    async () => {
      const place = createPlace(program);
      const views = { review: { servers: ['db'], naming: { template: '{tool}' } } };
      place.writeSettings({ db: place.server(), web: place.server() }, { views });
      const serve = (view: string) => ({
        command: process.execPath,
        args: wordsOf(place, '--view', view),
        cwd: root,
        stderr: 'ignore' as const,
      });
      const whole = await place.run('tools', '--alone', '--config', place.settings, 'db', '--json');
      const { tools: own } = JSON.parse(whole.stdout) as { tools: { tool: string }[] };
      const client = new Client({ name: 'host', version: '1.0.0' });
      await client.connect(new StdioClientTransport(serve('review')));
      onTestFinished(() => client.close());
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual(own.map(({ tool }) => tool).sort());
      await client.close();
      const refused = await place.run(
        'serve',
        '--alone',
        '--config',
        place.settings,
        '--view',
        'x',
      );
      expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('no view x')]);
      await place.isEmpty();
    },
  );

  it('accepts the token from a file that only the user can read', limit, async () => {
    const place = createPlace(program);
    place.writeSettings({ db: place.server() });
    const run = place.start('serve', '--config', place.settings, '--http', '0', '--json');
    const [document] = await run.printed(/\{[^}]*\}/);
    const { url, tokenFile } = JSON.parse(document) as { url: string; tokenFile: string };
    const token = readFileSync(tokenFile, 'utf8').trim();
    expect(token).toHaveLength(43);
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    expect(run.stdout() + run.stderr()).not.toContain(token);
    expect((await fetch(url, { method: 'POST' })).status).toBe(401);
    const client = new Client({ name: 'host', version: '1.0.0' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    const metrics = await fetch(new URL('/metrics', url), requestInit);
    expect(metrics.headers.get('content-type')).toMatch(/^application\/openmetrics-text/);
    const text = await metrics.text();
    expect(text).toContain('mcp_troupe_server_state{server="db",state="ready"} 1\n');
    expect(text).toMatch(/\n# EOF\n$/);
    await client.close();
    run.child.kill('SIGTERM');
    expect((await run.ended).exitCode).toBe(143);
    await place.isEmpty();
  });

  it(
    'rejects flags that would admit strangers and addresses it cannot listen on',
    limit,
    async () => {
      const folder = temporaryFolder();
      for (const [argv, words] of [
        [['serve', '--no-auth'], '--no-auth needs --http'],
        [['serve', '--no-auth', '--http', '0.0.0.0:0'], 'whole network'],
        [['serve', '--http', '65536'], 'port from 0 to 65535'],
        [['serve', '--http', '1e3'], 'port from 0 to 65535'],
        [['serve', '--http', '-1'], ''],
        [['serve', '--http', 'a b:80'], 'HOST:PORT'],
        [['serve', '--http', ''], 'HOST:PORT'],
      ] as const) {
        const { exitCode, stdout, stderr } = await runCliHere(argv, { folder });
        expect([argv.join(' '), exitCode]).toEqual([argv.join(' '), 2]);
        expect(stderr).toContain(words);
        expect(stdout).toBe('');
      }
      const place = createPlace(program);
      place.writeSettings({ db: place.server() });
      const first = place.start('serve', '--config', place.settings, '--http', '0', '--json');
      const [port] = (await first.printed(/(?<=127\.0\.0\.1:)\d+/)) as [string];
      const second = await place.run('serve', '--config', place.settings, '--http', port, '--json');
      expect(second.exitCode).toBe(2);
      expect(JSON.parse(second.stdout)).toMatchObject({ error: { code: 'USAGE' } });
      expect(second.stdout).toContain('in use');
      expect(second.stderr).toContain('already running');
    },
  );
});
