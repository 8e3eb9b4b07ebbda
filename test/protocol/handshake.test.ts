import { describe, expect, it } from 'vitest';

import { ProtocolFault, RefusedError, unexpected } from '../../src/protocol/errors.ts';
import {
  completed,
  eraFault,
  isModernRefusal,
  judgeProbe,
  oldFault,
  type ProbeOutcome,
  readDiscovery,
  readGreeting,
  withoutType,
} from '../../src/protocol/handshake.ts';
import { methodNotFound, RpcError, unsupportedVersion } from '../../src/protocol/rpc-codes.ts';

const serverInfo = { name: 'db', version: '1' };
const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo };
const discovery = { supportedVersions: ['2026-07-28'], capabilities: {} };

describe('the answer to initialize', () => {
  it('is read with everything that it says of the server', () => {
    const info = {
      ...serverInfo,
      title: 'DB',
      description: 'A database',
      websiteUrl: 'https://db.example',
      icons: [{ src: 'a.png' }, { href: 'b.png' }, 'c.png'],
    };
    const capabilities = { tools: {} };
    expect(
      readGreeting({ ...greeting, capabilities, serverInfo: info, instructions: 'Ask first.' }),
    ).toEqual({
      version: '2025-11-25',
      capabilities,
      info: { ...info, icons: [{ src: 'a.png' }] },
      instructions: 'Ask first.',
    });
  });

  it.each([
    [{ ...greeting, serverInfo: undefined }, 'serverInfo has no name and version'],
    [{ ...greeting, serverInfo: { name: 'db' } }, 'serverInfo has no name and version'],
    [{ ...greeting, capabilities: undefined }, 'capabilities is not an object'],
    [{ ...greeting, capabilities: { tools: true } }, 'capabilities.tools is not an object'],
    [{ ...greeting, instructions: 7 }, 'instructions is not a string'],
    [{ ...greeting, protocolVersion: '1999-01-01' }, 'version is not supported: 1999-01-01'],
    [{ ...greeting, protocolVersion: 7 }, 'version is not supported: 7'],
  ])('names what is wrong with %j', (answer, words) => {
    expect(() => readGreeting(answer)).toThrow(words);
  });
});

describe('the answer to server/discover', () => {
  it('is kept whole for later sessions', () => {
    const answer = {
      ...discovery,
      resultType: 'complete',
      instructions: 'Ask first.',
      _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
    };
    expect(readDiscovery(answer)).toEqual({
      version: '2026-07-28',
      capabilities: {},
      info: serverInfo,
      instructions: 'Ask first.',
      discovery: answer,
    });
    expect(readDiscovery(discovery).info).toBeUndefined();
  });

  it.each([
    ['text'],
    [{ ...discovery, supportedVersions: [] }],
    [{ ...discovery, supportedVersions: [7] }],
    [{ ...discovery, capabilities: 7 }],
    [{ ...discovery, resultType: 'input_required' }],
  ])('is refused as %j', (answer) => {
    expect(() => readDiscovery(answer)).toThrow('it does not describe a server');
  });
});

const failed = (error: unknown): ProbeOutcome => ({ kind: 'failed', error });
const rpc = (code: number, data?: unknown): RpcError =>
  new RpcError({ code, message: 'no', ...(data !== undefined && { data }) });
const refused = (status: number, details: { text?: string; hasChallenge?: boolean } = {}) =>
  new RefusedError(`HTTP ${status}`, { status, ...details });
const body = (error: unknown): string => JSON.stringify({ error });

describe('the era', () => {
  it.each<[string, ProbeOutcome, string]>([
    ['a description', { kind: 'result', result: discovery }, 'modern'],
    [
      'a later version only',
      { kind: 'result', result: { ...discovery, supportedVersions: ['2030-01-01'] } },
      'legacy',
    ],
    ['any other result', { kind: 'result', result: {} }, 'legacy'],
    ['an unknown method', failed(rpc(methodNotFound)), 'legacy'],
    ['other versions', failed(rpc(unsupportedVersion, { supported: ['2025-11-25'] })), 'legacy'],
    [
      'our version, refused',
      failed(rpc(unsupportedVersion, { supported: ['2026-07-28'] })),
      'contradicted',
    ],
    ['an error without versions', failed(rpc(unsupportedVersion, {})), 'legacy'],
    ['an unusable answer', failed(unexpected('not JSON')), 'unclear'],
    ['no JSON', failed(new SyntaxError('no JSON')), 'unclear'],
    [
      'a request that broke off',
      failed(Object.assign(new Error('reset'), { wasConnected: true })),
      'unclear',
    ],
    ['HTTP 500', failed(refused(500)), 'unclear'],
    ['HTTP 401 without a challenge', failed(refused(401)), 'unclear'],
    ['HTTP 404', failed(refused(404)), 'legacy'],
    ['HTTP 400 with no JSON', failed(refused(400, { text: '<html>' })), 'legacy'],
    ['HTTP 400 with a number', failed(refused(400, { text: '7' })), 'legacy'],
    ['HTTP 400 with another body', failed(refused(400, { text: '{}' })), 'legacy'],
    [
      'HTTP 400 with an error without a message',
      failed(refused(400, { text: body({ code: -32_601 }) })),
      'legacy',
    ],
    [
      'HTTP 400 with our version',
      failed(
        refused(400, {
          text: body({
            code: unsupportedVersion,
            message: 'no',
            data: { supported: ['2026-07-28'] },
          }),
        }),
      ),
      'contradicted',
    ],
  ])('after %s', (_, outcome, era) => {
    expect(judgeProbe(outcome, false).era).toBe(era);
  });

  it('is an older one after silence or an end on a channel of its own, and unclear over HTTP', () => {
    for (const kind of ['silent', 'closed'] as const)
      expect(judgeProbe({ kind }, true)).toEqual({ era: 'legacy' });
    expect(judgeProbe({ kind: 'silent' }, false)).toMatchObject({ era: 'unclear' });
    expect(() => judgeProbe({ kind: 'closed' }, false)).toThrow('Connection closed during');
  });

  it.each<[string, unknown, string]>([
    ['a login', Object.assign(new Error('log in'), { name: 'UnauthorizedError' }), 'log in'],
    ['an unreached address', new Error('ENOTFOUND'), 'ENOTFOUND'],
    ['what is no error', 'gone', 'gone'],
    ['a later version only', rpc(unsupportedVersion, { supported: ['2030-01-01'] }), 'no'],
    ['HTTP 401 with a challenge', refused(401, { hasChallenge: true }), 'requires authorization'],
    ['HTTP 403 with a challenge', refused(403, { hasChallenge: true }), 'denied access'],
    ['HTTP 429', refused(429), 'HTTP 429'],
  ])('is not judged after %s', (_, error, words) => {
    expect(() => judgeProbe(failed(error), false)).toThrow(words);
  });

  it('is probed again after a refusal of initialize that only a modern server gives', () => {
    expect([400, 404, 405].map((status) => isModernRefusal(refused(status)))).toEqual([
      true,
      true,
      true,
    ]);
    expect([401, 403, 408, 429, 500].some((status) => isModernRefusal(refused(status)))).toBe(
      false,
    );
    expect(isModernRefusal(rpc(methodNotFound))).toBe(true);
    expect(isModernRefusal(rpc(unsupportedVersion, { supported: ['2026-07-28'] }))).toBe(true);
    expect(isModernRefusal(rpc(unsupportedVersion))).toBe(false);
    expect(isModernRefusal(new Error('other'))).toBe(false);
  });

  it('has a fault that says what a pinned version met', () => {
    expect(oldFault(true).message).toContain('closed during the server/discover probe');
    expect(oldFault(false).message).toContain('did not offer pinned protocol version 2026-07-28');
    expect(eraFault('why').code).toBe('ERA_NEGOTIATION_FAILED');
  });
});

describe('the type of a result', () => {
  it('is removed, and is complete without one', () => {
    const plain = { content: [] };
    expect(withoutType(plain)).toBe(plain);
    expect(completed('x', { ...plain, resultType: 'complete' }, false)).toEqual(plain);
    expect(completed('x', plain, false)).toBe(plain);
  });

  it('may ask for input, with questions or with a state', () => {
    const asks = { resultType: 'input_required', inputRequests: { a: {} } };
    expect(completed('x', asks, true)).toEqual(asks);
    expect(completed('x', { resultType: 'input_required', requestState: 's' }, true)).toEqual({
      resultType: 'input_required',
      requestState: 's',
      inputRequests: {},
    });
    expect(() => completed('x', { resultType: 'input_required' }, true)).toThrow(
      'without a question or a state',
    );
    expect(() => completed('x', asks, false)).toThrow(ProtocolFault);
    expect(() => completed('x', { resultType: 'task' }, true)).toThrow(
      'Unsupported result type "task"',
    );
  });
});
