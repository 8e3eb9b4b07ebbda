/** Logins that calls of clients need, at a real issuer on this machine. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Gateway } from '../../src/gateway/gateway.ts';
import { startHttpGateway } from '../../src/gateway/http-gateway.ts';
import { GatewayLogins } from '../../src/gateway/logins.ts';
import type { Troupe } from '../../src/index.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import { realClock } from '../../src/runtime/real-clock.ts';
import { deferred } from '../support/deferred.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import type { IssuerSettings } from '../support/issuer/settings.ts';
import { openSession, post, token } from './gateway-stage.ts';

interface Place {
  readonly issuer: TestIssuer;
  readonly troupe: Troupe;
  readonly url: URL;
}

async function placeWith({
  settings = {},
  asksForLogins = true,
  entry = {},
}: {
  readonly settings?: Partial<IssuerSettings>;
  readonly asksForLogins?: boolean;
  readonly entry?: object;
} = {}): Promise<Place> {
  const issuer = await startTestIssuer(settings);
  const troupe = createTroupe({
    bare: true,
    settings: {
      mcpServers: {
        db: { url: issuer.server, ...entry },
        twin: { url: issuer.server, timeoutMs: 9_000, ...entry },
      },
    },
    questions: ['form', 'url'],
  });
  const gateway = new Gateway({ troupe, clock: realClock, asksForLogins, report: () => {} });
  const options = { host: '127.0.0.1', port: 0, isLoopback: true, hosts: [], token };
  const http = await startHttpGateway(gateway, options);
  onTestFinished(async () => {
    await http.close(0);
    gateway.close();
    await troupe.stop();
    await issuer.close();
  });
  for (const name of ['db', 'twin'])
    await troupe.waitFor(name, 'authRequired', { timeoutMs: 10_000 });
  return { issuer, troupe, url: new URL(http.url) };
}

const eras = ['auto', 'legacy'] as const;
type Era = (typeof eras)[number];

interface Page {
  readonly url: URL;
  readonly message: string;
  readonly elicitationId?: string;
}

type Decision = 'accept' | 'decline' | 'cancel';

interface TestClient {
  readonly client: Client;
  /** The pages that the client was asked to open. */
  readonly pages: readonly Page[];
  /** The first elicitation that was reported as complete. */
  readonly completed: Promise<string>;
  call(tool?: string, signal?: AbortSignal): Promise<Record<string, unknown>>;
}

/** A client whose user decides about each page. */
async function join(
  { url }: Pick<Place, 'url'>,
  era: Era,
  open: (page: URL) => Promise<Decision> | Decision,
  capabilities: object = { elicitation: { url: {} } },
): Promise<TestClient> {
  const pages: Page[] = [];
  const completed = deferred<string>();
  const client = new Client(
    { name: 'host', version: '1.0.0' },
    { capabilities, versionNegotiation: { mode: era } },
  );
  if (Object.keys(capabilities).length > 0) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      if (params.mode !== 'url') return { action: 'cancel' };
      const { elicitationId, message } = params as { elicitationId?: string; message: string };
      const page = new URL(params.url);
      pages.push({ url: page, message, ...(elicitationId !== undefined && { elicitationId }) });
      return { action: await open(page) };
    });
    client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => {
      completed.resolve(params.elicitationId);
    });
  }
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  onTestFinished(() => client.close());
  return {
    client,
    pages,
    completed: completed.promise,
    call: (tool = 'db__echo', signal) =>
      client.callTool(
        { name: tool, arguments: {} },
        signal === undefined ? {} : { signal },
      ) as Promise<Record<string, unknown>>,
  };
}

/** Opens pages like a user who consents. */
const consenting =
  ({ issuer }: Pick<Place, 'issuer'>) =>
  (page: URL): Decision => {
    void issuer.consent(page).then((redirect) => fetch(redirect));
    return 'accept';
  };

const refused = {
  isError: true,
  _meta: {
    'mcp-troupe/error': {
      code: 'AUTH_REQUIRED',
      outcome: 'not_executed',
      message: expect.stringContaining('troupe login db'),
    },
  },
};

describe.each(eras)('a call that needs a login (%s)', (era) => {
  it('asks only its client to open the page, and goes on once', async () => {
    const place = await placeWith();
    const here = await join(place, era, consenting(place));
    const other = await join(place, era, consenting(place));
    const answer = await here.call();
    expect(answer['isError']).not.toBe(true);
    expect(here.pages).toMatchObject([{ message: expect.stringContaining('db requires a login') }]);
    expect(here.pages[0]?.url.origin).toBe(place.issuer.origin);
    expect(other.pages).toEqual([]);
    expect(place.issuer.counts).toMatchObject({ authorizations: 1, codes: 1, calls: 1 });
    // The login belongs to all servers of the same address.
    await place.troupe.waitFor('twin', 'ready', { timeoutMs: 10_000 });
    expect((await other.call('twin__echo'))['isError']).not.toBe(true);
    expect(other.pages).toEqual([]);
  });

  it('fails with the remedy when the user declines, and asks again next time', async () => {
    const place = await placeWith();
    let decision: Decision = 'decline';
    const here = await join(place, era, (page) =>
      decision === 'accept' ? consenting(place)(page) : decision,
    );
    expect(await here.call()).toMatchObject(refused);
    decision = 'cancel';
    expect(await here.call()).toMatchObject(refused);
    expect(place.issuer.counts.authorizations).toBe(0);
    decision = 'accept';
    expect((await here.call())['isError']).not.toBe(true);
    expect(here.pages).toHaveLength(3);
  });

  it('fails with the remedy for a client that cannot open pages', async () => {
    const place = await placeWith();
    for (const capabilities of [{}, { elicitation: { form: {} } }]) {
      const here = await join(place, era, () => 'accept', capabilities);
      expect(await here.call()).toMatchObject(refused);
      expect(here.pages).toEqual([]);
    }
    expect(place.issuer.seenAt('/register')).toEqual([]);
  });

  it('fails with the remedy where clients may belong to others', async () => {
    const place = await placeWith({ asksForLogins: false });
    const here = await join(place, era, consenting(place));
    expect(await here.call()).toMatchObject(refused);
    expect(here.pages).toEqual([]);
  });

  it('ends the login with the reason if the issuer refuses it', async () => {
    const place = await placeWith({ settings: { consent: 'deny' } });
    const here = await join(place, era, consenting(place));
    const { _meta: meta } = await here.call();
    expect(meta).toMatchObject({
      'mcp-troupe/error': {
        code: 'AUTH_REQUIRED',
        message: expect.stringContaining('access_denied'),
      },
    });
  });

  it('whose login has ended since asks as well, and runs once', async () => {
    const place = await placeWith();
    const here = await join(place, era, consenting(place));
    await here.call();
    place.issuer.book.revokeAll();
    expect((await here.call())['isError']).not.toBe(true);
    expect(here.pages).toHaveLength(2);
    expect(place.issuer.counts).toMatchObject({ codes: 2, calls: 2 });
  });

  it('is not sent again if it may have run', async () => {
    const place = await placeWith({ settings: { toolScopes: { write: ['write'] } } });
    const here = await join(place, era, consenting(place));
    expect((await here.call())['isError']).not.toBe(true);
    // A 403 does not prove that the server did nothing.
    expect(await here.call('db__write')).toMatchObject({
      _meta: { 'mcp-troupe/error': { code: 'AUTH_REQUIRED', outcome: 'unknown' } },
    });
    expect(here.pages).toHaveLength(1);
  });

  it('asks for a resource as well', async () => {
    const place = await placeWith();
    const here = await join(place, era, consenting(place));
    // The server has no such resource; the error is its own.
    const uri = 'troupe://db/file:///none';
    await expect(here.client.readResource({ uri })).rejects.not.toThrow('authRequired');
    expect(here.pages).toHaveLength(1);
    expect(place.troupe.status('db')).toMatchObject({ state: 'ready' });
  });
});

describe.each(eras)('the tool log_in (%s)', (era) => {
  const call = ({ client }: TestClient, args: Record<string, unknown>) =>
    client.callTool({ name: 'log_in', arguments: args });
  const list = async ({ client }: TestClient) =>
    (await client.listTools({}, { cacheMode: 'refresh' })).tools;

  it('starts the first login to a server that has no tools yet', async () => {
    const place = await placeWith();
    const here = await join(place, era, consenting(place));
    expect(await list(here)).toMatchObject([
      { name: 'log_in', inputSchema: { properties: { server: { enum: ['db', 'twin'] } } } },
    ]);
    expect(await call(here, { server: 'db' })).toMatchObject({
      content: [
        { text: expect.stringMatching(/^db requires no login now\. It is ready and has/u) },
      ],
    });
    expect(here.pages).toMatchObject([{ message: expect.stringContaining('db requires a login') }]);
    await place.troupe.waitFor('twin', 'ready', { timeoutMs: 10_000 });
    const names = (await list(here)).map(({ name }) => name);
    expect(names).toContain('db__echo');
    expect(names).not.toContain('log_in');
    expect(place.issuer.counts).toMatchObject({ authorizations: 1, codes: 1 });
  });

  it('fails with the remedy when the user declines, or for an unknown server', async () => {
    const place = await placeWith();
    const here = await join(place, era, () => 'decline');
    expect(await call(here, { server: 'db' })).toMatchObject(refused);
    const { content } = await call(here, { server: 'nobody' });
    expect(content).toMatchObject([{ text: expect.stringContaining('These do: db, twin') }]);
    expect(place.issuer.counts.authorizations).toBe(0);
  });

  it('is not listed for clients that cannot open pages or may belong to others', async () => {
    const place = await placeWith();
    const formsOnly = await join(place, era, () => 'accept', { elicitation: { form: {} } });
    expect(await list(formsOnly)).toEqual([]);
    expect(await call(formsOnly, { server: 'db' })).toMatchObject(refused);
    const open = await placeWith({ asksForLogins: false });
    const here = await join(open, era, consenting(open));
    expect(await list(here)).toEqual([]);
    await expect(call(here, { server: 'db' })).rejects.toMatchObject({ code: -32_602 });
  });
});

describe('calls that need one login', () => {
  it('ask their client once, and all go on', async () => {
    const place = await placeWith();
    const here = await join(place, 'legacy', consenting(place));
    const answers = await Promise.all(Array.from({ length: 5 }, () => here.call()));
    for (const answer of answers) expect(answer['isError']).not.toBe(true);
    expect(here.pages).toHaveLength(1);
    expect(place.issuer.counts).toMatchObject({ codes: 1, calls: 5 });
    expect(await here.completed).toBe(here.pages[0]?.elicitationId);
  });

  it.each(eras)('all fail when the user declines (%s)', async (era) => {
    const place = await placeWith();
    let wasAsked = 0;
    const pages = deferred();
    const count = era === 'legacy' ? 1 : 3;
    const here = await join(place, era, async () => {
      wasAsked += 1;
      if (wasAsked === count) pages.resolve();
      // The last page is declined, the others stay open.
      await pages.promise;
      return wasAsked === count ? 'decline' : 'cancel';
    });
    const answers = await Promise.all([here.call(), here.call(), here.call()]);
    for (const answer of answers) expect(answer).toMatchObject(refused);
    expect(here.pages).toHaveLength(count);
  });

  it('of two clients ask each of them, with one login', async () => {
    const place = await placeWith();
    const pages: URL[] = [];
    const both = deferred();
    const open = async (page: URL): Promise<Decision> => {
      pages.push(page);
      if (pages.length === 2) both.resolve();
      await both.promise;
      if (page === pages[0]) consenting(place)(page);
      return 'accept';
    };
    const [one, other] = [await join(place, 'legacy', open), await join(place, 'auto', open)];
    const answers = await Promise.all([one.call(), other.call('twin__echo')]);
    for (const answer of answers) expect(answer['isError']).not.toBe(true);
    expect(pages[0]?.href).toBe(pages[1]?.href);
    expect(place.issuer.counts).toMatchObject({ authorizations: 1, codes: 1, calls: 2 });
  });

  it('are cancelled each alone; the last one ends the login', async () => {
    const { issuer, troupe } = await placeWith();
    const logins = new GatewayLogins({ troupe, clock: realClock });
    const [one, two] = [new AbortController(), new AbortController()];
    const asked = deferred<URL>();
    const client = {};
    const [first, second] = [one, two].map(({ signal }) =>
      logins
        .around(
          'db',
          {
            client,
            signal,
            completed: () => {},
            ask: (question) => {
              asked.resolve(new URL(question.kind === 'url' ? question.url : ''));
              return Promise.resolve({ action: 'accept' });
            },
          },
          () => troupe.callServerTool('db', 'echo'),
        )
        .catch((error: unknown) => error),
    );
    const listener = new URL((await asked.promise).searchParams.get('redirect_uri') ?? '');
    one.abort();
    expect(await first).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect((await fetch(listener)).status).toBe(400);
    two.abort();
    expect(await second).toMatchObject({ code: 'CANCELLED' });
    await expect(fetch(listener)).rejects.toThrow('fetch failed');
    expect(issuer.counts).toMatchObject({ codes: 0, calls: 0 });
  });

  it('end the login when the only one is cancelled while its client is asked', async () => {
    const { url } = await placeWith();
    const session = await openSession(url, { elicitation: { url: {} } });
    const headers = { 'mcp-session-id': session };
    const call = async (id: number): Promise<URL> => {
      const params = { name: 'db__echo', arguments: {} };
      const answer = await post(url, { jsonrpc: '2.0', id, method: 'tools/call', params }, headers);
      for await (const chunk of answer.body ?? []) {
        const [, page] = /"url":"([^"]+)"/.exec(Buffer.from(chunk as Uint8Array).toString()) ?? [];
        if (page !== undefined) return new URL(page);
      }
      throw new Error('the client was not asked');
    };
    const first = await call(1);
    const params = { requestId: 1 };
    const method = 'notifications/cancelled';
    expect((await post(url, { jsonrpc: '2.0', method, params }, headers)).status).toBe(202);
    const second = await call(2);
    expect(second.searchParams.get('state')).not.toBe(first.searchParams.get('state'));
  });
});

describe('a server whose settings rule out a login', () => {
  it('is refused as before, without a question', async () => {
    const place = await placeWith({ entry: { oauth: false } });
    const here = await join(place, 'legacy', consenting(place));
    expect(await here.call()).toMatchObject({
      isError: true,
      _meta: { 'mcp-troupe/error': { code: 'AUTH_REQUIRED' } },
    });
    expect(here.pages).toEqual([]);
  });
});
