import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectControl } from '../../../src/cli/control/control-client.ts';
import type { ControlEvent, Identity } from '../../../src/cli/control/protocol.ts';
import { type ControlHandler, openControlServer } from '../../../src/cli/control/server.ts';
import { controlSocketPath } from '../../../src/cli/control/socket-path.ts';
import { inspectHere } from '../../../src/cli/run/inspect-here.ts';
import type { CallOptions } from '../../../src/runtime/troupe.ts';
import { crowd } from '../../fixtures/crowd.ts';
import { temporaryFolder } from '../run-cli.ts';
import {
  approvalOf,
  createStandIn,
  reportOf,
  type StandIn,
  type StandInParts,
  statusOf,
} from '../stand-in-troupe.ts';

const identity: Identity = {
  pid: 4242,
  version: '1.2.3',
  projectRoot: '/project',
  stateFolder: '/state',
  config: [],
  allow: null,
};

const handlerOf = (troupe: StandIn) => inspectHere(troupe, identity).handler as ControlHandler;

async function serve(parts: StandInParts = {}) {
  const socketPath = path.join(temporaryFolder(), 'run', 'a.sock');
  const troupe = createStandIn({ servers: [statusOf('db')], ...parts });
  const server = await openControlServer(socketPath, handlerOf(troupe));
  onTestFinished(() => server.close());
  return { socketPath, troupe, server };
}

async function client(socketPath: string) {
  const connected = await connectControl(socketPath);
  if (connected === undefined) throw new Error('no process listens');
  onTestFinished(() => connected.close());
  return connected;
}

async function rawLines(socketPath: string) {
  const socket: Socket = connect(socketPath);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  let buffered = '';
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  socket.setEncoding('utf8').on('data', (text: string) => {
    buffered += text;
    for (let end = buffered.indexOf('\n'); end !== -1; end = buffered.indexOf('\n')) {
      const line = buffered.slice(0, end);
      buffered = buffered.slice(end + 1);
      const next = waiting.shift();
      if (next === undefined) lines.push(line);
      else next(line);
    }
  });
  const nextLine = (): Promise<string> =>
    new Promise((resolve) => {
      const line = lines.shift();
      if (line === undefined) waiting.push(resolve);
      else resolve(line);
    });
  return { socket, next: async () => JSON.parse(await nextLine()) as Record<string, unknown> };
}

describe('the control socket', () => {
  it('is accessible only to its owner', async () => {
    const { socketPath } = await serve();
    expect(statSync(socketPath).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(socketPath)).mode & 0o777).toBe(0o700);
  });

  it('answers two clients independently', async () => {
    const { socketPath } = await serve({
      steps: [{ server: 'db', step: 'keep', why: 'unchanged' }],
    });
    const [one, other] = [await client(socketPath), await client(socketPath)];
    const [who, plan, status] = await Promise.all([
      one.request('identify', {}),
      other.request('plan', {}),
      one.request('status', { server: 'db' }),
    ]);
    expect(who).toEqual(identity);
    expect(plan).toEqual({
      steps: [{ server: 'db', step: 'keep', why: 'unchanged' }],
      problems: [],
    });
    expect(status.servers).toEqual([statusOf('db')]);
  });

  it('waits for the result of a call that moved to the background', async () => {
    const { socketPath, troupe } = await serve({
      answer: async () => ({
        ...reportOf('still running'),
        meta: { server: 'db', tool: 'echo', attempts: 1, durationMs: 4, background: 'call-1' },
      }),
    });
    const collected: string[] = [];
    troupe.collect = async (id) => {
      collected.push(id);
      return reportOf('done');
    };
    const report = await (await client(socketPath)).request('call', { server: 'db', tool: 'echo' });
    expect([collected, report]).toEqual([['call-1'], reportOf('done')]);
  });

  it('rejects lines that are not requests and keeps the connection', async () => {
    const { socketPath } = await serve();
    const { socket, next } = await rawLines(socketPath);
    const bad = [
      'garbage',
      '[]',
      '{"id": 1}',
      '{"id": 2, "command": "format"}',
      '{"id": 3, "command": "__proto__"}',
      '{"id": 4, "command": "stop", "args": {"server": 7}}',
      '{"id": 5, "command": "status", "args": []}',
    ];
    socket.write(`${bad.join('\n')}\n\n{"id": "last", "command": "plan"}\r\n`);
    const answers = [];
    for (let count = 0; count <= bad.length; count += 1) answers.push(await next());
    expect(answers.map((answer) => [answer['id'], 'error' in answer])).toEqual([
      [null, true],
      [null, true],
      [null, true],
      [2, true],
      [3, true],
      [4, true],
      [5, true],
      ['last', false],
    ]);
  });

  it('accepts a line of 1 MB and disconnects a client that sends one byte more', async () => {
    const { socketPath } = await serve();
    const lineOf = (bytes: number): string => {
      const empty = '{"id": 1, "command": "plan", "args": {"x": ""}}';
      return empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`);
    };
    const atLimit = await rawLines(socketPath);
    atLimit.socket.write(`${lineOf(1_048_576)}\n`);
    expect(await atLimit.next()).toHaveProperty('result');
    const past = await rawLines(socketPath);
    const ended = once(past.socket, 'end');
    past.socket.write(`${lineOf(1_048_577)}\n`);
    expect(await past.next()).toMatchObject({ id: null, error: { code: 'INVALID_ARGUMENTS' } });
    await ended;
  });

  it('rejects arguments above the limit before they are sent', async () => {
    const { socketPath } = await serve();
    const asking = (await client(socketPath)).request('call', {
      server: 'db',
      tool: 'echo',
      arguments: { text: 'x'.repeat(1_048_576) },
    });
    await expect(asking).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it('forwards all fields of an error', async () => {
    const { socketPath } = await serve();
    await expect(
      (await client(socketPath)).request('start', { server: 'bd' }),
    ).rejects.toMatchObject({
      code: 'SERVER_UNKNOWN',
      server: 'bd',
      outcome: 'not_executed',
    });
  });

  it('reports an unknown outcome for a call whose error cannot be read', async () => {
    const socketPath = path.join(temporaryFolder(), 'other.sock');
    const other = createServer((socket) => {
      socket.on('data', () => socket.write('{"id":1,"error":"later"}\n'));
    });
    await new Promise<void>((resolve) => {
      other.listen(socketPath, resolve);
    });
    onTestFinished(() => void other.close());
    const asking = (await client(socketPath)).request('call', { server: 'db', tool: 'echo' });
    await expect(asking).rejects.toMatchObject({ code: 'INTERNAL', outcome: 'unknown' });
    const status = (await client(socketPath)).request('status', {});
    await expect(status).rejects.toMatchObject({ code: 'INTERNAL', outcome: 'not_executed' });
  });

  it("cancels a client's call when the client disconnects", async () => {
    let options: CallOptions = {};
    let began = (): void => undefined;
    const beginning = new Promise<void>((resolve) => {
      began = resolve;
    });
    const { socketPath } = await serve({
      answer: (_args, given) => {
        options = given;
        began();
        return new Promise(() => undefined);
      },
    });
    const caller = await client(socketPath);
    const calling = caller.request('call', { server: 'db', tool: 'echo' });
    await beginning;
    caller.close();
    await expect(calling).rejects.toMatchObject({ code: 'NOT_RUNNING', outcome: 'unknown' });
    await once(options.signal as AbortSignal, 'abort');
  });

  it('streams events until the client disconnects', async () => {
    const { socketPath, troupe } = await serve();
    const follower = await client(socketPath);
    const events: ControlEvent[] = [];
    const first = new Promise<void>((resolve) => {
      void follower.follow(['status.changed'], (event) => {
        events.push(event);
        resolve();
      });
    });
    await follower.request('identify', {});
    troupe.emit('tools.changed', { servers: ['db'] });
    troupe.become(statusOf('db', { state: 'stopped' }));
    await first;
    expect(events).toEqual([
      { type: 'status.changed', status: statusOf('db', { state: 'stopped' }) },
    ]);
    expect(troupe.listenerCount()).toBe(1);
  });

  it('answers clients despite many idle connections and keeps a client that follows events', async () => {
    const { socketPath, troupe } = await serve();
    const follower = await rawLines(socketPath);
    follower.socket.write('{"id": 1, "command": "events"}\n');
    await follower.next();
    await crowd({ path: socketPath }, 200, '');
    await crowd({ path: socketPath }, 200, '{"id": 1, "comm');
    const one = await client(socketPath);
    expect(await one.request('identify', {})).toEqual(identity);
    // Clients that stay connected after one request are evicted as well.
    await crowd({ path: socketPath }, 100, '{"id": 1, "command": "identify"}\n');
    expect(await (await client(socketPath)).request('identify', {})).toEqual(identity);
    troupe.emit('tools.changed', { servers: ['db'] });
    expect(await follower.next()).toMatchObject({ event: { type: 'tools.changed' } });
  });

  it('disconnects only the client that does not read its responses', async () => {
    const socketPath = path.join(temporaryFolder(), 'run', 'a.sock');
    const answer = 'x'.repeat(1_000_000);
    const limits = { unsentBytes: 4_000_000, unsentTotalBytes: 8_000_000 };
    const server = await openControlServer(socketPath, () => Promise.resolve(answer), { limits });
    onTestFinished(() => server.close());
    const unread: Socket = connect(socketPath);
    await once(unread, 'connect');
    unread.on('error', () => undefined).pause();
    const gone = once(unread, 'close');
    for (let id = 1; id <= 20; id += 1) unread.write(`{"id": ${id}, "command": "plan"}\n`);
    const other = await rawLines(socketPath);
    other.socket.write('{"id": 1, "command": "plan"}\n');
    expect(await other.next()).toMatchObject({ id: 1, result: answer });
    unread.resume();
    await gone;
    expect(unread.bytesRead).toBeLessThan(10_000_000);
  });

  it('applies a decision only to the fingerprint that was shown', async () => {
    const { socketPath, troupe } = await serve({
      servers: [statusOf('gated', { state: 'blocked', reason: 'pendingApproval' })],
      approvals: [approvalOf('gated')],
      onSend: (event, own) => {
        if (event.type === 'approval.grant') own.become(statusOf('gated', { state: 'connecting' }));
      },
    });
    const person = await client(socketPath);
    await expect(
      person.request('approve', { server: 'gated', fingerprint: 'old' }),
    ).rejects.toMatchObject({ code: 'PENDING_APPROVAL' });
    const report = await person.request('approve', { server: 'gated', fingerprint: 'f1' });
    expect(report.approval.decision).toBe('granted');
    expect(report.status.state).toBe('connecting');
    expect(troupe.sent).toEqual([{ type: 'approval.grant', server: 'gated', fingerprint: 'f1' }]);
  });

  it("reports that a server from the user's own settings needs no approval", async () => {
    const { socketPath } = await serve();
    await expect(
      (await client(socketPath)).request('approve', { server: 'db' }),
    ).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('rejects a decision about a server with invalid settings and reports the fix', async () => {
    const action = 'fix /p/.mcp.json:3';
    const broken = statusOf('db', { state: 'blocked', reason: 'invalidConfig', action });
    const { socketPath } = await serve({ servers: [broken] });
    await expect(
      (await client(socketPath)).request('approve', { server: 'db' }),
    ).rejects.toMatchObject({
      code: 'USAGE',
      message: `db cannot be approved or rejected while its settings are invalid: ${action}`,
    });
  });

  it("rejects a second troupe with the first one's pid", async () => {
    const { socketPath } = await serve();
    const second = openControlServer(socketPath, () => Promise.resolve(reportOf('second')));
    await expect(second).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('(pid 4242)') as string,
    });
    expect(await (await client(socketPath)).request('identify', {})).toEqual(identity);
  });

  it('replaces the socket of a killed troupe', async () => {
    const socketPath = path.join(temporaryFolder(), 'a.sock');
    const child = spawn(
      process.execPath,
      [
        '-e',
        `require('node:net').createServer().listen(${JSON.stringify(socketPath)}, () => process.stdout.write('up'))`,
      ],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(existsSync(socketPath)).toBe(true);
    expect(await connectControl(socketPath)).toBeUndefined();
    const troupe = createStandIn();
    const server = await openControlServer(socketPath, handlerOf(troupe));
    onTestFinished(() => server.close());
    expect(await (await client(socketPath)).request('identify', {})).toEqual(identity);
  });

  it('replaces a plain file at its path', async () => {
    const socketPath = path.join(temporaryFolder(), 'a.sock');
    writeFileSync(socketPath, 'not a socket');
    const server = await openControlServer(socketPath, () => Promise.resolve({}));
    onTestFinished(() => server.close());
    expect(statSync(socketPath).isSocket()).toBe(true);
  });

  it('is removed when it closes', async () => {
    const { socketPath, server } = await serve();
    server.close();
    expect(existsSync(socketPath)).toBe(false);
    expect(await connectControl(socketPath)).toBeUndefined();
  });

  it('rejects a folder that belongs to another user', async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'elsewhere'));
    symlinkSync(path.join(folder, 'elsewhere'), path.join(folder, 'run'));
    const opening = openControlServer(path.join(folder, 'run', 'a.sock'), () =>
      Promise.resolve({}),
    );
    await expect(opening).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    await expect(connectControl(path.join(folder, 'run', 'a.sock'))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
  });

  it('suggests --state-dir when its folder cannot be created', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'file'), '');
    const opening = openControlServer(path.join(folder, 'file', 'run', 'a.sock'), () =>
      Promise.resolve({}),
    );
    await expect(opening).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('choose another --state-dir') as string,
    });
  });

  it('times out when the troupe does not answer', async () => {
    const socketPath = path.join(temporaryFolder(), 'a.sock');
    const silent = createServer(() => undefined).listen(socketPath);
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const asking = (await client(socketPath)).request('plan', {}, 20);
    await expect(asking).rejects.toMatchObject({ code: 'TIMEOUT_WAITING' });
  });

  it('is in the state folder, or in a private temporary folder when that path is too long', () => {
    const projectRoot = '/project';
    const short = controlSocketPath({ stateFolder: '/state', projectRoot });
    expect(short).toMatch(/^\/state\/run\/[0-9a-f]{8}\.sock$/);
    const deep = controlSocketPath({ stateFolder: `/${'deep/'.repeat(20)}`, projectRoot });
    expect(path.dirname(deep)).toBe(path.join(tmpdir(), `mcp-troupe-${process.getuid?.()}`));
    expect(controlSocketPath({ stateFolder: '/state', projectRoot: '/other' })).not.toBe(short);
  });
});
