/**
 * What is thrown under which condition was once measured with the client of the SDK; the
 * rows here are those conditions. Each says what a session makes of it: the kind of its
 * failure, the reason of a failed call, or that nothing failed. The conditions are
 * provoked with real processes, real servers and the real client, and only where that
 * would take long or needs an authorization server is the error taken as recorded.
 */

import {
  Client,
  OAuthError,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, describe, expect, it } from 'vitest';

import { describeError } from '../../../../actors/transports/connection/failure.ts';
import type { FailureKind } from '../../../../src/domain/failure.ts';
import type { ServerSpec, StdioSpec } from '../../../../src/domain/server-spec.ts';
import type { CallFailure } from '../../../../src/domain/session.ts';
import {
  classifyFailure,
  type FailureDescription,
} from '../../../../src/policies/failures/classify.ts';
import {
  type HttpFixture,
  type HttpMode,
  startHttpFixture,
} from '../../../fixtures/remote/http-server.ts';
import {
  rpcError,
  type ScriptedAnswer,
  type ScriptedMessage,
  startScriptedHttp,
} from '../../../fixtures/remote/scripted-http.ts';
import { type Bench, callOptions, createBench, fixtureSpec } from '../../session/bench.ts';

type Era = 'legacy' | 'auto' | 'modern';
type Class = FailureKind | CallFailure['reason'] | 'nothing';
type Row = readonly [condition: string, is: Class, provoke: () => Promise<Class | undefined>];

const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function start(spec: ServerSpec): Bench {
  const bench = createBench(spec)();
  endings.push(() => bench.stop());
  bench.send('session.open');
  return bench;
}

async function endOf(spec: ServerSpec): Promise<Class> {
  return (await start(spec).next('session.closed')).failure?.kind ?? 'nothing';
}

async function opened(spec: ServerSpec): Promise<Bench> {
  const bench = start(spec);
  await bench.next('session.opened');
  return bench;
}

async function callOf(
  bench: Bench,
  tool = 'echo',
  options: Parameters<typeof callOptions>[0] = {},
): Promise<Class> {
  const answer = await bench.handle().callTool(tool, {}, callOptions(options));
  return 'failure' in answer ? answer.failure.reason : 'nothing';
}

const process_ =
  (mode: string, era: Era = 'legacy', more: Partial<StdioSpec> = {}) =>
  () =>
    endOf(fixtureSpec(mode, { era, ...more }));

const processCall =
  (mode: string, tool?: string, options?: Parameters<typeof callOptions>[0]) => async () =>
    callOf(await opened(fixtureSpec(mode)), tool, options);

const remote = (url: string, era: Era = 'legacy'): ServerSpec => ({
  type: 'http',
  url,
  headers: {},
  era,
});

async function fixture(mode: HttpMode): Promise<HttpFixture> {
  const server = await startHttpFixture(mode);
  endings.push(() => server.close());
  return server;
}

const http =
  (mode: HttpMode, era: Era = 'legacy') =>
  async () =>
    endOf(remote((await fixture(mode)).url, era));

const httpCall = (mode: HttpMode) => async () => {
  const server = await fixture('ok');
  const bench = await opened(remote(server.url));
  await server.arrived('GET');
  server.mode = mode;
  return callOf(bench);
};

async function scripted(script: (message: ScriptedMessage) => ScriptedAnswer | undefined) {
  const server = await startScriptedHttp(script);
  endings.push(() => server.close());
  return server.url;
}

/** The same answer to every request of this method; null = to every one. */
const answering =
  (method: string | null, answer: ScriptedAnswer, era: Era = 'legacy') =>
  async () =>
    endOf(
      remote(
        await scripted((message) =>
          method === null || message.method === method ? answer : undefined,
        ),
        era,
      ),
    );

const answeringCall = (answer: (message: ScriptedMessage) => ScriptedAnswer) => async () =>
  callOf(
    await opened(
      remote(
        await scripted((message) =>
          message.method === 'tools/call' ? answer(message) : undefined,
        ),
      ),
    ),
  );

function classOf(error: unknown, phase: FailureDescription['phase']): Class {
  return classifyFailure({ ...describeError(error, []), phase }).kind;
}

/** What the SDK's own client throws, without our code. */
const thrown = (phase: FailureDescription['phase'], work: () => unknown) => async () => {
  try {
    await work();
  } catch (error) {
    return classOf(error, phase);
  }
  return 'nothing' as const;
};

const recorded = (seen: Partial<FailureDescription>) => () =>
  Promise.resolve(classifyFailure({ message: 'm', phase: 'ready', ...seen }).kind);

function sdkClient(options: ConstructorParameters<typeof Client>[1] = {}): Client {
  const client = new Client({ name: 'raw', version: '1.0.0' }, options);
  endings.push(() => client.close());
  return client;
}

function sdkProcess(mode: string): StdioClientTransport {
  const { command, args } = fixtureSpec(mode);
  return new StdioClientTransport({ command, args: [...args], stderr: 'ignore' });
}

async function sdkConnected(options: ConstructorParameters<typeof Client>[1] = {}) {
  const client = sdkClient(options);
  await client.connect(sdkProcess('ok'));
  return client;
}

const eras: readonly Era[] = ['legacy', 'auto'];
const inBothEras = (
  condition: string,
  is: Class,
  provoke: (era: Era) => () => Promise<Class | undefined>,
): readonly Row[] => eras.map((era) => [`${condition} (${era})`, is, provoke(era)]);

const stdioRows: readonly Row[] = [
  ...inBothEras('stdio command missing', 'unavailable', (era) =>
    process_('ok', era, { command: '/no/such/cmd' }),
  ),
  ...inBothEras('not executable', 'unavailable', (era) =>
    process_('ok', era, { command: '/etc/passwd' }),
  ),
  ...inBothEras('`cwd` missing', 'unavailable', (era) =>
    process_('ok', era, { cwd: '/no/such/folder' }),
  ),
  ...inBothEras('exits with 0 before init', 'crashed', (era) => process_('exit-0', era)),
  ...inBothEras('exits with 1 before init', 'crashed', (era) => process_('exit-1', era)),
  [
    'init never answered',
    'initTimeout',
    thrown('initialize', () => sdkClient().connect(sdkProcess('hang-init'), { timeout: 20 })),
  ],
  ['init -> JSON-RPC error', 'protocol', process_('init-error')],
  ['init -> invalid result', 'protocol', process_('garbage')],
  ['init -> unknown version', 'versionUnsupported', process_('bad-version')],
  ['crash mid-call', 'crashed', processCall('crash-on-call')],
  [
    'crash idle, then call',
    'notSent',
    async () => {
      const bench = await opened(fixtureSpec('crash-after-ready'));
      const { failure } = await bench.next('session.closed');
      expect(failure?.kind).toBe('crashed');
      return callOf(bench);
    },
  ],
  ['child exits, grandchild holds pipes', 'crashed', processCall('grandchild', 'crash')],
  ['call timeout', 'timeout', processCall('ok', 'slow', { timeoutMs: 20 })],
  [
    'abort in flight',
    'cancelled',
    async () => {
      const aborter = new AbortController();
      const bench = await opened(fixtureSpec('ok'));
      const answer = bench.handle().callTool(
        'slow',
        {},
        {
          ...callOptions({ signal: aborter.signal }),
          onProgress: () => aborter.abort(new Error('user stop')),
        },
      );
      const answered = await answer;
      return 'failure' in answered ? answered.failure.reason : 'nothing';
    },
  ],
  ['already aborted', 'cancelled', processCall('ok', 'echo', { signal: AbortSignal.abort() })],
  [
    'abort while connecting',
    'nothing',
    async () => {
      const bench = start(fixtureSpec('hang-init'));
      bench.send('session.close');
      return (await bench.next('session.closed')).failure?.kind ?? 'nothing';
    },
  ],
  [
    'capability missing, strict',
    'capabilityMissing',
    thrown('ready', async () =>
      (await sdkConnected({ enforceStrictCapabilities: true })).listPrompts(),
    ),
  ],
  [
    'capability missing, default list*',
    'nothing',
    async () => {
      const bench = await opened(fixtureSpec('no-tools'));
      bench.send('session.list');
      const { toolCount } = await bench.next('session.listed');
      return toolCount === 0 ? 'nothing' : undefined;
    },
  ],
  [
    'get* without capability',
    'protocol',
    thrown('ready', async () => (await sdkConnected()).getPrompt({ name: 'x' })),
  ],
  [
    'handler without declared capability',
    'capabilityMissing',
    thrown('ready', () => sdkClient().setRequestHandler('roots/list', () => ({ roots: [] }))),
  ],
  ['wrong-era method', 'protocol', thrown('ready', async () => (await sdkConnected()).discover())],
  ['JSON-RPC error from tool', 'serverError', processCall('call-error')],
  ['invalid tool result: none', 'badResponse', processCall('result-null')],
  ['stdio message too long', 'protocol', process_('huge-line')],
  [
    'connect() twice on one client',
    'nothing',
    async () => {
      const bench = await opened(fixtureSpec('ok'));
      bench.send('session.open');
      return callOf(bench);
    },
  ],
  ['pin against legacy server', 'versionUnsupported', process_('ok', 'modern')],
];

const httpRows: readonly Row[] = [
  [
    'init never answered, over HTTP and with a probe',
    'initTimeout',
    thrown('initialize', async () =>
      sdkClient({ versionNegotiation: { mode: 'auto' } }).connect(
        new StreamableHTTPClientTransport(new URL(await scripted(() => 'hang'))),
        { timeout: 20 },
      ),
    ),
  ],
  [
    '`notifications/initialized` -> 500',
    'initNotification',
    answering('notifications/initialized', { status: 500 }),
  ],
  ...inBothEras('ECONNREFUSED', 'unavailable', (era) => async () => {
    const server = await startHttpFixture();
    await server.close();
    return endOf(remote(server.url, era));
  }),
  ...inBothEras(
    'ENOTFOUND',
    'unavailable',
    (era) => () => endOf(remote('http://nobody.invalid/mcp', era)),
  ),
  ['server died mid-call', 'streamLost', httpCall('reset-call')],
  ...inBothEras('5xx at connect', 'unavailable', (era) => http('500', era)),
  ['429 + Retry-After', 'rateLimited', http('429')],
  [
    '503 + Retry-After',
    'unavailable',
    answering(null, { status: 503, headers: { 'retry-after': '7' } }),
  ],
  ...inBothEras('401, no provider', 'authRequired', (era) => http('401', era)),
  ...inBothEras('403', 'authRequired', (era) => http('403', era)),
  [
    '403 insufficient_scope without provider',
    'authRequired',
    answering(null, {
      status: 403,
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' },
    }),
  ],
  ['session expired (404)', 'sessionMissing', httpCall('404-session')],
  [
    'session missing (400)',
    'sessionMissing',
    answeringCall((message) =>
      rpcError(message, -32_000, 'Bad Request: No valid session ID provided', 400),
    ),
  ],
  ...inBothEras('404 at connect', 'protocol', (era) => answering(null, { status: 404 }, era)),
  ...inBothEras('405 at connect', 'protocol', (era) => answering(null, { status: 405 }, era)),
  ...inBothEras('wrong content type', 'protocol', (era) => http('html', era)),
  ...inBothEras('bad JSON', 'protocol', (era) =>
    answering(
      null,
      { status: 200, headers: { 'content-type': 'application/json' }, text: '{' },
      era,
    ),
  ),
  ['cross-origin redirect', 'transport', http('redirect')],
  ['POST SSE stream cut', 'streamLost', httpCall('cut-stream')],
  ['POST SSE stream ended without a response', 'streamLost', httpCall('end-stream')],
  [
    'GET stream lost, server gone',
    'transport',
    async () => {
      const server = await fixture('ok');
      const bench = await opened(remote(server.url));
      await server.arrived('GET');
      await server.kill();
      return (await bench.next('session.closed')).failure?.kind;
    },
  ],
  [
    'transport reused after close (HTTP)',
    'unknown',
    thrown('connect', async () => {
      const transport = new StreamableHTTPClientTransport(new URL((await fixture('ok')).url));
      await transport.start();
      await transport.close();
      await transport.start();
    }),
  ],
  [
    '401 -> redirect needed',
    'authRequired',
    thrown('connect', () => Promise.reject(new UnauthorizedError())),
  ],
  [
    '401 -> redirect needed, through a probe',
    'authRequired',
    thrown('connect', () =>
      Promise.reject(new Error('negotiation failed', { cause: new UnauthorizedError() })),
    ),
  ],
  [
    'refresh `invalid_grant` (no redirect possible)',
    'authRequired',
    thrown('connect', () => Promise.reject(new OAuthError('invalid_grant', 'expired'))),
  ],
];

const recordedRows: readonly Row[] = [
  [
    '`notifications/initialized` hangs',
    'initNotification',
    recorded({ phase: 'initialized', code: 'REQUEST_TIMEOUT' }),
  ],
  [
    '`maxTotalTimeout`',
    'transport',
    recorded({
      name: 'SdkError',
      code: 'REQUEST_TIMEOUT',
      message: 'Maximum total timeout exceeded',
    }),
  ],
  [
    'get* without capability, over modern HTTP',
    'protocol',
    recorded({ status: 404, rpcCode: -32_601, hasSessionId: true }),
  ],
  ['server asks for undeclared capability', 'capabilityMissing', recorded({ rpcCode: -32_021 })],
  [
    'output schema mismatch',
    'protocol',
    recorded({ rpcCode: -32_602, message: 'Structured content does not match' }),
  ],
  [
    '401 after refresh',
    'authRequired',
    recorded({
      status: 401,
      code: 'CLIENT_HTTP_AUTHENTICATION',
      message: 'after re-authentication',
    }),
  ],
  // It falls through to a login by browser, which is impossible here.
  ['refresh endpoint 500', 'authRequired', recorded({ name: 'UnauthorizedError' })],
  [
    'listen stream lost (modern)',
    'transport',
    recorded({ message: 'SSE stream disconnected: TypeError: terminated' }),
  ],
  [
    'GET stream lost, reopening given up',
    'transport',
    recorded({ message: 'Maximum reconnection attempts (2) exceeded.' }),
  ],
  [
    'MRTR with `autoFulfill:false`',
    'protocol',
    recorded({ name: 'SdkError', code: 'UNSUPPORTED_RESULT_TYPE' }),
  ],
];

describe('a session', () => {
  it.each([...stdioRows, ...httpRows, ...recordedRows])(
    'classifies "%s" as %s',
    async (_condition, is, provoke) => {
      expect(await provoke()).toBe(is);
    },
  );
});
