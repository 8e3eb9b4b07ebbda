/** Sessions with servers that misbehave over stdio, in the modes of the fixture server. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { presets } from '../../../../src/policies/presets/presets.ts';
import { compiledProgram } from '../../../support/compiled-program.ts';
import {
  type Bench,
  type BenchOptions,
  callOptions,
  createBench,
  ended,
  fixtureSpec,
  graces,
  isRunning,
  unwritable,
} from '../../session/bench.ts';

type Args = Readonly<Record<string, unknown>>;

let bench: Bench | undefined;
let folder: string | undefined;

afterEach(() => {
  bench?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

function start(mode: string, options: BenchOptions = {}): Bench {
  bench = createBench(fixtureSpec(mode))(options);
  return bench;
}

async function opened(
  mode: string,
  options: BenchOptions = {},
): Promise<{ bench: Bench; pid: number }> {
  const started = start(mode, options);
  started.send('session.open');
  const { pid } = await started.next('session.opened');
  return { bench: started, pid: pid as number };
}

async function failureOf(mode: string, options: BenchOptions = {}) {
  const started = start(mode, options);
  started.send('session.open');
  return (await started.next('session.closed')).failure;
}

async function listed(mode: string) {
  const session = await opened(mode);
  session.bench.send('session.list');
  await session.bench.next('session.listed');
  return session.bench;
}

function call(of: Bench, tool = 'echo', timeoutMs?: number) {
  return of.handle().callTool(tool, {}, callOptions(timeoutMs === undefined ? {} : { timeoutMs }));
}

describe('opening a stdio session', () => {
  it('reports a command that does not exist', async () => {
    const failure = await failureOf('', {
      spec: { ...fixtureSpec(''), command: 'no-such-command' },
    });
    expect(failure).toEqual({
      kind: 'unavailable',
      message: 'The command "no-such-command" was not found on PATH.',
      missing: { what: 'command', name: 'no-such-command' },
      causes: [expect.objectContaining({ code: 'ENOENT' })],
    });
  });

  it('reports a file that is not executable', async () => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-'));
    const command = join(folder, 'plain');
    writeFileSync(command, 'x', { mode: 0o644 });
    const failure = await failureOf('', { spec: { ...fixtureSpec(''), command } });
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(
        'is not executable; if it is a program, make it so with chmod +x',
      ),
    });
  });

  it('reports a missing working folder rather than the command', async () => {
    const failure = await failureOf('', { spec: fixtureSpec('ok', { cwd: '/no/such/folder' }) });
    expect(failure).toEqual({
      kind: 'unavailable',
      message: 'The working folder "/no/such/folder" does not exist.',
      causes: [expect.objectContaining({ code: 'ENOENT' })],
    });
  });

  it('reports a working folder that is a file', async () => {
    const failure = await failureOf('', { spec: fixtureSpec('ok', { cwd: process.execPath }) });
    expect(failure?.message).toContain('is not a folder');
  });

  it('turns a spawn exception into a failure', async () => {
    const failure = await failureOf('', { spec: fixtureSpec('a\0b') });
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('null character'),
    });
  });

  it('names a variable that is not set and the key that needs it', async () => {
    const spec = fixtureSpec('ok', { env: { DB: '${NO_SUCH_VARIABLE}' } });
    expect(await failureOf('', { spec })).toEqual({
      kind: 'unavailable',
      message: 'The variable NO_SUCH_VARIABLE, which "env.DB" needs, is not set.',
      missing: { what: 'variable', name: 'NO_SUCH_VARIABLE' },
    });
  });

  it('keeps a reference to a variable that is not set, by policy, and says so', async () => {
    const { bench: session } = await opened('', {
      spec: fixtureSpec('ok', { value: '${NO_SUCH_VARIABLE}' }),
      policy: { connect: presets.claudeCode.connect },
    });
    const outcome = await call(session, 'env');
    expect(JSON.stringify(outcome)).toContain('${NO_SUCH_VARIABLE}');
    await session.logged('is not set; the reference stays as it is');
  });

  it('passes only the configured environment and a short allow-list to the process', async () => {
    const spec = fixtureSpec('ok', { value: '${PORT:-8080}', env: { TOKEN: '${MY_TOKEN}' } });
    const { bench: session } = await opened('', {
      spec,
      env: {
        MY_TOKEN: 't0ken',
        OTHER: 'no',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
        OTEL_SERVICE_NAME: 'host',
        HOME: '/elsewhere',
      },
    });
    const outcome = await call(session, 'env');
    const text = 'result' in outcome ? String(outcome.result.content[0]?.['text']) : '';
    const seen = JSON.parse(text) as Record<string, unknown>;
    expect(seen).toMatchObject({
      TOKEN: 't0ken',
      HOME: '/elsewhere',
      args: ['ok', '8080'],
      cwd: '/tmp',
    });
    const passed = Object.keys(seen).filter((name) => /^(?:OTHER|OTEL_)/u.test(name));
    expect(passed).toEqual([]);
  });

  it.each([
    ['exit-0', { kind: 'crashed', exitCode: 0 }],
    ['segv', { kind: 'crashed', signal: 'SIGSEGV' }],
    ['init-error', { kind: 'protocol', message: 'The server refused initialize: not today' }],
    ['garbage', { kind: 'protocol' }],
    ['bad-version', { kind: 'versionUnsupported' }],
    ['huge-line', { kind: 'protocol', message: 'The server wrote a line of more than 16 MB.' }],
    ['lsp', { kind: 'protocol', message: expect.stringContaining('Content-Length') }],
  ])('fails immediately with the server in mode %s', async (mode, failure) => {
    expect(await failureOf(mode)).toMatchObject(failure);
  });

  it('shows the last stderr lines, printable and without secrets', async () => {
    const spec = fixtureSpec('exit-1', { env: { API_KEY: '${SECRET}' } });
    const failure = await failureOf('', { spec, env: { SECRET: 'hunter2-hunter2' } });
    expect(failure).toEqual({
      kind: 'crashed',
      exitCode: 1,
      message: 'The server process exited with code 1. It wrote: cannot open the database',
      explanation: 'cannot open the database',
      stderrTail: ['cannot open the database', 'the key is [redacted]'],
    });
    expect(bench?.lines).toEqual(['cannot open the database', 'the key is [redacted]']);
  });

  it('quotes stdout when a server that wrote nothing to stderr ends', async () => {
    expect(await failureOf('usage')).toMatchObject({
      kind: 'crashed',
      message: 'The server process exited with code 0. It wrote: USAGE serve [--key KEY]',
    });
  });

  it('can be closed while the server is silent', async () => {
    const session = start('hang-init');
    session.send('session.open');
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
  });

  it('leaves the error that a silent server wrote as evidence', async () => {
    const session = start('unreachable');
    session.send('session.open');
    await session.logged('retrying');
    // As at the deadline of the handshake.
    session.send('session.close');
    expect((await session.next('session.closed')).evidence).toMatchObject({
      explanation: '[Redis Error] Error: connect ECONNREFUSED 127.0.0.1:6379',
    });
  });

  it('can be closed during the era probe', async () => {
    const session = start('', {
      spec: fixtureSpec('hang-discover', { era: 'auto' }),
      policy: graces(500, 1_000),
    });
    const startedAt = performance.now();
    session.send('session.open');
    session.send('session.close');
    await session.next('session.closed');
    // An unanswered probe alone takes 1.5 s.
    expect(performance.now() - startedAt).toBeLessThan(1_400);
  });
});

describe('framing', () => {
  it.each(['noise', 'bom'])('ignores %s before the first message', async (mode) => {
    const { bench: session } = await opened(mode);
    expect(await call(session)).toHaveProperty('result');
    expect(session.lines.filter((line) => line.includes('is not MCP'))).toHaveLength(
      mode === 'noise' ? 1 : 0,
    );
  });
});

describe("a stdio session's tool list", () => {
  it('keeps the valid tools, and reports that some are missing', async () => {
    const session = await listed('bad-tool');
    expect(session.catalog.map(({ name }) => name)).toEqual(['echo', 'fine']);
    expect(await session.next('session.impaired')).toMatchObject({ reason: 'partialCatalog' });
    expect(session.lines.join()).toContain('tool "no-schema": has no input schema');
  });

  it('reports when the list is complete again', async () => {
    const session = await listed('bad-tool-once');
    await session.next('session.impaired');
    session.send('session.list');
    expect(await session.next('session.recovered')).toMatchObject({ reason: 'partialCatalog' });
  });

  it('reads every page', async () => {
    expect((await listed('pages')).catalog.map(({ name }) => name)).toEqual([
      't0',
      't1',
      't2',
      't3',
      't4',
    ]);
  });

  it.each([
    ['endless-pages', 64],
    ['loop-cursor', 1],
    ['many-tools', 1_000],
  ])('ends even with the server in mode %s', async (mode, toolCount) => {
    const session = await listed(mode);
    expect(session.catalog).toHaveLength(toolCount);
    await session.next('session.impaired');
  });

  it("is empty without the capability and writes nothing to the host's stdout", async () => {
    expect((await listed('no-tools')).catalog).toEqual([]);
  });

  it('keeps unknown annotations and printable instructions', async () => {
    const session = await listed('ok');
    expect(session.catalog[0]).toEqual({
      name: 'echo',
      description: 'Tool echo',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true, other: 1 },
    });
    expect(session.instructions).toBe('Use with care.');
  });

  it('ends the session when the server refuses the first request for it', async () => {
    const { bench: session } = await opened('list-error');
    session.send('session.list');
    const failure = { kind: 'protocol', message: 'The server refused tools/list: no list' };
    expect((await session.next('session.listFailed')).failure).toEqual(failure);
    expect((await session.next('session.closed')).failure).toEqual(failure);
  });

  it('can be closed while a list hangs', async () => {
    const { bench: session } = await opened('hang-tools');
    session.send('session.list');
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
    expect(session.story).not.toContain('session.listFailed');
  });

  it('is fetched once more after a burst of changes', async () => {
    const { bench: session } = await opened('list-changed');
    await session.next('session.notified');
    session.send('session.list');
    await session.next('session.listed');
    await session.next('session.listed');
    session.send('session.close');
    await session.next('session.closed');
    expect(session.story.filter((name) => name === 'session.listed')).toHaveLength(2);
  });
});

describe('calls in a stdio session', () => {
  it.each([
    [
      'call-error',
      { reason: 'serverError', written: true, rpcCode: -32_603, message: 'the disk is full' },
    ],
    ['result-null', { reason: 'badResponse', written: true, wasAnswered: true }],
    ['result-neither', { reason: 'badResponse', written: true, wasAnswered: true }],
    ['crash-on-call', { reason: 'crashed', written: true }],
  ])('fail with the right reason after %s', async (mode, failure) => {
    const { bench: session } = await opened(mode);
    expect(await call(session)).toMatchObject({ failure });
  });

  it("pass on a tool's error result", async () => {
    const { bench: session } = await opened('is-error');
    expect(await call(session)).toMatchObject({ result: { isError: true } });
  });

  it('resolve with a response written just before the exit', async () => {
    const { bench: session } = await opened('answer-then-exit');
    expect(await call(session)).toMatchObject({ result: { content: [{ text: 'last words' }] } });
    expect((await session.next('session.closed')).failure).toMatchObject({
      kind: 'crashed',
      exitCode: 3,
    });
  });

  it.each([
    ['read in several turns', 5_000],
    ['too numerous to read without a pause', 90_000],
  ])(
    'resolve with a response written just before the exit after lines %s',
    async (_what, count) => {
      const { bench: session } = await opened('', {
        spec: fixtureSpec('lines-answer-exit', { value: String(count) }),
      });
      // A busy machine may need longer than usual for so many lines.
      const outcome = await call(session, 'echo', 20_000);
      expect(outcome).toMatchObject({ result: { content: [{ text: 'last words' }] } });
      expect((await session.next('session.closed')).failure).toMatchObject({ exitCode: 3 });
    },
  );

  it('all settle once when the server dies', async () => {
    const { bench: session } = await opened('ok');
    const calls = [call(session, 'slow'), call(session, 'slow'), call(session, 'crash')];
    for (const outcome of await Promise.all(calls)) {
      expect(outcome).toMatchObject({ failure: { reason: 'crashed', written: true } });
    }
    expect((await session.next('session.closed')).failure).toMatchObject({
      kind: 'crashed',
      exitCode: 9,
    });
  });

  it.each(unwritable)(
    'are not sent when the arguments are %s and leave the session open',
    async (_what, args) => {
      const { bench: session } = await opened('ok');
      const outcome = await session.handle().callTool('echo', args as Args, callOptions());
      expect(outcome).toMatchObject({ failure: { reason: 'invalidArguments', written: false } });
      expect(await call(session)).toHaveProperty('result');
    },
  );

  it('fail when the server leaves too much input unread', async () => {
    const { bench: session } = await opened('deaf');
    const options = callOptions({ timeoutMs: 60_000 });
    const args = { text: 'x'.repeat(40 * 1024 * 1024) };
    const [first, second] = [1, 2].map(() => session.handle().callTool('echo', args, options));
    expect(await session.handle().callTool('echo', {}, options)).toEqual({
      failure: {
        reason: 'notSent',
        written: false,
        message: 'The server does not read its input.',
      },
    });
    session.send('io.dispose');
    expect(await first).toHaveProperty('failure');
    expect(await second).toHaveProperty('failure');
  });

  it('may take longer than the longest timer', async () => {
    const { bench: session } = await opened('ok');
    expect(await call(session, 'echo', Number.POSITIVE_INFINITY)).toHaveProperty('result');
    expect(await call(session, 'echo', 2 ** 31)).toHaveProperty('result');
  });

  it('notify the server when they are cancelled', async () => {
    const { bench: session } = await opened('ok');
    const controller = new AbortController();
    const called = session
      .handle()
      .callTool('slow', {}, callOptions({ signal: controller.signal }));
    controller.abort();
    expect(await called).toMatchObject({ failure: { reason: 'cancelled' } });
    expect(await session.logged('cancelled')).toContain('cancelled');
  });

  it('report progress', async () => {
    const { bench: session } = await opened('ok');
    const controller = new AbortController();
    const progress = new Promise((resolve) => {
      const options = { ...callOptions({ signal: controller.signal }), onProgress: resolve };
      void session.handle().callTool('slow', {}, options);
    });
    expect(await progress).toEqual({ progress: 1, total: 2 });
    controller.abort();
  });
});

describe("a stdio session's end", () => {
  const leavingHost = compiledProgram('test/fixtures/hosts/leaving-host.ts');

  it('is reported promptly after the process is killed', async () => {
    const { bench: session, pid } = await opened('ok');
    session.holdTimers();
    process.kill(pid, 'SIGKILL');
    const { failure } = await session.next('session.closed');
    expect(failure).toMatchObject({ kind: 'crashed', signal: 'SIGKILL' });
  });

  it('is reported promptly even if a helper holds the pipes, and the helper is killed', async () => {
    const { bench: session, pid } = await opened('grandchild');
    const outcome = await call(session, 'env');
    const text = 'result' in outcome ? String(outcome.result.content[0]?.['text']) : '{}';
    const helper = Number((JSON.parse(text) as Record<string, string>)['GRANDCHILD']);
    session.holdTimers();
    process.kill(pid, 'SIGKILL');
    await session.next('session.closed');
    expect(isRunning(helper)).toBe(false);
  });

  it.each([
    ['clean-exit-after-ready', { kind: 'cleanExit', exitCode: 0 }],
    ['crash-after-ready', { kind: 'crashed', exitCode: 7 }],
    ['close-stdout', { kind: 'transport' }],
  ])('is reported with the right kind after %s', async (mode, failure) => {
    const { bench: session, pid } = await opened(mode, {
      policy: graces(50, 50),
    });
    expect((await session.next('session.closed')).failure).toMatchObject(failure);
    expect(isRunning(pid)).toBe(false);
  });

  it('is detected when the server closes its input', async () => {
    const policy = graces(50, 50);
    const { bench: session, pid } = await opened('close-stdin', { policy });
    // The first write may still find room in the pipe; the next one, at the latest that of the
    // cancellation after the timeout, breaks it.
    expect(await call(session, 'slow', 200)).toMatchObject({ failure: { written: true } });
    expect((await session.next('session.closed')).failure).toMatchObject({ kind: 'transport' });
    expect(isRunning(pid)).toBe(false);
  });

  it('leaves no process behind whenever the session is disposed of', async () => {
    const { bench: session, pid } = await opened('ignore-term');
    session.send('io.dispose');
    await ended(pid);
    const early = start('ignore-term');
    early.send('session.open');
    early.stop();
    expect(session.story.at(-1)).toBe('registry.closed');
    expect(early.story).toEqual([]);
  });

  it('waits for the process to save its work', async () => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-'));
    const file = join(folder, 'state');
    const { bench: session, pid } = await opened('', {
      spec: fixtureSpec('slow-exit', { value: file }),
    });
    session.send('session.close');
    await session.next('session.closed');
    expect(readFileSync(file, 'utf8')).toBe('flushed');
    expect(isRunning(pid)).toBe(false);
  });

  it('ignores lines that the server writes while it is being stopped', async () => {
    const { bench: session } = await opened('noise-flood', { policy: graces(300, 300) });
    await call(session);
    session.send('session.close');
    const searches = vi.spyOn(Buffer.prototype, 'indexOf');
    await session.next('session.closed');
    const count = searches.mock.calls.filter(([what]) => what === 0x0a).length;
    searches.mockRestore();
    expect(count).toBeLessThan(1_000);
  });

  it('kills a server that ignores every request to exit', async () => {
    const { bench: session, pid } = await opened('ignore-term', {
      policy: graces(60, 60),
    });
    const askedAt = performance.now();
    session.send('session.close');
    const { failure, at } = await session.next('session.closed');
    expect(failure).toBeUndefined();
    expect(at - askedAt).toBeGreaterThanOrEqual(110);
    expect(isRunning(pid)).toBe(false);
  });

  it("kills a server's stubborn helper too", async () => {
    const { bench: session } = await opened('grandchild', {
      policy: graces(500, 60),
    });
    const outcome = await call(session, 'env');
    const text = 'result' in outcome ? String(outcome.result.content[0]?.['text']) : '{}';
    const helper = Number((JSON.parse(text) as Record<string, string>)['GRANDCHILD']);
    session.send('session.close');
    await session.next('session.closed');
    expect(isRunning(helper)).toBe(false);
  });

  it('also happens when the host exits without closing it', async () => {
    const fixtures = new URL('../../../fixtures/', import.meta.url).pathname;
    const args = [...leavingHost.words, `${fixtures}stdio-server.mjs`];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const pid = Number(stdout);
    expect(pid).toBeGreaterThan(0);
    await ended(pid);
  });

  it('bounds the cost of a stderr flood', async () => {
    const { bench: session } = await opened('stderr-flood');
    session.send('session.close');
    await session.next('session.closed');
    expect(session.lines.length).toBeLessThanOrEqual(1_000);
  });
});
