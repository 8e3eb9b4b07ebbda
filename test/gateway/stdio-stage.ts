/** A gateway over stdin and stdout, and a client that writes the lines itself. */

import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';

import type { OutboxLimits } from '../../actors/host/slow-readers.ts';
import { keepNumbers, parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import { startStdioGateway } from '../../src/gateway/stdio-gateway.ts';
import { type GatewayStage, type GatewayStageOptions, gatewayStage } from './gateway-stage.ts';

export type Line = Readonly<Record<string, unknown>> & {
  readonly params?: Record<string, unknown>;
};

export interface StdioStage extends GatewayStage {
  /** Sends a request; settles with its answer. */
  ask(method: string, params?: object): Promise<Line>;
  /** Sends a request that is not answered for now, under this id. */
  begin(id: number, method: string, params?: object): void;
  notify(method: string, params: object): void;
  /** The next notification; one that came already counts. */
  heard(): Promise<Line>;
  /** What the host reads; the test may pause it. */
  readonly stdout: PassThrough;
  /** Settles when the gateway has ended; true: because the host left too much unread. */
  readonly ended: Promise<boolean>;
  /** Ends the gateway's side. */
  leave(): Promise<void>;
}

/** What a client of 2026-07-28 says with each request. */
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

export function withEnvelope(params: object, added: object): object {
  const { _meta: meta } = params as { readonly _meta?: object };
  const all = meta === undefined ? added : keepNumbers({ ...added, ...meta }, meta);
  return { ...params, _meta: all };
}

export async function stdioStage(
  era: 'legacy' | 'modern',
  { limits, ...options }: GatewayStageOptions & { readonly limits?: Partial<OutboxLimits> } = {},
): Promise<StdioStage> {
  const stage = await gatewayStage(options);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  let isUnread = false;
  const face = startStdioGateway(stage.gateway, {
    stdin,
    stdout,
    onUnread: () => {
      isUnread = true;
    },
    ...(limits === undefined ? {} : { limits }),
  });
  onTestFinished(() => face.close(0));
  const answers = new Map<unknown, (line: Line) => void>();
  const news: Line[] = [];
  const wanted: ((line: Line) => void)[] = [];
  let rest = '';
  stdout.on('data', (chunk: Buffer) => {
    const lines = `${rest}${chunk.toString('utf8')}`.split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) {
      const line = parseJson(text) as Line;
      if (!('method' in line)) answers.get(line['id'])?.(line);
      else if (wanted.length > 0) wanted.shift()?.(line);
      else news.push(line);
    }
  });
  let count = 1_000;
  const write = (message: object): void =>
    void stdin.write(`${writeJson({ jsonrpc: '2.0', ...message })}\n`);
  const begin: StdioStage['begin'] = (id, method, params = {}) =>
    write({ id, method, params: era === 'modern' ? withEnvelope(params, envelope) : params });
  const ask: StdioStage['ask'] = (method, params) => {
    count += 1;
    const id = count;
    begin(id, method, params);
    return new Promise((resolve) => {
      answers.set(id, resolve);
    });
  };
  if (era === 'modern') await ask('server/discover');
  else
    await ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'lines', version: '1' },
    });
  return {
    ...stage,
    ask,
    begin,
    notify: (method, params) => write({ method, params }),
    heard: () =>
      new Promise((resolve) => {
        const line = news.shift();
        if (line === undefined) wanted.push(resolve);
        else resolve(line);
      }),
    leave: () => face.close(0),
    stdout,
    ended: face.closed.then(() => isUnread),
  };
}
