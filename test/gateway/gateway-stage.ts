/** A gateway over HTTP in front of a scripted troupe, and clients of every line to knock at it. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';

import { Gateway } from '../../src/gateway/gateway.ts';
import {
  type HttpGateway,
  type HttpGatewayOptions,
  startHttpGateway,
} from '../../src/gateway/http-gateway.ts';
import type { ScriptedTroupeParts } from '../../src/testing/scripted-troupe.ts';
import type { ScriptedCall } from '../../src/testing/session-script.ts';
import { initialize } from '../fixtures/initialize.ts';
import { type Stage, servers, stageOf } from '../runtime/stage.ts';

export const token = 'a'.repeat(43);

export interface GatewayStage extends Stage {
  readonly gateway: Gateway;
  readonly http: HttpGateway;
  readonly url: URL;
  readonly reports: readonly string[];
  /** The next call that a server is given; one that came already counts. */
  nextCall(server: string): Promise<ScriptedCall>;
}

export interface GatewayStageOptions extends ScriptedTroupeParts {
  readonly only?: string;
  /** The view that the gateway shows. */
  readonly view?: string;
  readonly http?: Partial<HttpGatewayOptions>;
  /** Instead of the token. */
  readonly openHttp?: (stage: Stage) => Promise<Pick<HttpGatewayOptions, 'oauth'>>;
  readonly prepare?: (stage: Stage) => void;
  readonly obedient?: readonly string[];
}

/** Servers `db` and `web`, each with a tool `query`, unless the options say otherwise. */
export async function gatewayStage({
  only,
  view,
  http: door,
  openHttp,
  prepare,
  ...options
}: GatewayStageOptions = {}): Promise<GatewayStage> {
  const stage = await stageOf({ settings: servers({ db: 'db', web: 'web' }), ...options });
  prepare?.(stage);
  await stage.settle();
  const reports: string[] = [];
  const gateway = new Gateway({
    troupe: stage.troupe,
    clock: stage.clock,
    ...(only === undefined ? {} : { only }),
    ...(view === undefined ? {} : { view }),
    report: (message) => reports.push(message),
  });
  const http = await startHttpGateway(gateway, {
    host: '127.0.0.1',
    port: 0,
    isLoopback: true,
    hosts: [],
    views: stage.troupe,
    ...(openHttp === undefined ? { token } : await openHttp(stage)),
    ...door,
  });
  onTestFinished(async () => {
    await http.close(0);
    gateway.close();
    const stopped = stage.troupe.stop();
    // As long as a stop may take, for servers that do not obey.
    await stage.advance(6_000);
    await stopped;
  });
  const waiting: ScriptedCall[] = [];
  const wanted: ((call: ScriptedCall) => void)[] = [];
  stage.sessions.onCall = (_script, call) => {
    const take = wanted.shift();
    if (take === undefined) waiting.push(call);
    else take(call);
  };
  return {
    ...stage,
    gateway,
    http,
    url: new URL(http.url),
    reports,
    nextCall: () =>
      new Promise((resolve) => {
        const call = waiting.shift();
        if (call === undefined) wanted.push(resolve);
        else resolve(call);
      }),
  };
}

const requestInit = { headers: { authorization: `Bearer ${token}` } };

/** A client of the present line of the SDK; by default of the modern era. */
export async function connect(
  { url }: Pick<GatewayStage, 'url'>,
  mode: 'legacy' | 'auto' = 'auto',
  prepare: (client: Client) => void = () => undefined,
  capabilities = {},
): Promise<Client> {
  const client = new Client(
    { name: 'present', version: '1.0.0' },
    { capabilities, versionNegotiation: { mode } },
  );
  prepare(client);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

/** A client of the line before. */
async function connectOld({ url }: Pick<GatewayStage, 'url'>): Promise<OldClient> {
  const client = new OldClient({ name: 'old', version: '1.0.0' });
  const transport = new OldTransport(url, { requestInit });
  await client.connect(transport as Parameters<OldClient['connect']>[0]);
  onTestFinished(() => client.close());
  return client;
}

/** What a client is asked in these tests, alike for every line of the SDK. */
export interface AnyClient {
  listTools(): ReturnType<Client['listTools']>;
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: { signal?: AbortSignal; onprogress?: (progress: unknown) => void },
  ): Promise<{ isError?: boolean; content: unknown; _meta?: Record<string, unknown> }>;
}

export const lines = ['modern', 'legacy', 'old line'] as const;

/** Connects a client of this line. */
export async function join(
  stage: Pick<GatewayStage, 'url'>,
  line: (typeof lines)[number],
): Promise<AnyClient> {
  if (line === 'old line') {
    const client = await connectOld(stage);
    return {
      listTools: () => client.listTools() as ReturnType<Client['listTools']>,
      call: (name, args = {}, options = {}) =>
        client.callTool({ name, arguments: args }, undefined, options) as ReturnType<
          AnyClient['call']
        >,
    };
  }
  const client = await connect(stage, line === 'modern' ? 'auto' : 'legacy');
  return {
    listTools: () => client.listTools(),
    call: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: args }, options) as ReturnType<AnyClient['call']>,
  };
}

/** Posts a message as a client of the era before, outside any SDK. */
export function post(
  url: URL,
  message: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
}

/** Opens a session by hand and gives its id. */
export async function openSession(url: URL, capabilities: object = {}): Promise<string> {
  const response = await post(url, initialize(capabilities));
  await response.text();
  const id = response.headers.get('mcp-session-id');
  if (id === null) throw new Error(`no session: ${response.status}`);
  return id;
}

/** The events of a stream, one after another. */
async function* eventsOf(response: Response): AsyncGenerator<Record<string, unknown>> {
  if (response.body === null) return;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined && data !== '') yield JSON.parse(data) as Record<string, unknown>;
    }
  }
}

/** Opens the stream for the unsolicited messages of a session. */
export async function listen(
  url: URL,
  session: string,
): Promise<AsyncGenerator<Record<string, unknown>>> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'text/event-stream',
    'mcp-session-id': session,
  };
  return eventsOf(await fetch(url, { headers, signal: stop.signal }));
}
