import { describe, expect, it } from 'vitest';
import type { ListedPrompt, ListedResource } from '../../../src/domain/catalog.ts';
import type { TroupeError } from '../../../src/domain/troupe-error.ts';
import { EraStore } from '../../../src/runtime/catalog/store.ts';
import { callFailure, crash, pong, servers, setUp, stageOf, tool, watch } from '../stage.ts';
import { createStore, known } from './stored-catalogs.ts';

const resource = (uri: string): ListedResource => ({ uri, name: uri });
const prompt = (name: string): ListedPrompt => ({ name });

async function refusal(asked: Promise<unknown>): Promise<TroupeError> {
  return asked.then(
    () => {
      throw new Error('it was answered');
    },
    (error: TroupeError) => error,
  );
}

describe('stored catalogs', () => {
  it("show every server's tools before any server is connected", async () => {
    const store = createStore([known('db', 'query'), known('lazy', 'later')]);
    const stage = await stageOf({
      settings: servers({ db: 'srv', lazy: { command: 'srv', startup: 'lazy' }, web: 'srv' }),
      keepCatalogs: store.keepCatalogs,
      obedient: [],
    });
    expect(stage.stateOf('db')).toBe('connecting');
    expect(stage.troupe.tools().map(({ name, catalog }) => `${name} ${catalog}`)).toEqual([
      'mcp__db__query deferred',
      'mcp__lazy__later deferred',
    ]);
    const ready = watch(stage.troupe.ready());
    await stage.advance(250);
    expect(ready.value).toMatchObject({
      live: [],
      deferred: ['db', 'lazy'],
      pending: ['web'],
      failed: [],
      elapsedMs: 250,
    });
  });

  it("are replaced by the server's own list, with an event", async () => {
    const store = createStore([known('db', 'old')]);
    const stage = await stageOf({
      settings: servers({ db: 'srv' }),
      keepCatalogs: store.keepCatalogs,
      obedient: [],
    });
    await stage.advance(250);
    const changes: unknown[] = [];
    stage.troupe.on('tools.changed', (event) => changes.push(event));
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('new')]);
    await stage.settle();
    expect(stage.troupe.tools()).toMatchObject([{ name: 'mcp__db__new', catalog: 'live' }]);
    expect(changes).toEqual([{ servers: ['db'] }]);
    expect(store.saved.at(-1)).toMatchObject({
      server: 'db',
      catalog: { tools: [{ name: 'new' }] },
    });
  });

  it('allow a call to start a dormant server', async () => {
    const store = createStore([known('lazy', 'query')]);
    const stage = await stageOf({
      settings: servers({ lazy: { command: 'srv', startup: 'lazy' } }),
      keepCatalogs: store.keepCatalogs,
    });
    expect(stage.stateOf('lazy')).toBe('dormant');
    stage.sessions.onCall = (_script, call) => call.answer(pong);
    await expect(stage.troupe.callTool('mcp__lazy__query')).resolves.toMatchObject({
      result: pong,
    });
  });

  it('are ignored when empty', async () => {
    const store = createStore([known('db')]);
    const stage = await stageOf({
      settings: servers({ db: 'srv' }),
      keepCatalogs: store.keepCatalogs,
      obedient: [],
    });
    expect(stage.troupe.status('db')?.catalog).toBe('none');
  });

  it('delay the first pass by at most 100 ms', async () => {
    const store = createStore([known('db', 'query')]);
    store.hang();
    const stage = setUp({ settings: servers({ db: 'srv' }), keepCatalogs: store.keepCatalogs });
    await stage.advance(99);
    expect(stage.troupe.status('db')).toBeUndefined();
    await stage.advance(1);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('are loaded once, when a server is new', async () => {
    const store = createStore([known('web', 'get')]);
    const stage = await stageOf({
      settings: servers({ db: 'srv' }),
      keepCatalogs: store.keepCatalogs,
      obedient: ['db'],
    });
    await stage.apply(servers({ db: 'srv', web: { command: 'srv', startup: 'lazy' } }));
    expect(store.looks).toEqual([['db'], ['web']]);
    expect(stage.troupe.tools().map(({ name }) => name)).toContain('mcp__web__get');
  });

  it('are neither read nor written under the memory policy', async () => {
    const store = createStore([known('db', 'query')]);
    await stageOf({
      settings: servers({ db: 'srv' }, { policy: { catalog: { cache: 'memory' } } }),
      keepCatalogs: store.keepCatalogs,
    });
    expect(store.looks).toEqual([]);
    expect(store.saved).toEqual([]);
  });
});

describe("a lost server's catalog", () => {
  const lost = async (catalog: object) => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }, { policy: { catalog } }) });
    const changes: unknown[] = [];
    stage.troupe.on('tools.changed', (event) => changes.push(event));
    const shown = () => stage.troupe.tools().map(({ name, catalog: from }) => `${name} ${from}`);
    const before = shown().map((one) => one.split(' ')[0]);
    stage.obedient = new Set();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    return { stage, changes, shown, before };
  };

  it('stays listed as stale by default', async () => {
    const { shown, before, stage } = await lost({});
    expect(before.length).toBeGreaterThan(0);
    expect(shown()).toEqual(before.map((name) => `${name} stale`));
    expect(stage.troupe.status('db')).toMatchObject({ state: 'backingOff', catalog: 'stale' });
  });

  it('is hidden when the policy says so, with an event each time', async () => {
    const { stage, shown, before, changes } = await lost({ whileDown: 'hide' });
    expect(shown()).toEqual([]);
    expect(stage.troupe.status('db')).toMatchObject({ catalog: 'none', tools: 0 });
    expect(changes).toEqual([{ servers: ['db'] }]);
    stage.obedient = null;
    await stage.advance(60_000);
    expect(shown()).toEqual(before.map((name) => `${name} live`));
    expect(changes).toHaveLength(2);
  });

  it('shows the stored list when deferred', async () => {
    const { shown, before } = await lost({ whileDown: 'deferred' });
    expect(shown()).toEqual(before.map((name) => `${name} deferred`));
  });
});

describe('resources and prompts', () => {
  it('are listed by server, sorted, with an event when they change', async () => {
    const stage = await stageOf({ settings: servers({ web: 'srv', db: 'srv' }) });
    const changes: string[] = [];
    stage.troupe.on('resources.changed', ({ server }) => changes.push(`resources ${server}`));
    stage.troupe.on('prompts.changed', ({ server }) => changes.push(`prompts ${server}`));
    stage.sessions.of('web').offer({ resources: [resource('b:1')], prompts: [prompt('p')] });
    stage.sessions.of('db').offer({ resources: [resource('z:1'), resource('a:1')] });
    await stage.settle();
    expect(stage.troupe.resources().map(({ server, uri }) => `${server} ${uri}`)).toEqual([
      'db a:1',
      'db z:1',
      'web b:1',
    ]);
    expect(stage.troupe.prompts()).toEqual([{ name: 'p', server: 'web', catalog: 'live' }]);
    expect(stage.troupe.resourceTemplates()).toEqual([]);
    expect(changes).toEqual(['resources db', 'resources web', 'prompts web']);
    const before = stage.troupe.resources();
    stage.sessions.of('web').offer({ resources: [resource('b:1')] });
    await stage.settle();
    expect(stage.troupe.resources()).toBe(before);
    expect(changes).toHaveLength(3);
  });

  it('stay listed as stale while their server is lost and disappear with it', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    stage.sessions.of('db').offer({ prompts: [prompt('p')] });
    stage.obedient = new Set();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.troupe.prompts()).toMatchObject([{ name: 'p', catalog: 'stale' }]);
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    expect(stage.troupe.prompts()).toEqual([]);
  });

  it('are requested like calls', async () => {
    const stage = await stageOf({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const contents = [{ uri: 'a:1', text: 'hello' }];
    const asked: unknown[] = [];
    stage.sessions.onCall = (_script, call) => {
      asked.push([call.tool, call.args]);
      call.answer({ contents });
    };
    const report = await stage.troupe.readResource('db', 'a:1');
    expect(report).toEqual({
      result: { contents },
      meta: { server: 'db', attempts: 1, durationMs: 0 },
    });
    await stage.troupe.getPrompt('db', 'greet', { who: 'Ada' });
    const request = {
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'who', value: 'A' },
    } as const;
    await stage.troupe.complete('db', request);
    expect(asked).toEqual([
      ['resources/read', { uri: 'a:1' }],
      ['prompts/get', { name: 'greet', arguments: { who: 'Ada' } }],
      ['completion/complete', request],
    ]);
  });

  it('fail like calls and name the request', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    stage.sessions.onCall = (_script, call) =>
      call.fail(
        callFailure('unsupported', false, { message: 'The server does not offer prompts.' }),
      );
    const error = await refusal(stage.troupe.getPrompt('db', 'greet'));
    expect(error).toMatchObject({
      code: 'CAPABILITY_MISSING',
      server: 'db',
      retryable: false,
      outcome: 'not_executed',
      message: 'prompt greet on db: The server does not offer prompts. Ask a server that does.',
    });
    expect(error.tool).toBeUndefined();
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    expect(await refusal(stage.troupe.readResource('db', 'a:1'))).toMatchObject({
      code: 'STOPPED',
    });
    expect(await refusal(stage.troupe.readResource('none', 'a:1'))).toMatchObject({
      code: 'SERVER_UNKNOWN',
    });
  });
});

describe('watched resources', () => {
  it('are watched in every later session until unsubscribed', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const news: string[] = [];
    stage.troupe.on('resource.updated', ({ server, uri }) => news.push(`${server} ${uri}`));
    const end = stage.troupe.subscribe('db', 'a:1');
    const endToo = stage.troupe.subscribe('db', 'a:1');
    expect(stage.sessions.of('db').watched).toEqual(['a:1']);
    stage.sessions.of('db').update('a:1');
    expect(news).toEqual(['db a:1']);
    stage.troupe.send({ type: 'server.reconnect', server: 'db' });
    await stage.settle();
    expect(stage.sessions.of('db').input.session).toBe(2);
    expect(stage.sessions.of('db').watched).toEqual(['a:1']);
    end();
    end();
    expect(stage.sessions.of('db').watched).toEqual(['a:1']);
    endToo();
    expect(stage.sessions.of('db').watched).toEqual([]);
  });

  it('require a known server and are limited to 256 per server', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    expect(() => stage.troupe.subscribe('none', 'a:1')).toThrow(
      expect.objectContaining({ code: 'SERVER_UNKNOWN' }),
    );
    for (let count = 0; count < 256; count += 1) stage.troupe.subscribe('db', `a:${count}`);
    expect(() => stage.troupe.subscribe('db', 'a:256')).toThrow(
      expect.objectContaining({ code: 'OVERLOADED' }),
    );
    expect(() => stage.troupe.subscribe('db', 'a:1')).not.toThrow();
  });
});

describe("a server's era", () => {
  it('is remembered for a day across runs and forgotten when wrong', () => {
    let now = Date.parse('2026-11-01T00:00:00Z');
    const eras = new EraStore(() => now);
    eras.set('g1', { kind: 'legacy' });
    eras.restore('g1', { verdict: { kind: 'legacy' }, at: 0 });
    eras.restore('g2', { verdict: { kind: 'legacy' }, at: now + 1 });
    expect(eras.get('g2')).toBeUndefined();
    now += 86_400_000 - 1;
    expect(eras.get('g1')).toEqual({ kind: 'legacy' });
    now += 1;
    expect(eras.get('g1')).toBeUndefined();
    eras.set('g1', { kind: 'legacy' });
    eras.forget('g1');
    expect(eras.get('g1')).toBeUndefined();
  });
});

describe("all servers' tools", () => {
  it('are limited to ten thousand, and the log names the omitted ones', async () => {
    const names = Array.from({ length: 11 }, (_, index) => `s${String(index).padStart(2, '0')}`);
    const stage = await stageOf({
      settings: servers(Object.fromEntries(names.map((name) => [name, 'srv']))),
      obedient: [],
    });
    const lines: string[] = [];
    stage.troupe.on('server.log', ({ server, line }) => lines.push(`${server}: ${line}`));
    await stage.advance(10_000);
    const thousand = Array.from({ length: 1_000 }, (_, index) => tool(`t${index}`));
    for (const script of stage.sessions.scripts.toReversed()) {
      if (script.state !== 'opening') continue;
      script.open();
      script.list(thousand);
      await stage.settle();
    }
    expect(stage.troupe.tools()).toHaveLength(10_000);
    expect(stage.troupe.tools().some(({ server }) => server === 's10')).toBe(false);
    expect(
      lines.filter((line) => line.includes('only 0 of its 1000 tools are shown')),
    ).toHaveLength(1);
  });
});
