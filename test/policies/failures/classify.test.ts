import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type Failure, type FailureKind, failureKinds } from '../../../src/domain/failure.ts';
import type { ClassifyRule } from '../../../src/domain/policy.ts';
import {
  asLoss,
  classifyFailure,
  endsSession,
  type FailureDescription,
} from '../../../src/policies/failures/classify.ts';
import { kindByTable } from '../../../src/policies/failures/failure-table.ts';

type Case = readonly [what: string, seen: Partial<FailureDescription>, kind: FailureKind];

/** What the SDK says of an answer to `initialize` in which these fields are wrong. */
function invalidInitialize(...fields: readonly string[]): string {
  const issues = fields.map((field) => ({
    expected: 'string',
    code: 'invalid_type',
    path: [field],
    message: 'Invalid input: expected string, received number',
  }));
  return `Invalid result for initialize: ${JSON.stringify(issues, null, 2)}`;
}

const at = 'http://a.test/mcp';
const refusal = 'The server answered with status 404 (Not Found).';

describe('what an entry may have wrong', () => {
  it.each<readonly [string, Partial<FailureDescription>, Failure['suspect'], string?]>([
    ['a 404', { status: 404 }, 'url', `The server answered with status 404 (Not Found) at ${at}.`],
    ['a 405', { status: 405 }, 'url'],
    ['a web page', { message: 'It answered with the content type text/html.' }, 'url'],
    ['a 404 to a session', { status: 404, hasSessionId: true }, undefined],
    ['a 404 with an error of JSON-RPC', { status: 404, rpcCode: -32_601 }, undefined],
    ['a 404 later', { status: 404, phase: 'ready' }, undefined, refusal],
    ['a 404 without an address', { status: 404, address: undefined as never }, undefined, refusal],
    ['a 500', { status: 500 }, undefined, refusal],
    ['a failed negotiation', { code: 'ERA_NEGOTIATION_FAILED' }, 'era', refusal],
    ['no connection', { code: 'ERA_NEGOTIATION_FAILED', wasConnected: false }, undefined],
    ['an exit', { code: 'ERA_NEGOTIATION_FAILED', exitCode: 1 }, undefined],
    ['a signal', { code: 'ERA_NEGOTIATION_FAILED', signal: 'SIGKILL' }, undefined],
  ])('is distinguished from %s', (_what, seen, suspect, message) => {
    const given = { phase: 'initialize' as const, message: refusal, address: at };
    const failed = classifyFailure({ ...given, ...(seen as object) });
    expect(failed.suspect).toBe(suspect);
    if (message !== undefined) expect(failed.message).toBe(message);
  });
});

const cases: readonly Case[] = [
  ['an exit with 0 when ready', { exitCode: 0 }, 'cleanExit'],
  ['an exit with 0 during the handshake', { exitCode: 0, phase: 'initialize' }, 'crashed'],
  ['an exit with 1', { exitCode: 1 }, 'crashed'],
  ['a signal', { signal: 'SIGKILL' }, 'crashed'],
  ['an exit that caused a timeout', { exitCode: 1, code: 'REQUEST_TIMEOUT' }, 'crashed'],
  ['a status of 401', { status: 401 }, 'authRequired'],
  ['a status of 403', { status: 403 }, 'authRequired'],
  ['an authorization error of the SDK', { name: 'UnauthorizedError' }, 'authRequired'],
  ['an authorization code of the SDK', { code: 'CLIENT_HTTP_AUTHENTICATION' }, 'authRequired'],
  [
    'an authorization error as cause',
    { causes: [{ name: 'OAuthError', message: 'no' }] },
    'authRequired',
  ],
  ['a status of 429', { status: 429 }, 'rateLimited'],
  ['a status of 404 with a session', { status: 404, hasSessionId: true }, 'sessionMissing'],
  ['a status of 404 without a session', { status: 404 }, 'protocol'],
  [
    'a status of 404 for an unknown method',
    { status: 404, hasSessionId: true, rpcCode: -32_601 },
    'protocol',
  ],
  [
    'a JSON-RPC error for an unknown session',
    { rpcCode: -32_001, hasSessionId: true, message: 'Session not found' },
    'sessionMissing',
  ],
  [
    'a JSON-RPC error for a request without a session',
    { rpcCode: -32_600, hasSessionId: true, message: 'Invalid session ID' },
    'sessionMissing',
  ],
  [
    'a timeout with the error code of a lost session',
    { rpcCode: -32_001, hasSessionId: true, message: 'Request timed out' },
    'protocol',
  ],
  [
    'a tool that lost its own session',
    { rpcCode: -32_000, hasSessionId: true, message: 'Session expired' },
    'protocol',
  ],
  [
    'a refusal that mentions the session only in its body',
    { status: 400, hasSessionId: true, body: 'No valid session ID' },
    'sessionMissing',
  ],
  [
    'an unknown session from a server without sessions',
    { rpcCode: -32_001, message: 'Session not found' },
    'protocol',
  ],
  [
    'an unknown session before there was one',
    { rpcCode: -32_001, hasSessionId: true, message: 'Session not found', phase: 'initialize' },
    'protocol',
  ],
  ['no route to a host', { code: 'EHOSTUNREACH', wasConnected: false }, 'unavailable'],
  ['a route lost after connecting', { code: 'EHOSTUNREACH', wasConnected: true }, 'transport'],
  [
    'a status of 400 that mentions the session',
    { status: 400, hasSessionId: true, message: 'Session not found' },
    'sessionMissing',
  ],
  [
    'a status of 400 that mentions something else',
    { status: 400, hasSessionId: true, message: 'bad json' },
    'protocol',
  ],
  ['a status of 400 without a session', { status: 400, message: 'Session not found' }, 'protocol'],
  [
    'an unknown version',
    { message: "Server's protocol version is not supported: 1900" },
    'versionUnsupported',
  ],
  ['a refused version', { rpcCode: -32_022 }, 'versionUnsupported'],
  [
    'a version that is not a string',
    { code: 'INVALID_RESULT', phase: 'initialize', message: invalidInitialize('protocolVersion') },
    'versionUnsupported',
  ],
  [
    'a result with an invalid version and other errors',
    {
      code: 'INVALID_RESULT',
      phase: 'initialize',
      message: invalidInitialize('protocolVersion', 'serverInfo'),
    },
    'protocol',
  ],
  ['a missing capability of ours', { rpcCode: -32_021 }, 'capabilityMissing'],
  ['a missing capability of the server', { code: 'CAPABILITY_NOT_SUPPORTED' }, 'capabilityMissing'],
  ['a refused initialized notification', { phase: 'initialized', status: 500 }, 'initNotification'],
  ['a status of 500', { status: 500 }, 'unavailable'],
  ['a missing command', { code: 'ENOENT' }, 'unavailable'],
  [
    'a refused connection as cause',
    { causes: [{ code: 'ECONNREFUSED', message: 'no' }] },
    'unavailable',
  ],
  ['a start without a free file descriptor', { code: 'EMFILE', phase: 'connect' }, 'notStarted'],
  [
    'a start on a machine without a free file descriptor',
    { phase: 'connect', code: 'INVALID_SETTING', causes: [{ code: 'ENFILE', message: 'no' }] },
    'notStarted',
  ],
  ['a start without a free process', { code: 'EAGAIN', phase: 'connect' }, 'notStarted'],
  ['a request without a free file descriptor', { code: 'EMFILE' }, 'unavailable'],
  ['a setting that cannot be used', { code: 'INVALID_SETTING' }, 'unavailable'],
  [
    'a timeout during the handshake',
    { code: 'REQUEST_TIMEOUT', phase: 'initialize' },
    'initTimeout',
  ],
  ['a timeout when ready', { code: 'REQUEST_TIMEOUT' }, 'transport'],
  ['a reset connection', { causes: [{ code: 'ECONNRESET', message: 'no' }] }, 'transport'],
  ['a closed connection', { code: 'CONNECTION_CLOSED' }, 'transport'],
  ['a redirect', { status: 307 }, 'transport'],
  ['an error response', { rpcCode: -32_603 }, 'protocol'],
  ['an invalid result', { code: 'INVALID_RESULT' }, 'protocol'],
  ['a response that is not JSON', { name: 'SyntaxError' }, 'protocol'],
  ['a failed fetch without a code', { message: 'fetch failed' }, 'transport'],
  ['a proxy timeout', { status: 408 }, 'unavailable'],
  ['a route lost during a connection', { code: 'EHOSTUNREACH', wasConnected: true }, 'transport'],
  [
    'an unknown method of a modern server',
    { status: 404, hasSessionId: true, rpcCode: -32_601 },
    'protocol',
  ],
  [
    'a lost session with a status of 200',
    { rpcCode: -32_001, hasSessionId: true, message: 'Session not found' },
    'sessionMissing',
  ],
  [
    'an unanswered notification',
    { phase: 'initialized', code: 'REQUEST_TIMEOUT' },
    'initNotification',
  ],
  ['a login required for a notification', { phase: 'initialized', status: 401 }, 'authRequired'],
  ['an invalid token', { message: 'Error: invalid_token' }, 'authRequired'],
  ['a bare "unauthorized"', { message: 'unauthorized' }, 'unknown'],
  ['a tool that mentions tokens', { rpcCode: -32_000, message: 'invalid token' }, 'protocol'],
  [
    'a refused connection without a code',
    { phase: 'connect', message: 'Connection refused' },
    'unavailable',
  ],
  ['a broken pipe without a code', { message: 'write: broken pipe' }, 'transport'],
  ['an unknown error', { message: 'what?' }, 'unknown'],
];

describe('failure classification', () => {
  it.each(cases)('classifies %s', (_what, seen, kind) => {
    expect(classifyFailure({ message: 'm', phase: 'ready', ...seen }).kind).toBe(kind);
  });

  it.each([
    [{ code: 'ERR_ADDRESS_BLOCKED' }, 'ADDRESS_BLOCKED'],
    [{ causes: [{ code: 'ERR_REDIRECT_BLOCKED', message: 'no' }] }, 'REDIRECT_BLOCKED'],
    [{ status: 302 }, 'REDIRECT_BLOCKED'],
    [{ status: 308 }, 'REDIRECT_BLOCKED'],
    [{ status: 304 }, undefined],
    [{ status: 500 }, undefined],
  ] as const)('reports %j with the code %s', (seen, code) => {
    expect(classifyFailure({ message: 'm', phase: 'ready', ...seen }).code).toBe(code);
  });

  it('covers every failure kind', () => {
    const reached = new Set(cases.map(([, , kind]) => kind));
    expect(failureKinds.filter((kind) => !reached.has(kind))).toEqual([]);
  });

  it('keeps the observed facts and a printable message', () => {
    expect(
      classifyFailure({
        message: '\u001b[31mgone\n',
        body: 'not to be seen',
        phase: 'ready',
        exitCode: 3,
        signal: 'SIGTERM',
        stderrTail: ['last'],
        explanation: 'Error: no key',
        missing: { what: 'variable', name: 'KEY' },
        retryAfterMs: 5,
      }),
    ).toEqual({
      kind: 'crashed',
      message: 'gone',
      exitCode: 3,
      signal: 'SIGTERM',
      stderrTail: ['last'],
      explanation: 'Error: no key',
      missing: { what: 'variable', name: 'KEY' },
      retryAfterMs: 5,
    });
  });

  it('keeps a bounded number of causes', () => {
    const causes = Array.from({ length: 20 }, (_, depth) => ({
      name: 'Error',
      code: `E${depth}`,
      message: `${depth}\u001b[0m${'x'.repeat(1_000)}`,
    }));
    const kept = classifyFailure({ message: 'm', phase: 'ready', causes }).causes ?? [];
    expect(kept.map(({ code }) => code)).toEqual(['E0', 'E1', 'E2', 'E3', 'E4', 'E5', 'E6', 'E7']);
    expect(kept.every(({ message }) => message.length <= 200)).toBe(true);
    expect(JSON.stringify(kept)).not.toContain('u001b');
  });

  it('searches only a bounded part of a message', () => {
    const long = (words: string) => `${' '.repeat(4_096)}${words}`;
    const seen = { phase: 'ready' as const, message: long('fetch failed') };
    expect(classifyFailure(seen).kind).toBe('unknown');
    const causes = [{ message: long('fetch failed') }];
    expect(classifyFailure({ phase: 'ready', message: 'm', causes }).kind).toBe('unknown');
    const body = long('fetch failed');
    expect(classifyFailure({ phase: 'ready', message: 'm', body }).kind).toBe('unknown');
  });

  const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const codes = ['ENOENT', 'EPIPE', 'REQUEST_TIMEOUT', 'CAPABILITY_NOT_SUPPORTED', 'ODD'];
  const link = {
    name: optional(fc.constantFrom('Error', 'OAuthError', 'SyntaxError')),
    code: optional(fc.constantFrom(...codes)),
    message: fc.oneof(fc.string(), fc.constantFrom('fetch failed', 'Session not found')),
  };
  const described = fc
    .record({
      ...link,
      phase: fc.constantFrom('connect', 'initialize', 'initialized', 'ready'),
      status: optional(
        fc.oneof(fc.integer({ min: 100, max: 599 }), fc.constantFrom(400, 401, 404)),
      ),
      rpcCode: optional(fc.oneof(fc.integer(), fc.constantFrom(-32_001, -32_022))),
      exitCode: optional(fc.integer({ min: 0, max: 255 })),
      hasSessionId: optional(fc.boolean()),
      wasConnected: optional(fc.boolean()),
      causes: optional(fc.array(fc.record(link), { maxLength: 12 })),
    })
    // Without the keys that hold nothing.
    .map((seen) => JSON.parse(JSON.stringify(seen)) as FailureDescription);
  const ruled: fc.Arbitrary<ClassifyRule> = fc.record({
    kind: fc.constantFrom(...failureKinds),
    status: optional(fc.constantFrom(400, 401, 404)),
    code: optional(fc.constantFrom<string | number>(...codes, -32_001)),
    message: optional(fc.constantFrom('FETCH', 'session', 'o')),
  });

  it('leaves a classified failure unchanged for any description and rules', () => {
    fc.assert(
      fc.property(described, fc.array(ruled), (seen, rules) => {
        const failure = classifyFailure(seen, rules);
        expect(classifyFailure(failure, rules)).toBe(failure);
        expect(classifyFailure({ ...failure, phase: seen.phase } as Failure)).toMatchObject(
          failure,
        );
        expect(failure.message.length).toBeLessThanOrEqual(500);
        expect(failure.causes?.length ?? 0).toBe(Math.min(seen.causes?.length ?? 0, 8));
      }),
    );
  });

  it('applies the first matching rule, or the table if none matches', () => {
    /** The same in the plainest way. */
    const plainly = (seen: FailureDescription, rules: readonly ClassifyRule[]): FailureKind => {
      for (const rule of rules) {
        const chain = [seen, ...(seen.causes ?? [])];
        if (rule.status !== undefined && rule.status !== seen.status) continue;
        if (typeof rule.code === 'number' && rule.code !== seen.rpcCode) continue;
        if (typeof rule.code === 'string' && !chain.some(({ code }) => code === rule.code))
          continue;
        const words = rule.message?.toUpperCase() ?? '';
        if (!chain.some(({ message }) => message.toUpperCase().includes(words))) continue;
        return rule.kind;
      }
      return classifyFailure(seen).kind;
    };
    fc.assert(
      fc.property(described, fc.array(ruled), (seen, rules) => {
        expect(classifyFailure(seen, rules).kind).toBe(plainly(seen, rules));
      }),
    );
  });

  it('assigns the kind of the table row that matched', () => {
    fc.assert(
      fc.property(described, (seen) => {
        expect(classifyFailure(seen).kind).toBe(kindByTable(seen) ?? 'unknown');
      }),
    );
  });
});

// What makes a client give up its connection when it happens three times in a row.
const terminal: readonly (readonly [what: string, seen: Partial<FailureDescription>])[] = [
  ...[
    'ECONNRESET',
    'ETIMEDOUT',
    'EPIPE',
    'EHOSTUNREACH',
    'ECONNREFUSED',
    'UND_ERR_BODY_TIMEOUT',
  ].map((code) => [code, { message: 'fetch failed', causes: [{ code, message: code }] }] as const),
  ['terminated', { message: 'terminated' }],
  ['a disconnected stream', { message: 'SSE stream disconnected: TypeError: terminated' }],
  [
    'a stream that ran out of reconnects',
    { message: 'Maximum reconnection attempts (2) exceeded.' },
  ],
];

describe('a connection error', () => {
  it.each(terminal)('is attributed to the connection, not to the response: %s', (_what, seen) => {
    const { kind } = classifyFailure({ message: 'm', phase: 'ready', ...seen });
    expect(['transport', 'unavailable']).toContain(kind);
  });
});

describe('a failed request', () => {
  const rule = { code: -32_000, kind: 'authRequired' } as const;
  const ends = (seen: Partial<FailureDescription>, rules: readonly ClassifyRule[]) => {
    const described = { message: 'm', phase: 'ready' as const, ...seen };
    return endsSession(classifyFailure(described, rules), described, rules);
  };

  const requests: readonly (readonly [
    string,
    boolean,
    Partial<FailureDescription>,
    readonly ClassifyRule[],
  ])[] = [
    ['a lost session', true, { status: 404, hasSessionId: true }, []],
    ['a required login', true, { status: 401 }, []],
    ['a single forbidden request', false, { status: 403 }, []],
    ['a login required by a rule', true, { rpcCode: -32_000 }, [rule]],
    ['a crash by a rule', true, { rpcCode: -32_000 }, [{ ...rule, kind: 'crashed' }]],
    ['an overload by a rule', false, { rpcCode: -32_000 }, [{ ...rule, kind: 'rateLimited' }]],
    ['a failure that no rule matches', false, { status: 403, rpcCode: 1 }, [rule]],
  ];

  it.each(requests)('either ends or keeps its session: %s', (_what, expected, seen, rules) => {
    expect(ends(seen, rules)).toBe(expected);
  });

  it.each([
    ['a blocked address', { code: 'ERR_ADDRESS_BLOCKED' }, 'ADDRESS_BLOCKED'],
    ['a blocked redirect', { code: 'ERR_REDIRECT_BLOCKED' }, 'REDIRECT_BLOCKED'],
    ['a redirect response', { status: 308 }, 'REDIRECT_BLOCKED'],
    ['a not-modified response', { status: 304 }, undefined],
  ])('reports a code for a blocked request only: %s', (_what, seen, code) => {
    expect(classifyFailure({ message: 'm', phase: 'ready', ...seen }).code).toBe(code);
  });

  it.each([
    ['an unreachable server', { code: 'ECONNREFUSED' }, [], 'transport'],
    ['an overloaded server', { status: 503 }, [], 'unavailable'],
    [
      'a server that a rule declares unavailable',
      { code: 'ECONNREFUSED' },
      [{ code: 'ECONNREFUSED', kind: 'unavailable' }],
      'unavailable',
    ],
  ] as const)(
    'counts as a connection loss when a session is open: %s',
    (_what, seen, rules, kind) => {
      const described = { message: 'm', phase: 'ready' as const, ...seen };
      expect(asLoss(classifyFailure(described, rules), described, rules).kind).toBe(kind);
    },
  );
});
