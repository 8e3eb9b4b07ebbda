/** How the body of an answer is read: decompressed, counted, no faster than its reader asks. */

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { brotliCompressSync, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';

import { afterEach, describe, expect, it } from 'vitest';

import { openBody } from '../../../../actors/transports/http/body.ts';
import type { Answer } from '../../../../actors/transports/http/fetch.ts';
import { turn } from '../../../support/turn.ts';
import { errorOf, guard, type Peer, serve } from './bench.ts';

const limitBytes = 16 * 1024 * 1024;
let server: Peer | undefined;

afterEach(() => server?.close());

async function answered(body: Uint8Array, headers: Record<string, string> = {}): Promise<Answer> {
  server = await serve((_request, response) => void response.writeHead(200, headers).end(body));
  return guard(server.origin).fetch(server.origin);
}

describe('a response body', () => {
  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['GZIP, br', (text: Uint8Array) => brotliCompressSync(gzipSync(text))],
    ['deflate, gzip', (text: Uint8Array) => gzipSync(deflateSync(text))],
    ['identity', (text: Uint8Array) => text],
  ] as const)('is read when compressed with %s', async (coding, compress) => {
    const text = 'a text of some length, '.repeat(10_000);
    const response = await answered(compress(Buffer.from(text)), { 'content-encoding': coding });
    expect(await response.text()).toBe(text);
  });

  it.each([
    ['zstd', Buffer.from('x'), 'with a coding that was not requested'],
    ['gzip, gzip, gzip', Buffer.from('x'), 'with a coding that was not requested'],
    ['gzip', Buffer.from('this is no gzip'), 'cannot be read'],
    ['deflate', Buffer.from('this is no deflate'), 'cannot be read'],
    ['br', Buffer.from('this is no brotli'), 'cannot be read'],
  ])('is a bad response when %s cannot decode it', async (coding, body, words) => {
    const error = await errorOf((await answered(body, { 'content-encoding': coding })).text());
    expect(error).toMatchObject({ code: 'CLIENT_HTTP_UNEXPECTED_CONTENT' });
    expect(error.message).toContain(words);
  });

  it.each(['identity', 'gzip', 'deflate', 'gzip, br'])(
    'fails immediately when it ends right after its headers (%s)',
    async (coding) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${coding}\r\ntransfer-encoding: chunked`;
      server = await serve((request) => void request.socket.write(`${head}\r\n\r\nzz\r\n{}\r\n`));
      const response = await guard(server.origin).fetch(server.origin);
      const error = await errorOf(response.text());
      expect(error).toMatchObject({ code: 'BAD_RESPONSE' });
      expect(error.message).toContain('HPE_INVALID_CHUNK_SIZE');
    },
  );

  it('is read up to 16 MB', async () => {
    const response = await answered(Buffer.alloc(limitBytes));
    expect((await response.text()).length).toBe(limitBytes);
    await server?.close();
    const error = await errorOf((await answered(Buffer.alloc(limitBytes + 1))).text());
    expect(error).toMatchObject({ message: 'The server sent more than 16 MB.' });
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ])('fails when it exceeds the limit after decompression (%s)', async (coding, compress) => {
    const bomb = compress(Buffer.alloc(limitBytes + 1));
    expect(bomb.length).toBeLessThan(limitBytes / 100);
    const response = await answered(bomb, { 'content-encoding': coding });
    expect(await errorOf(response.text())).toMatchObject({
      code: 'CLIENT_HTTP_UNEXPECTED_CONTENT',
      message: 'The server sent more than 16 MB.',
    });
  });

  it('is read no faster than its consumer reads', async () => {
    let madeCount = 0;
    const chunk = Buffer.alloc(65_536);
    const source = new Readable({
      highWaterMark: chunk.length,
      read() {
        madeCount += 1;
        this.push(madeCount > 200 ? null : chunk);
      },
    });
    const body = openBody(
      Object.assign(source, { headers: {} }) as unknown as IncomingMessage,
      (error) => error,
    );
    await turn();
    expect(madeCount).toBeLessThan(3);
    await body.next();
    await body.next();
    await turn();
    expect(madeCount).toBeGreaterThan(1);
    expect(madeCount).toBeLessThan(6);
  });

  it('closes its connection when it is cancelled', async () => {
    server = await serve((_request, response) => response.writeHead(200).flushHeaders());
    const response = await guard(server.origin).fetch(server.origin);
    response.cancel();
    await server.quiet();
    expect(server.connections()).toBe(1);
  });
});

describe('an event stream', () => {
  it('is passed on event by event even when compressed', async () => {
    let next = (): void => {};
    server = await serve((_request, response) => {
      response.writeHead(200, {
        'content-type': 'Text/Event-Stream; charset=utf-8',
        'content-encoding': 'gzip',
      });
      const gzip = createGzip();
      gzip.pipe(response);
      const events = ['data: one\n\n', 'data: two\n\n'];
      next = () => {
        gzip.write(events.shift());
        gzip.flush();
      };
      next();
    });
    const { body } = await guard(server.origin).fetch(server.origin);
    const reader = body[Symbol.asyncIterator]();
    expect(String((await reader.next()).value)).toBe('data: one\n\n');
    next();
    expect(String((await reader.next()).value)).toBe('data: two\n\n');
    await reader.return?.();
  });

  it('may have any length, unless it is a refusal', async () => {
    const type = { 'content-type': 'text/event-stream' };
    const long = Buffer.alloc(limitBytes + 1, 0x78);
    expect((await (await answered(long, type)).text()).length).toBe(long.length);
    await server?.close();
    server = await serve((_request, response) => void response.writeHead(500, type).end(long));
    const refusal = await guard(server.origin).fetch(server.origin);
    const error = await errorOf(refusal.text());
    expect(error).toMatchObject({ message: 'The server sent more than 16 MB.' });
  });
});
