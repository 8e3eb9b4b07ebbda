import { afterEach, describe, expect, it } from 'vitest';
import type {
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
} from '../../../src/domain/host/inspection.ts';
import { TroupeError } from '../../../src/domain/troupe-error.ts';
import type { Inspected } from '../../../visualizations/server/inspector-api.ts';
import {
  type InspectorOptions,
  type InspectorServer,
  startInspector,
} from '../../../visualizations/server/inspector-server.ts';
import { possibleActs } from '../../../visualizations/server/possible-acts.ts';
import { crowd } from '../../fixtures/crowd.ts';
import { type Stage, servers, stageOf } from '../../runtime/stage.ts';
import { Browser, enter, knock } from './browser.ts';

const open: InspectorServer[] = [];
afterEach(() => {
  for (const inspector of open.splice(0)) inspector.close();
});

async function start(inspected: Inspected, options?: InspectorOptions): Promise<InspectorServer> {
  const inspector = await startInspector(inspected, options);
  open.push(inspector);
  return inspector;
}

async function recorded(
  record: { readonly records?: number } | true = true,
): Promise<{ readonly stage: Stage; readonly inspected: Inspected }> {
  const stage = await stageOf({ settings: servers({ db: 'srv', api: 'srv' }), record });
  return { stage, inspected: { source: stage.troupe.inspection, mode: 'live', title: '/project' } };
}

describe('access to the inspector', () => {
  it("exchanges a link's token for a secret only once", async () => {
    const { inspected } = await recorded();
    const inspector = await start(inspected);
    const address = inspector.newAddress();
    const { hostname, pathname, search, hash } = new URL(address);
    // Behind the `#`: no browser sends it to anybody by itself.
    expect([hostname, pathname, search]).toEqual(['127.0.0.1', '/', '']);
    expect(hash).toMatch(/^#token=[\w-]{43}$/u);
    const first = await enter(address);
    expect(first).toMatchObject({ status: 200, headers: { connection: 'close' } });
    const { secret } = JSON.parse(first.body) as { readonly secret: string };
    expect(secret).toMatch(/^[\w-]{43}$/u);
    expect(hash).not.toContain(secret);
    expect(await enter(address)).toMatchObject({ status: 401 });
    const inside = { headers: { authorization: `Bearer ${secret}` } };
    expect(await knock(inspector.port, '/api/session', inside)).toMatchObject({ status: 200 });
  });

  it('sets and accepts no cookies', async () => {
    const { inspected } = await recorded();
    const inspector = await start(inspected);
    const entered = await enter(inspector.newAddress());
    const page = await knock(inspector.port, '/');
    for (const { headers } of [entered, page]) expect(headers['set-cookie']).toBeUndefined();
    const { secret } = JSON.parse(entered.body) as { readonly secret: string };
    const cookie = `mcp-troupe-inspector-${inspector.port}=${secret}`;
    const headers = { cookie, origin: `http://127.0.0.1:${inspector.port}` };
    const forged = { method: 'POST', headers, body: '{"command":"approvals"}' };
    expect(await knock(inspector.port, '/api/command', forged)).toMatchObject({ status: 401 });
    expect(await knock(inspector.port, '/api/session', { headers })).toMatchObject({ status: 401 });
  });

  it.each(['/api/session', '/api/stream', '/api/journal', '/api/picture', '/api/nothing'])(
    'refuses %s without the secret or with a wrong one',
    async (path) => {
      const { inspected } = await recorded();
      const inspector = await start(inspected);
      const token = inspector.newAddress().split('=')[1] ?? '';
      for (const given of [undefined, 'x'.repeat(43), token]) {
        const headers = given === undefined ? {} : { authorization: `Bearer ${given}` };
        const said = await knock(inspector.port, path, { headers });
        expect(said).toMatchObject({ status: 401, headers: { connection: 'close' } });
        expect(said.body).toContain('troupe inspect');
      }
    },
  );

  it('reports once that a link was used, displaced by newer links or closed with the inspector', async () => {
    const { inspected } = await recorded();
    const inspector = await startInspector(inspected);
    const spent: string[] = [];
    const [used, pushedOut] = [inspector.newAddress(), inspector.newAddress()];
    inspector.whenSpent(used, () => spent.push('used'));
    inspector.whenSpent(pushedOut, () => spent.push('pushed out'));
    await enter(used);
    expect(spent).toEqual(['used']);
    for (let count = 0; count < 16; count += 1) inspector.newAddress();
    expect(spent).toEqual(['used', 'pushed out']);
    inspector.whenSpent(inspector.newAddress(), () => spent.push('closed'));
    inspector.whenSpent(used, () => spent.push('at once'));
    inspector.close();
    expect(spent).toEqual(['used', 'pushed out', 'at once', 'closed']);
  });

  it.each([
    ['a host name rebound to our address', { host: 'evil.example:PORT' }],
    ['a name without a port', { host: '127.0.0.1' }],
    ['another port', { host: '127.0.0.1:1' }],
    ['another origin', { origin: 'http://evil.example' }],
    ['another port on this machine', { origin: 'http://127.0.0.1:1' }],
    ['no origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port on the same site', { 'sec-fetch-site': 'same-site' }],
  ])('refuses %s even with the right secret', async (_, headers) => {
    const { inspected } = await recorded();
    const inspector = await start(inspected);
    const browser = await Browser.of(inspector);
    const { port } = inspector;
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', `${port}`)]),
    );
    for (const path of ['/', '/api/session', '/nothing']) {
      expect(await browser.get(path, sent)).toMatchObject({ status: 403 });
    }
    const address = inspector.newAddress();
    expect(await enter(address, sent)).toMatchObject({ status: 403 });
    // The refused request did not spend it.
    expect(await enter(address)).toMatchObject({ status: 200 });
  });

  it('opens the page from another site or a local file but never in a frame', async () => {
    const { inspected } = await recorded();
    const inspector = await start(inspected);
    const { port } = inspector;
    const opened = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect(await knock(port, '/', { headers: opened })).toMatchObject({
      status: 200,
      headers: { 'x-frame-options': 'DENY' },
    });
    const framed = { ...opened, 'sec-fetch-dest': 'iframe' };
    expect(await knock(port, '/', { headers: framed })).toMatchObject({ status: 403 });
    const { authorization } = await Browser.of(inspector);
    const asked = { ...opened, authorization };
    expect(await knock(port, '/api/session', { headers: asked })).toMatchObject({ status: 403 });
  });

  it('accepts commands only from its own page', async () => {
    const { inspected } = await recorded();
    const inspector = await start({ ...inspected, command: () => Promise.resolve('done') });
    const browser = await Browser.of(inspector);
    const body = '{"command":"plan"}';
    expect(await browser.post('/api/command', body)).toMatchObject({
      status: 200,
      body: '{"result":"done"}',
    });
    const withoutOrigin = await knock(inspector.port, '/api/command', {
      method: 'POST',
      body,
      headers: { authorization: browser.authorization, 'content-type': 'application/json' },
    });
    expect(withoutOrigin.status).toBe(403);
    const stranger = { origin: 'http://evil.example' };
    expect(await browser.post('/api/command', body, stranger)).toMatchObject({ status: 403 });
    const asForm = { 'content-type': 'text/plain' };
    expect(await browser.post('/api/command', body, asForm)).toMatchObject({ status: 415 });
  });

  it('sends the security headers with every response, including refusals', async () => {
    const { inspected } = await recorded();
    const inspector = await start(inspected);
    const browser = await Browser.of(inspector);
    const answers = [
      await browser.get('/'),
      await browser.get('/api/session'),
      await browser.get('/api/journal'),
      await browser.get('/nothing'),
      await knock(inspector.port, '/api/session'),
      await knock(inspector.port, '/', { headers: { host: 'evil.example' } }),
      await enter(inspector.newAddress()),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 401, 403, 200]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; script-src 'self'; /,
        ),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      expect(headers['content-security-policy']).not.toContain('unsafe');
    }
  });

  it.each([
    '/../package.json',
    '/assets/../../package.json',
    '/%2e%2e/package.json',
    '/..%2fpackage.json',
    '//etc/passwd',
    '/assets/',
    '/index.html/../../../etc/passwd',
  ])('serves no file at %s', async (path) => {
    const { inspected } = await recorded();
    const browser = await Browser.of(await start(inspected));
    expect(await browser.get(path)).toMatchObject({ status: 404 });
  });

  it('serves its page while many clients leave requests unfinished', async () => {
    const { inspected } = await recorded();
    const inspector = await start(inspected);
    const browser = await Browser.of(inspector);
    const { port } = inspector;
    await crowd(
      { host: '127.0.0.1', port },
      600,
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-`,
    );
    expect(await browser.get('/api/session')).toMatchObject({ status: 200 });
    const stream = await browser.stream();
    await crowd({ host: '127.0.0.1', port }, 200, '');
    expect(stream.status).toBe(200);
    expect(await browser.get('/api/session')).toMatchObject({ status: 200 });
    stream.close();
  });

  it('reports which port is unavailable', async () => {
    const { inspected } = await recorded();
    const { port } = await start(inspected);
    await expect(startInspector(inspected, { port })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(`port ${port} is in use`),
    });
  });
});

describe("a page's request", () => {
  it('is answered from the records', async () => {
    const { stage, inspected } = await recorded();
    const browser = await Browser.of(await start(inspected));
    const { inspection } = stage.troupe;
    expect(await browser.document('/api/session')).toMatchObject({
      mode: 'live',
      title: '/project',
      first: 1,
      last: inspection.last,
      sameCharts: true,
    });
    const picture = (await browser.document('/api/picture')) as InspectionPicture;
    expect(picture.servers).toMatchObject([
      { name: 'api', state: 'ready' },
      { name: 'db', state: 'ready' },
    ]);
    const earlier = (await browser.document('/api/picture?at=1')) as InspectionPicture;
    expect(earlier).toMatchObject({ n: 1, servers: [] });
    const { records, next } = (await browser.document('/api/records?from=3&limit=2')) as {
      readonly records: readonly InspectionRecord[];
      readonly next: number;
    };
    expect(records.map(({ n }) => n)).toEqual([3, 4]);
    expect(next).toBe(5);
    expect(await browser.document(`/api/records?from=${inspection.last}`)).toMatchObject({
      records: [{ n: inspection.last }],
      next: null,
    });
    const db = picture.actors.find(({ id }) => id === 'db.0');
    expect(await browser.document(`/api/actors/${db?.actor ?? ''}/context`)).toMatchObject({
      context: { name: 'db', session: 1 },
      n: inspection.last,
    });
  });

  it('gets an error for a moment that was removed or never existed', async () => {
    const { inspected } = await recorded({ records: 10 });
    const browser = await Browser.of(await start(inspected));
    expect(await browser.get('/api/picture?at=1')).toMatchObject({
      status: 410,
      body: expect.stringContaining('the state after record 1 is not kept'),
    });
    expect(await browser.get('/api/actors/unknown/context')).toMatchObject({ status: 404 });
    expect(await browser.get('/api/servers/unknown/acts')).toMatchObject({ status: 200 });
    expect(await browser.get('/api/session/more')).toMatchObject({ status: 404 });
  });

  it("lists a server's available actions and the reasons against the others", async () => {
    const { stage, inspected } = await recorded();
    const { troupe } = stage;
    const acts = (server: string) => possibleActs(troupe, server);
    const browser = await Browser.of(await start({ ...inspected, acts }));
    const ready = (await browser.document('/api/servers/db/acts')) as { acts: unknown[] };
    expect(ready.acts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          act: 'server.start',
          accepted: false,
          reason: expect.stringContaining('db is ready'),
        }),
        { act: 'server.stop', accepted: true, to: 'stopping' },
        { act: 'server.restart', accepted: true, to: 'stopping' },
        expect.objectContaining({ act: 'approve', accepted: false }),
      ]),
    );
    troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    const stopped = (await browser.document('/api/servers/db/acts')) as { acts: unknown[] };
    expect(stopped.acts).toEqual(
      expect.arrayContaining([
        { act: 'server.start', accepted: true, to: 'queued' },
        expect.objectContaining({ act: 'server.stop', accepted: false }),
      ]),
    );
    expect(await browser.get('/api/servers/unknown/acts')).toMatchObject({ status: 404 });
  });

  it('runs a command or gets an error document', async () => {
    const { inspected } = await recorded();
    const seen: unknown[] = [];
    const command: Inspected['command'] = (name, args) => {
      seen.push([name, args]);
      if (name === 'stop')
        throw new TroupeError('SERVER_UNKNOWN', 'there is no such server; see troupe status');
      return Promise.resolve({ ok: true });
    };
    const browser = await Browser.of(await start({ ...inspected, command }));
    const done = await browser.post('/api/command', '{"command":"plan","args":{"a":1}}');
    expect(JSON.parse(done.body)).toEqual({ result: { ok: true } });
    const failed = await browser.post('/api/command', '{"command":"stop"}');
    expect(failed.status).toBe(200);
    expect(JSON.parse(failed.body)).toMatchObject({ error: { code: 'SERVER_UNKNOWN' } });
    expect(seen).toEqual([
      ['plan', { a: 1 }],
      ['stop', {}],
    ]);
    expect(await browser.post('/api/command', '{"command":')).toMatchObject({ status: 400 });
    expect(await browser.post('/api/command', '[]')).toMatchObject({ status: 400 });
    const big = `{"command":"plan","args":{"a":"${'x'.repeat(1_048_576)}"}}`;
    expect(await browser.post('/api/command', big)).toMatchObject({ status: 413 });
    const inPieces = { 'transfer-encoding': 'chunked' };
    expect(await browser.post('/api/command', big, inPieces)).toMatchObject({ status: 413 });
    expect(seen).toHaveLength(2);
  });

  it('is refused when a page sends commands faster than a user can', async () => {
    const { inspected } = await recorded();
    let now = 0;
    const command = () => Promise.resolve(null);
    const inspector = await start({ ...inspected, command }, { now: () => now });
    const browser = await Browser.of(inspector);
    const post = async () => (await browser.post('/api/command', '{"command":"plan"}')).status;
    for (let count = 0; count < 20; count += 1) expect(await post()).toBe(200);
    expect(await post()).toBe(429);
    const other = await Browser.of(inspector);
    expect(await other.post('/api/command', '{"command":"plan"}')).toMatchObject({ status: 200 });
    now = 100;
    expect([await post(), await post(), await post()]).toEqual([200, 200, 429]);
  });

  it('cannot run commands in a replay', async () => {
    const { stage } = await recorded();
    const inspected = {
      source: stage.troupe.inspection,
      mode: 'replay',
      title: 'a.ndjson',
    } as const;
    const browser = await Browser.of(await start(inspected));
    expect(await browser.post('/api/command', '{"command":"plan"}')).toMatchObject({ status: 409 });
    expect(await browser.get('/api/stream')).toMatchObject({ status: 204 });
    expect(await browser.document('/api/servers/db/acts')).toEqual({ acts: [] });
  });
});

describe('the record stream', () => {
  it('sends new records immediately', async () => {
    const { stage, inspected } = await recorded();
    const { inspection } = stage.troupe;
    const browser = await Browser.of(await start(inspected));
    const before = inspection.last;
    const stream = await browser.stream();
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    const records = await stream.upTo(inspection.last);
    expect(records).toEqual(inspection.records(before + 1, 10_000));
    expect(records.length).toBeGreaterThan(5);
    stream.close();
  });

  it('resumes where a page lost its connection', async () => {
    const { stage, inspected } = await recorded();
    const { inspection } = stage.troupe;
    const browser = await Browser.of(await start(inspected));
    const stream = await browser.stream('/api/stream', { 'last-event-id': '7' });
    const records = await stream.upTo(inspection.last);
    expect(records).toEqual(inspection.records(8, 10_000));
    stream.close();
    const fromStart = await browser.stream('/api/stream?from=1');
    expect(await fromStart.upTo(inspection.last)).toEqual(inspection.records(1, 10_000));
    fromStart.close();
  });

  it('reports the number of missed records and a new run', async () => {
    const { stage, inspected } = await recorded({ records: 20 });
    const { inspection } = stage.troupe;
    const browser = await Browser.of(await start(inspected));
    const stream = await browser.stream('/api/stream', { 'last-event-id': '3' });
    const count = inspection.first - 4;
    expect(count).toBeGreaterThan(0);
    expect(await stream.next()).toMatchObject({ event: 'gap', data: JSON.stringify({ count }) });
    expect(await stream.upTo(inspection.last)).toHaveLength(20);
    stream.close();
    const stranger = await browser.stream('/api/stream', { 'last-event-id': '999999' });
    expect(await stranger.next()).toMatchObject({ event: 'gap', id: `${inspection.last}` });
    stranger.close();
  });

  it('skips records for a slow reader instead of buffering them', async () => {
    const source = new FloodSource(100);
    const inspected: Inspected = { source, mode: 'live', title: '' };
    const browser = await Browser.of(await start(inspected));
    const stream = await browser.stream();
    // Far more than the sockets hold while the browser does not read.
    for (let round = 0; round < 50; round += 1) {
      source.flood(100);
      await new Promise(setImmediate);
    }
    expect(source.rendered).toBeLessThan(2_000);
    let last = 0;
    let missed = 0;
    while (last < source.last) {
      const event = await stream.next();
      if (event?.event === 'gap')
        missed += (JSON.parse(event.data ?? '') as { count: number }).count;
      last = Number(event?.id);
    }
    expect(missed).toBeGreaterThan(1_000);
    stream.close();
  });

  it('is limited to 16 windows', async () => {
    const { inspected } = await recorded();
    const browser = await Browser.of(await start(inspected));
    const streams = [];
    for (let count = 0; count < 16; count += 1) streams.push(await browser.stream());
    expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
    expect(await browser.get('/api/stream')).toMatchObject({ status: 429 });
    for (const stream of streams) stream.close();
  });
});

/** Records of 50 kB each, of which the newest are kept. */
class FloodSource implements InspectionSource {
  readonly startedAt = new Date(0).toISOString();
  readonly clockStart = 0;
  readonly version = '0.0.0';
  readonly machines = {
    troupe: '',
    server: '',
    session: '',
    refresh: '',
    handover: '',
    slots: '',
    authorization: '',
  };
  last = 0;
  rendered = 0;
  readonly #kept: number;
  readonly #followers = new Set<() => void>();

  constructor(kept: number) {
    this.#kept = kept;
  }

  get first(): number {
    return Math.max(1, this.last - this.#kept + 1);
  }

  flood(count: number): void {
    this.last += count;
    for (const follower of this.#followers) follower();
  }

  records(from: number, limit: number): readonly InspectionRecord[] {
    const count = Math.min(limit, this.last - from + 1);
    this.rendered += count;
    const type = 'x'.repeat(50_000);
    return Array.from({ length: count }, (_, index) => ({
      kind: 'ignored',
      n: from + index,
      t: 0,
      actor: 'x:0',
      type,
    }));
  }

  picture(): undefined {
    return undefined;
  }

  context(): undefined {
    return undefined;
  }

  follow(onMore: () => void): () => void {
    this.#followers.add(onMore);
    return () => this.#followers.delete(onMore);
  }
}
