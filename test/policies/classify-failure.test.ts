import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type FailureKind, failureKinds } from '../../src/domain/failure.ts';
import { classifyFailure, type FailureDescription } from '../../src/policies/classify-failure.ts';

type Case = readonly [what: string, seen: Partial<FailureDescription>, kind: FailureKind];

const cases: readonly Case[] = [
  ['an exit with 0 when ready', { exitCode: 0 }, 'cleanExit'],
  ['an exit with 0 during the handshake', { exitCode: 0, phase: 'initialize' }, 'crashed'],
  ['an exit with 1', { exitCode: 1 }, 'crashed'],
  ['a signal', { signal: 'SIGKILL' }, 'crashed'],
  ['an exit behind a timeout', { exitCode: 1, code: 'REQUEST_TIMEOUT' }, 'crashed'],
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
    'an answer that the session is unknown',
    { rpcCode: -32_001, hasSessionId: true, message: 'Session not found' },
    'sessionMissing',
  ],
  [
    'an answer that the request has no session',
    { rpcCode: -32_600, hasSessionId: true, message: 'Invalid session ID' },
    'sessionMissing',
  ],
  [
    'a timeout that has the number of a lost session',
    { rpcCode: -32_001, hasSessionId: true, message: 'Request timed out' },
    'protocol',
  ],
  [
    'a tool that lost a session of its own',
    { rpcCode: -32_000, hasSessionId: true, message: 'Session expired' },
    'protocol',
  ],
  [
    'an unknown session of a server that gave none',
    { rpcCode: -32_001, message: 'Session not found' },
    'protocol',
  ],
  [
    'an unknown session before there was one',
    { rpcCode: -32_001, hasSessionId: true, message: 'Session not found', phase: 'initialize' },
    'protocol',
  ],
  ['no route to a host', { code: 'EHOSTUNREACH', wasConnected: false }, 'unavailable'],
  ['no route any more', { code: 'EHOSTUNREACH', wasConnected: true }, 'transport'],
  [
    'a status of 400 that speaks of the session',
    { status: 400, hasSessionId: true, message: 'Session not found' },
    'sessionMissing',
  ],
  [
    'a status of 400 that speaks of something else',
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
  ['an error answer', { rpcCode: -32_603 }, 'protocol'],
  ['an invalid result', { code: 'INVALID_RESULT' }, 'protocol'],
  ['an answer that is not JSON', { name: 'SyntaxError' }, 'protocol'],
  ['a failed fetch without a code', { message: 'fetch failed' }, 'transport'],
  ['something else', { message: 'what?' }, 'unknown'],
];

describe('classifying a failure', () => {
  it.each(cases)('%s is told apart', (_what, seen, kind) => {
    expect(classifyFailure({ message: 'm', phase: 'ready', ...seen }).kind).toBe(kind);
  });

  it.each([
    [{ code: 'ERR_ADDRESS_BLOCKED' }, 'ADDRESS_BLOCKED'],
    [{ causes: [{ code: 'ERR_REDIRECT_BLOCKED', message: 'no' }] }, 'REDIRECT_BLOCKED'],
    [{ status: 302 }, 'REDIRECT_BLOCKED'],
    [{ status: 308 }, 'REDIRECT_BLOCKED'],
    [{ status: 304 }, undefined],
    [{ status: 500 }, undefined],
  ] as const)('tells callers of %j by the code %s', (seen, code) => {
    expect(classifyFailure({ message: 'm', phase: 'ready', ...seen }).code).toBe(code);
  });

  it('reaches every kind but the one that only a session gives', () => {
    const reached = new Set(cases.map(([, , kind]) => kind));
    expect(failureKinds.filter((kind) => !reached.has(kind))).toEqual(['notStarted']);
  });

  it('keeps what was seen, and a message that can be printed', () => {
    expect(
      classifyFailure({
        message: '\u001b[31mgone\n',
        phase: 'ready',
        exitCode: 3,
        signal: 'SIGTERM',
        stderrTail: ['last'],
        retryAfterMs: 5,
      }),
    ).toEqual({
      kind: 'crashed',
      message: 'gone',
      exitCode: 3,
      signal: 'SIGTERM',
      stderrTail: ['last'],
      retryAfterMs: 5,
    });
  });

  it('leaves a failure as it is, whatever was described', () => {
    const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
    const described = fc.record({
      message: fc.string(),
      phase: fc.constantFrom('connect', 'initialize', 'initialized', 'ready'),
      status: optional(fc.integer({ min: 100, max: 599 })),
      rpcCode: optional(fc.integer()),
      exitCode: optional(fc.integer({ min: 0, max: 255 })),
      code: optional(fc.constantFrom('ENOENT', 'EPIPE', 'REQUEST_TIMEOUT', 'ODD')),
    });
    fc.assert(
      fc.property(described, (seen) => {
        const failure = classifyFailure(JSON.parse(JSON.stringify(seen)) as FailureDescription);
        expect(classifyFailure(failure)).toBe(failure);
        expect(failure.message.length).toBeLessThanOrEqual(500);
      }),
    );
  });
});
