/** Both ends of an attachment, when the other one is killed. */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AttachedClients } from '../../../src/cli/background/attached-clients.ts';
import { ThinGateway } from '../../../src/cli/background/thin-gateway.ts';
import { launchOf } from '../../../src/cli/launch.ts';
import { createTroupe } from '../../../src/index.ts';
import { initialize } from '../../fixtures/initialize.ts';
import { turn } from '../../support/turn.ts';
import { temporaryFolder } from '../run-cli.ts';

const attach = { name: 'client', env: {}, config: [], bare: true, allow: null };

describe('a client that attaches to a troupe', () => {
  const socketOf = (): Socket =>
    new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() }) as Socket;

  /** Resolves with the connection that was handed over, and what lists the troupe's clients. */
  async function attached(prepare: (socket: Socket) => void) {
    const folder = temporaryFolder();
    const launch = launchOf({ project: folder, stateDir: folder, bare: true }, folder, {});
    const troupe = createTroupe({ settings: {}, projectRoot: folder });
    onTestFinished(() => troupe.stop());
    const clients = new AttachedClients(troupe, launch, () => Promise.resolve());
    const socket = socketOf();
    await clients.handler('attach', attach, {
      signal: new AbortController().signal,
      emit: () => undefined,
      handOver: (use) => {
        prepare(socket);
        use(socket);
      },
    });
    const list = () => troupe.snapshot().troupe.clients ?? [];
    return { socket, list, close: () => clients.close() };
  }

  it('is gone once an answer to it could not be written', async () => {
    const { socket, list } = await attached(() => undefined);
    expect(list()).toHaveLength(1);
    await turn();
    socket.on('error', () => undefined).destroy(new Error('write EPIPE'));
    while (list().length > 0) await turn();
    expect(list()).toEqual([]);
  });

  it('is gone at once if it was killed while it attached', async () => {
    const { list } = await attached((socket) => socket.destroy());
    while (list().length > 0) await turn();
    expect(list()).toEqual([]);
  });
});

describe('a thin gateway', () => {
  /** A troupe that gives each connection its turn: what it answers to the first line, and does after. */
  async function gatewayAt(turns: readonly ((socket: Socket, line: string) => void)[]) {
    const file = path.join(temporaryFolder(), 'control.sock');
    let connections = 0;
    const server = createServer((socket) => {
      const answer = turns[connections];
      connections += 1;
      socket.on('error', () => undefined);
      socket.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n').filter((each) => each !== '')) answer?.(socket, line);
      });
    });
    server.listen(file);
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const find = (): Promise<string> => Promise.resolve(file);
    const thin = new ThinGateway({ stdin, stdout, find, attach, note: () => undefined });
    const answer = async (): Promise<unknown> => {
      const [chunk] = (await once(stdout, 'data')) as [Buffer];
      return JSON.parse(chunk.toString());
    };
    return { stdin, thin, answer };
  }

  const accept = (socket: Socket): void => void socket.write('{"id":1,"result":{"pid":1}}\n');
  const ending = { code: 'SHUTTING_DOWN', message: 'ending', retryable: true };

  it('attaches again after a troupe that is about to end', async () => {
    const { stdin, thin, answer } = await gatewayAt([
      (socket) =>
        void socket.end(
          `${JSON.stringify({ id: 1, error: { ...ending, outcome: 'not_executed' } })}\n`,
        ),
      (socket, line) => {
        if (line.includes('"attach"')) accept(socket);
        else socket.write('{"jsonrpc":"2.0","id":1,"result":{"from":"the second"}}\n');
      },
    ]);
    stdin.write(`${JSON.stringify(initialize())}\n`);
    expect(await answer()).toMatchObject({ id: 1, result: { from: 'the second' } });
    stdin.end();
    await thin.ended;
  });

  it('answers the calls in flight if the troupe is killed after the host has left', async () => {
    const { stdin, thin, answer } = await gatewayAt([
      (socket, line) => {
        if (line.includes('"attach"')) accept(socket);
        else socket.destroy();
      },
    ]);
    stdin.end('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__b"}}\n');
    expect(await answer()).toMatchObject({
      id: 2,
      result: { _meta: { 'mcp-troupe/error': { code: 'UNAVAILABLE', outcome: 'unknown' } } },
    });
    expect(await thin.ended).toBeUndefined();
  });
});
