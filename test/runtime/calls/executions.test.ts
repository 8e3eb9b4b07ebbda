/** What callers hear of a call, held to how often it ran at a real server. */

import { afterEach, describe, expect, it } from 'vitest';

import type { TroupeError } from '../../../src/domain/troupe-error.ts';
import { createTroupe, type Troupe } from '../../../src/index.ts';
import type { CallOptions } from '../../../src/runtime/troupe.ts';
import { callOptions, createBench } from '../../actors/session/bench.ts';
import {
  type CallAnswer,
  type Carrier,
  type CountingPeer,
  type CountingPeerOptions,
  startCountingPeer,
} from '../../fixtures/counting-peer.ts';

const endings: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

interface Stage {
  readonly troupe: Troupe;
  readonly peer: CountingPeer;
  /** `ok`, or code and outcome of the error. */
  readonly call: (
    options?: CallOptions,
    tool?: string,
    args?: Readonly<Record<string, unknown>>,
  ) => Promise<string>;
}

async function staged(
  carrier: Carrier,
  script: readonly CallAnswer[] = [],
  { entry = {}, ...peerOptions }: CountingPeerOptions & { readonly entry?: object } = {},
): Promise<Stage> {
  const peer = await startCountingPeer(carrier, script, peerOptions);
  endings.push(() => peer.close());
  const settings = { mcpServers: { peer: { ...peer.entry, ...entry } } };
  const troupe = createTroupe({ settings, bare: true, questions: ['url'] });
  endings.push(() => troupe.stop());
  await troupe.waitFor('peer', 'ready');
  const call: Stage['call'] = (options = {}, tool = 'act', args = {}) =>
    troupe.callServerTool('peer', tool, args, options).then(
      () => 'ok',
      (error: TroupeError) => `${error.code} ${error.outcome}`,
    );
  return { troupe, peer, call };
}

const failing = (code: number, message: string, data?: unknown): CallAnswer => ({
  rpc: { error: { code, message, ...(data !== undefined && { data }) } },
});
const visit = { mode: 'url', elicitationId: 'e', url: 'https://example.com/', message: 'Go there' };
const visitRequest = { method: 'elicitation/create', params: visit };
const wantsVisit = failing(-32_042, 'Visit this first', { elicitations: [visit] });
const trusted = { entry: { trust: true } };
const carriers = ['stdio', 'json', 'events'] as const;
const overHttp = ['json', 'events'] as const;

describe('an error response', () => {
  // What our own errors, those of the SDK and those of a transport say.
  const words: readonly CallAnswer[] = [
    failing(-32_603, 'Not connected'),
    failing(-32_000, 'Connection closed'),
    failing(-32_600, 'Session not found'),
    failing(-32_001, 'upstream: Session not found'),
    failing(-32_601, 'Method not found'),
    failing(-32_600, 'Invalid Request'),
    failing(-32_700, 'Parse error'),
    failing(-32_020, 'Header mismatch'),
    failing(-32_000, 'connect ECONNREFUSED 127.0.0.1:1', { code: 'ECONNREFUSED', status: 401 }),
    failing(1_000_001, 'The server does not read its input.', { code: 'NOT_SENT' }),
    failing(401, 'invalid_token', { status: 401 }),
    failing(-32_021, 'Missing capability'),
    { rpc: {} },
    { rpc: { result: 7 } },
    { rpc: { result: { resultType: 'complete', content: 7 } } },
    wantsVisit,
  ];
  const rows = (['legacy', 'modern'] as const).flatMap((era) =>
    carriers.map((carrier) => [carrier, era] as const),
  );

  it.each(rows)('never reports not_executed: %s, %s', async (carrier, era) => {
    const { peer, call } = await staged(carrier, words, { era });
    for (const [index, { rpc }] of words.entries()) {
      const outcome = `${JSON.stringify(rpc)} ${await call()}`;
      expect(outcome).not.toContain('not_executed');
      expect(`${outcome}, runs: ${peer.runs()}`).toContain(`runs: ${index + 1}`);
    }
  });

  it.each(rows)('reports executed when it cannot be read: %s, %s', async (carrier, era) => {
    const both = { result: { content: [] }, error: { code: -1, message: 'no' } };
    const odd = [{}, { result: 7 }, { error: 'no' }, both];
    const { peer, call } = await staged(
      carrier,
      odd.map((rpc) => ({ rpc })),
      { era },
    );
    for (const rpc of odd) expect([rpc, await call()]).toEqual([rpc, 'BAD_RESPONSE executed']);
    expect(peer.runs()).toBe(odd.length);
  });

  it.each(carriers)('reports an unknown outcome when it is not complete: %s', async (carrier) => {
    const asked = { resultType: 'input_required' };
    const answers = [{ resultType: 'task' }, asked].map((result) => ({ rpc: { result } }));
    const { call } = await staged(carrier, answers, { era: 'modern' });
    for (const { rpc } of answers)
      expect([rpc, await call()]).toEqual([rpc, 'BAD_RESPONSE unknown']);
  });

  it.each(rows)('is a result where only a field is odd: %s, %s', async (carrier, era) => {
    const odd = [{ content: 'one' }, { content: [7] }, { content: [], isError: 'no', _meta: 7 }];
    const { call } = await staged(
      carrier,
      odd.map((result) => ({ rpc: { result } })),
      { era },
    );
    for (const result of odd) expect([result, await call()]).toEqual([result, 'ok']);
  });

  it.each(overHttp)(
    'triggers a reconnect without resending the call when it reports a lost session: %s',
    async (carrier) => {
      const { troupe, peer, call } = await staged(carrier, [failing(-32_001, 'Session not found')]);
      const reopened = troupe.waitFor('peer', 'connecting');
      expect(await call()).toBe('UNAVAILABLE unknown');
      await reopened;
      expect(await call()).toBe('ok');
      expect(peer.runs()).toBe(2);
    },
  );
});

describe('an HTTP status', () => {
  it.each(overHttp)('reports not_executed for 401: %s', async (carrier) => {
    const { peer, call } = await staged(carrier, [{ status: 401, isFirst: true }]);
    expect(await call()).toBe('AUTH_REQUIRED not_executed');
    expect([peer.runs(), peer.arrivals()]).toEqual([0, 1]);
  });

  it.each(overHttp)('reports not_executed without a second try for 429: %s', async (carrier) => {
    const headers = { 'retry-after': '7' };
    const busy = { status: 429, headers, isFirst: true } as const;
    const { troupe, peer } = await staged(carrier, [busy]);
    await expect(troupe.callServerTool('peer', 'act')).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      outcome: 'not_executed',
      retryable: true,
      retryAfterMs: 7_000,
    });
    expect([peer.runs(), peer.arrivals()]).toEqual([0, 1]);
  });

  it.each(overHttp)(
    'causes the call to be resent in a new session for 404: %s',
    async (carrier) => {
      const gone = { status: 404, text: 'Session not found', isFirst: true } as const;
      const { troupe, peer } = await staged(carrier, [gone]);
      const { meta } = await troupe.callServerTool('peer', 'act');
      expect(meta.attempts).toBe(2);
      expect([peer.runs(), peer.arrivals()]).toEqual([1, 2]);
    },
  );

  it('reports not_executed when it rejects two sessions in a row', async () => {
    const gone = { status: 404, text: 'Session not found', isFirst: true } as const;
    const { peer, call } = await staged('json', [gone, gone]);
    expect(await call()).toBe('UNAVAILABLE not_executed');
    expect([peer.runs(), peer.arrivals()]).toEqual([0, 2]);
  });

  it.each([
    ['without a session', { hasSessions: false }],
    ['in the 2026 era', { era: 'modern' as const, hasSessions: true }],
  ])('reports an unknown outcome for 404 %s', async (_when, options) => {
    const { peer, call } = await staged('json', [{ status: 404, text: 'Not Found' }], options);
    expect(await call()).toContain('unknown');
    expect(peer.runs()).toBe(1);
  });

  it.each([
    ['400', { status: 400, text: 'No valid session ID provided' }],
    ['403', { status: 403 }],
    ['408', { status: 408 }],
    ['500', { status: 500 }],
    ['502', { status: 502 }],
    ['503', { status: 503, text: 'not connected' }],
    ['303', { status: 303, headers: { location: '/elsewhere' } }],
  ])('reports an unknown outcome when it has no defined meaning: %s', async (_status, answer) => {
    const { peer, call } = await staged('json', [answer]);
    expect(await call()).toContain('unknown');
    expect([peer.runs(), peer.arrivals()]).toEqual([1, 1]);
  });

  it.each([307, 308])('is followed when it redirects within the origin: %s', async (status) => {
    const there = { status, headers: { location: '/there' }, isFirst: true } as const;
    const { peer, call } = await staged('json', [there]);
    expect(await call()).toBe('ok');
    expect([peer.runs(), peer.arrivals()]).toEqual([1, 2]);
  });

  it.each([307, 308])(
    'reports not_executed when it redirects to another origin: %s',
    async (status) => {
      const location = 'http://127.0.0.2:9/mcp';
      const { peer, call } = await staged('json', [
        { status, headers: { location }, isFirst: true },
      ]);
      expect(await call()).toBe('REDIRECT_BLOCKED not_executed');
      expect([peer.runs(), peer.arrivals()]).toEqual([0, 1]);
    },
  );
});

describe('a call that was never sent', () => {
  it.each(carriers)(
    'reports not_executed when its arguments cannot be serialized: %s',
    async (carrier) => {
      const { peer, call } = await staged(carrier);
      // The text is that of a failure which the server could cause.
      const toJSON = (): never => {
        throw new Error('The response stream ended before the answer.');
      };
      expect(await call({}, 'act', { value: { toJSON } })).toBe('INVALID_ARGUMENTS not_executed');
      expect(await call({}, 'act', { value: 1n })).toBe('INVALID_ARGUMENTS not_executed');
      expect(peer.arrivals()).toBe(0);
    },
  );

  it.each(carriers)('reports not_executed when its session has ended: %s', async (carrier) => {
    const peer = await startCountingPeer(carrier);
    endings.push(() => peer.close());
    const session = createBench(peer.spec)();
    endings.push(async () => session.stop());
    session.send('session.open');
    await session.next('session.opened');
    const handle = session.handle();
    session.send('session.close');
    const { signal } = new AbortController();
    expect(await handle.callTool('act', {}, { ...callOptions(), signal })).toMatchObject({
      failure: { reason: 'notSent', written: false },
    });
    await session.next('session.closed');
    expect(peer.arrivals()).toBe(0);
  });

  it.each(carriers)('reports not_executed when its server is stopped: %s', async (carrier) => {
    const { troupe, peer, call } = await staged(carrier);
    troupe.send({ type: 'server.stop', server: 'peer' });
    await troupe.waitFor('peer', 'stopped');
    expect(await call()).toBe('STOPPED not_executed');
    expect(peer.arrivals()).toBe(0);
  });

  it.each(carriers)('reports not_executed when its caller aborts first: %s', async (carrier) => {
    const { peer, call } = await staged(carrier);
    expect(await call({ signal: AbortSignal.abort() })).toBe('CANCELLED not_executed');
    expect(peer.arrivals()).toBe(0);
  });

  it.each(overHttp)('is sent once its server accepts connections again: %s', async (carrier) => {
    const { troupe, peer } = await staged(carrier);
    await peer.leave();
    const refused = troupe.waitFor('peer', 'backingOff');
    const report = troupe.callServerTool('peer', 'act', {}, { timeoutMs: 60_000 });
    await refused;
    await peer.revive();
    troupe.send({ type: 'server.reconnect', server: 'peer' });
    expect((await report).meta.attempts).toBe(2);
    expect([peer.runs(), peer.arrivals()]).toEqual([1, 1]);
  });
});

describe('a call without a response', () => {
  it.each(carriers)('is not retried and reports an unknown outcome: %s', async (carrier) => {
    const { peer, call } = await staged(carrier, [{}], trusted);
    expect(await call()).toContain('unknown');
    expect(peer.runs()).toBe(1);
  });

  it.each(carriers)('is retried once for a trusted read-only tool: %s', async (carrier) => {
    const { peer, call } = await staged(carrier, [{}, {}], trusted);
    expect(await call({}, 'look')).toContain('unknown');
    expect(peer.runs()).toBe(2);
  });

  it.each(carriers)('is retried once when the policy accepts two runs: %s', async (carrier) => {
    const entry = { policy: { call: { replay: 'once' } } };
    const { peer, call } = await staged(carrier, [{}], { entry });
    expect(await call()).toBe('ok');
    expect(peer.runs()).toBe(2);
  });

  it.each(overHttp)(
    'is retried once for a trusted read-only tool after a lost-session error: %s',
    async (carrier) => {
      const { peer, call } = await staged(
        carrier,
        [failing(-32_001, 'Session not found')],
        trusted,
      );
      expect(await call({}, 'look')).toBe('ok');
      expect(peer.runs()).toBe(2);
    },
  );
});

describe('a call that requires a URL visit', () => {
  it.each(carriers)('is retried once after the visit: %s', async (carrier) => {
    const { peer, call } = await staged(carrier, [wantsVisit, wantsVisit, wantsVisit]);
    const seen: number[] = [];
    const onQuestion = () => {
      seen.push(peer.runs());
      return { action: 'accept' } as const;
    };
    expect(await call({ onQuestion })).toBe('INPUT_REQUIRED unknown');
    expect(seen).toEqual([1]);
    expect(peer.runs()).toBe(2);
  });

  it.each(carriers)(
    'is not retried without the visit and reports an unknown outcome: %s',
    async (carrier) => {
      const { peer, call } = await staged(carrier, [wantsVisit]);
      const onQuestion = () => ({ action: 'decline' }) as const;
      expect(await call({ onQuestion })).toBe('INPUT_REQUIRED unknown');
      expect(peer.runs()).toBe(1);
    },
  );

  it.each(overHttp)(
    'reports an unknown outcome if it cannot be sent after the visit: %s',
    async (carrier) => {
      const { peer, call } = await staged(carrier, [wantsVisit]);
      const onQuestion = async () => {
        await peer.leave();
        return { action: 'accept' } as const;
      };
      expect(await call({ onQuestion })).toBe('UNAVAILABLE unknown');
      expect(peer.runs()).toBe(1);
    },
  );

  it('continues with each answer in the 2026 era as one call', async () => {
    const asks = { resultType: 'input_required', inputRequests: { a: visitRequest } };
    const { troupe, peer } = await staged('stdio', [{ rpc: { result: asks } }], { era: 'modern' });
    const onQuestion = () => ({ action: 'accept' }) as const;
    const { meta } = await troupe.callServerTool('peer', 'act', {}, { onQuestion });
    expect(meta.attempts).toBe(1);
    expect(peer.arrivals()).toBe(2);
  });

  it('reports an unknown outcome if a 2026-era question is not answered', async () => {
    const asks = { resultType: 'input_required', inputRequests: { a: { method: 'roots/list' } } };
    const { peer, call } = await staged('stdio', [{ rpc: { result: asks } }], { era: 'modern' });
    expect(await call()).toBe('INPUT_REQUIRED unknown');
    expect(peer.runs()).toBe(1);
  });
});
