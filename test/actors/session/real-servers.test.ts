/** Sessions with published servers, which were not written for these tests. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import type { RemoteSpec, ServerSpec } from '../../../src/domain/server-spec.ts';
import { freePort } from '../../fixtures/remote/free-port.ts';
import { type Bench, callOptions, createBench, isRunning } from './bench.ts';

const servers = new URL('../../../node_modules/@modelcontextprotocol/', import.meta.url).pathname;

let bench: Bench | undefined;
let folder: string | undefined;
let remote: ChildProcess | undefined;

afterEach(() => {
  bench?.stop();
  remote?.kill('SIGKILL');
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

function local(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
): ServerSpec {
  const script = `${servers}server-${name}/dist/index.js`;
  return {
    type: 'stdio',
    command: process.execPath,
    args: [script, ...args],
    env,
    cwd: '/tmp',
    era: 'auto',
  };
}

async function listed(spec: ServerSpec): Promise<{ bench: Bench; pid: number | undefined }> {
  const session = createBench(spec)();
  bench = session;
  session.send('session.open');
  const { era, pid } = await session.next('session.opened');
  expect(era).toBe('legacy');
  session.send('session.list');
  await session.next('session.listed');
  return { bench: session, pid };
}

async function closed(session: Bench, pid: number | undefined): Promise<void> {
  session.send('session.close');
  expect((await session.next('session.closed')).failure).toBeUndefined();
  if (pid !== undefined) expect(isRunning(pid)).toBe(false);
}

async function call(session: Bench, tool: string, args: Record<string, unknown>): Promise<string> {
  const outcome = await session.handle().callTool(tool, args, callOptions());
  if ('failure' in outcome) throw new Error(outcome.failure.message);
  return String(outcome.result.content[0]?.['text']);
}

async function startEverything(
  mode: 'streamableHttp' | 'sse' = 'streamableHttp',
): Promise<ServerSpec> {
  const port = await freePort();
  const child = spawn(process.execPath, [`${servers}server-everything/dist/index.js`, mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  remote = child;
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server left')));
    child.stderr.on('data', (chunk) => {
      if (String(chunk).includes(String(port))) resolve();
    });
  });
  const host = `http://127.0.0.1:${port}`;
  if (mode === 'sse') return { type: 'sse', url: `${host}/sse`, headers: {}, era: 'auto' };
  return { type: 'http', url: `${host}/mcp`, headers: {}, era: 'auto' };
}

describe('server-everything', () => {
  it('is opened, listed, called and closed over stdio', async () => {
    const session = await listed(local('everything', ['stdio']));
    expect(session.bench.catalog.length).toBeGreaterThan(5);
    expect(session.bench.instructions).toContain('Everything');
    expect(await call(session.bench, 'echo', { message: 'hello' })).toBe('Echo: hello');
    await closed(session.bench, session.pid);
  });

  it('is opened, listed, called and closed over HTTP', async () => {
    const session = await listed(await startEverything());
    expect(await call(session.bench, 'echo', { message: 'hello' })).toBe('Echo: hello');
    await closed(session.bench, session.pid);
  });

  it('is opened, listed, called and closed over SSE', async () => {
    const session = await listed(await startEverything('sse'));
    expect(await call(session.bench, 'echo', { message: 'hello' })).toBe('Echo: hello');
    await closed(session.bench, session.pid);
  });

  it('is reached over SSE when the settings do not name a transport', async () => {
    const { url } = (await startEverything('sse')) as RemoteSpec;
    const fallback = 'sse';
    const session = await listed({ type: 'http', url, headers: {}, era: 'auto', fallback });
    expect(await call(session.bench, 'echo', { message: 'hello' })).toBe('Echo: hello');
    await closed(session.bench, session.pid);
  });

  it('is promptly reported as lost over SSE when it is killed', async () => {
    const session = await listed(await startEverything('sse'));
    session.bench.holdTimers();
    remote?.kill('SIGKILL');
    const { failure } = await session.bench.next('session.closed');
    expect(failure?.kind).toBe('transport');
  });

  it('is promptly reported as lost over HTTP when it is killed during a call', async () => {
    const session = await listed(await startEverything());
    const slow = session.bench
      .handle()
      .callTool(
        'trigger-long-running-operation',
        { duration: 60, steps: 60 },
        { ...callOptions(), onProgress: () => started() },
      );
    let started = (): void => {};
    await new Promise<void>((resolve) => {
      started = resolve;
    });
    session.bench.holdTimers();
    remote?.kill('SIGKILL');
    const { failure } = await session.bench.next('session.closed');
    expect(failure?.kind).toBe('transport');
    expect(await slow).toMatchObject({ failure: { reason: 'streamLost', written: true } });
  });
});

describe('server-memory', () => {
  it('is opened, listed, called and closed', async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'troupe-'));
    const env = { MEMORY_FILE_PATH: path.join(folder, 'memory.json') };
    const session = await listed(local('memory', [], env));
    expect(session.bench.catalog.map(({ name }) => name)).toContain('read_graph');
    expect(await call(session.bench, 'read_graph', {})).toContain('entities');
    await closed(session.bench, session.pid);
  });
});

describe('server-filesystem', () => {
  it('is opened, listed, called and closed', async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'troupe-'));
    writeFileSync(path.join(folder, 'note.txt'), 'remember');
    const session = await listed(local('filesystem', [folder]));
    expect(
      await call(session.bench, 'read_text_file', { path: path.join(folder, 'note.txt') }),
    ).toBe('remember');
    await closed(session.bench, session.pid);
  });
});
