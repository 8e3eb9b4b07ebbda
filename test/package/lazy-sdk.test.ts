/** The SDK is slow to load, so sessions with older servers do without it. */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

import { startHttpHost } from '../lab/http-host.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The files that a script loads, according to Node's coverage. */
async function loadedBy(script: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-loaded-'));
  try {
    const words = ['--import', 'tsx', '--input-type=module', '--eval', script];
    const env = { ...process.env, NODE_V8_COVERAGE: folder, MCP_TROUPE_HOME: folder };
    await promisify(execFile)(process.execPath, words, { cwd: root, env });
    const names = (await readdir(folder)).filter((name) => name.startsWith('coverage-'));
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    return texts.flatMap((text) =>
      (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url }) => url),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The files loaded by a program that calls one server's tool. */
async function loadedByCall(server: object): Promise<readonly string[]> {
  const settings = { mcpServers: { db: server } };
  const urls = await loadedBy(`
    const { createTroupe } = await import('./src/index.ts');
    const troupe = createTroupe(${JSON.stringify({ settings })});
    await troupe.callTool('mcp__db__echo', { text: 'hello' });
    await troupe.stop();
    const loaded = process.moduleLoadList.filter((name) => name.includes('undici'));
    if (loaded.length > 0) throw new Error('loads ' + loaded.join());
    await import('./test/bench/servers.ts');`);
  // The last line but one of the script, so the call was answered.
  expect(urls.some((url) => url.endsWith('/test/bench/servers.ts'))).toBe(true);
  return urls;
}

const ofSdk = (url: string): boolean => url.includes('/node_modules/@modelcontextprotocol/');

it('a session with an older server loads no part of the SDK', async () => {
  const server = join(root, 'test/bench/servers/stdio-echo.mjs');
  const urls = await loadedByCall({ command: process.execPath, args: [server] });
  expect(urls.filter(ofSdk)).toEqual([]);
});

it('a remote session that needs no login loads no part of the SDK', async () => {
  const host = await startHttpHost(join(root, 'test/bench/servers/http-echo.mjs'));
  try {
    const urls = await loadedByCall({ type: 'http', url: `${host.origin}/db` });
    expect(urls.filter(ofSdk)).toEqual([]);
  } finally {
    await host.stop();
  }
});
