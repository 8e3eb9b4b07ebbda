/** The troupe in the background, with real processes. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { initialize } from '../../fixtures/initialize.ts';
import { createPlace, type Place } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const program = compiledCli();
const limit = { timeout: 180_000 };

/** A place whose commands share a troupe, which is killed when the test ends. */
function sharedPlace(): Place {
  const place = createPlace(program);
  place.writeProject({});
  onTestFinished(() => {
    for (const pid of backgroundsOf(place)) process.kill(pid, 'SIGKILL');
  });
  return place;
}

function backgroundsOf({ folder }: Place): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes('__background') && words.some((word) => word.includes(folder));
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** A host that starts `troupe serve` over stdio. */
async function hostOf(place: Place) {
  const folders = ['--project', place.folder, '--state-dir', path.join(place.folder, 'state')];
  const words = [...program.words, 'serve', '--config', place.settings, ...folders];
  const { MCP_TROUPE_NO_BACKGROUND: _alone, ...env } = process.env;
  const child = spawn(process.execPath, words, { cwd: root, env, stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const answers = new Map<unknown, (answer: Record<string, unknown>) => void>();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as Record<string, unknown>;
      answers.get(message['id'])?.(message);
    }
  });
  let id = 1;
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  const request = (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    id += 1;
    const asked = id;
    return new Promise((resolve) => {
      answers.set(asked, resolve);
      send({ jsonrpc: '2.0', id: asked, method, params });
    });
  };
  const introduced = new Promise((resolve) => answers.set(1, resolve));
  send({ ...initialize(), id: 1 });
  await introduced;
  send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return {
    call: (tool: string, args: object = {}) =>
      request('tools/call', { name: `db__${tool}`, arguments: args }),
    list: () => request('tools/list'),
    async leave(): Promise<unknown> {
      child.stdin.end();
      const [exitCode] = (await once(child, 'exit')) as [number];
      return exitCode;
    },
  };
}

describe('the troupe in the background', () => {
  it('is started by the first of several hosts, which share its servers', limit, async () => {
    const place = sharedPlace();
    place.writeSettings({ db: place.server() });
    const hosts = await Promise.all([hostOf(place), hostOf(place), hostOf(place)]);
    const lists = await Promise.all(hosts.map((host) => host.list()));
    for (const { result } of lists)
      expect((result as { tools: unknown[] }).tools.length).toBeGreaterThan(0);
    expect(backgroundsOf(place)).toHaveLength(1);
    expect(place.servers()).toHaveLength(1);
    expect(await Promise.all(hosts.map((host) => host.leave()))).toEqual([0, 0, 0]);
  });

  it('is started again when it was killed, and its calls have an outcome', limit, async () => {
    const place = sharedPlace();
    place.writeSettings({ db: place.server('mute-on-call') });
    const host = await hostOf(place);
    await host.list();
    const [first = 0] = backgroundsOf(place);
    const lost = host.call('echo', { text: 'hello' });
    await host.list();
    process.kill(first, 'SIGKILL');
    expect((await lost)['result']).toMatchObject({
      isError: true,
      _meta: { 'mcp-troupe/error': { code: 'UNAVAILABLE', outcome: 'unknown' } },
    });
    expect((await host.list())['result']).toHaveProperty('tools');
    expect(backgroundsOf(place)).not.toContain(first);
    expect(await host.leave()).toBe(0);
  });
});
