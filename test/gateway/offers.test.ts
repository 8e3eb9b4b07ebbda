import { describe, expect, it } from 'vitest';
import { createStore, known } from '../runtime/catalog/stored-catalogs.ts';
import type { Stage } from '../runtime/stage.ts';
import { pong, servers, tool } from '../runtime/stage.ts';
import { connect, gatewayStage, listen, openSession, post } from './gateway-stage.ts';

const note = { uri: 'note://all', name: 'notes', mimeType: 'text/plain' };
const template = { uriTemplate: 'note://{name}', name: 'note' };
const greet = {
  name: 'greet',
  description: 'Greets.',
  arguments: [{ name: 'who', required: true }],
};

function offering(...names: readonly string[]) {
  return (stage: Stage): void => {
    for (const server of names)
      stage.sessions
        .of(server)
        .offer({ resources: [note], resourceTemplates: [template], prompts: [greet] });
  };
}

describe.each(['auto', 'legacy'] as const)("the servers' items (%s)", (mode) => {
  it("are listed with their server's name", async () => {
    const stage = await gatewayStage({ prepare: offering('db', 'web') });
    const client = await connect(stage, mode);
    const { resources } = await client.listResources();
    expect(resources).toEqual([
      { ...note, uri: 'troupe://db/note://all' },
      { ...note, uri: 'troupe://web/note://all' },
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'troupe://db/note://{name}',
      'troupe://web/note://{name}',
    ]);
    const { prompts } = await client.listPrompts();
    expect(prompts).toEqual([
      { ...greet, name: 'db__greet' },
      { ...greet, name: 'web__greet' },
    ]);
  });

  it('are read from the server in their URI', async () => {
    const stage = await gatewayStage({ prepare: offering('db', 'web') });
    const client = await connect(stage, mode);
    const answer = client.readResource({ uri: 'troupe://web/note://Ada' });
    const asked = await stage.nextCall('web');
    expect(asked).toMatchObject({ tool: 'resources/read', args: { uri: 'note://Ada' } });
    expect(stage.sessions.of('web').calls).toHaveLength(1);
    asked.answer({ contents: [{ uri: 'note://Ada', text: 'About Ada.' }] });
    const { contents } = await answer;
    expect(contents).toEqual([{ uri: 'troupe://web/note://Ada', text: 'About Ada.' }]);
  });

  it('have URIs that clients can read wherever they appear', async () => {
    const stage = await gatewayStage({ prepare: offering('db') });
    const client = await connect(stage, mode);
    const blocks = (address: (uri: string) => string) => [
      { type: 'text', text: 'note://all' },
      { type: 'resource_link', uri: address('note://all'), name: 'notes' },
      { type: 'resource', resource: { uri: address('note://Ada'), text: 'About Ada.' } },
    ];
    const called = client.callTool({ name: 'db__query', arguments: {} });
    (await stage.nextCall('db')).answer({ content: blocks((uri) => uri) });
    expect((await called).content).toEqual(blocks((uri) => `troupe://db/${uri}`));
    const prompted = client.getPrompt({ name: 'db__greet', arguments: { who: 'Ada' } });
    const asked = await stage.nextCall('db');
    expect(asked.args).toEqual({ name: 'greet', arguments: { who: 'Ada' } });
    asked.answer({ messages: blocks((uri) => uri).map((content) => ({ role: 'user', content })) });
    const { messages } = await prompted;
    expect(messages.map(({ content }) => content)).toEqual(blocks((uri) => `troupe://db/${uri}`));
  });

  it('get completions from their server', async () => {
    const stage = await gatewayStage({ prepare: offering('db') });
    const client = await connect(stage, mode);
    for (const [ref, own] of [
      [{ type: 'ref/prompt', name: 'db__greet' } as const, { type: 'ref/prompt', name: 'greet' }],
      [
        { type: 'ref/resource', uri: 'troupe://db/note://{name}' } as const,
        { type: 'ref/resource', uri: 'note://{name}' },
      ],
    ] as const) {
      const argument = { name: 'who', value: 'A' };
      const answer = client.complete({ ref, argument });
      const asked = await stage.nextCall('db');
      expect(asked).toMatchObject({ tool: 'completion/complete', args: { ref: own, argument } });
      asked.answer({ completion: { values: ['Ada', 'Alan'] } });
      expect((await answer).completion.values).toEqual(['Ada', 'Alan']);
    }
  });

  it('are reported as unknown when their name contains no server', async () => {
    const stage = await gatewayStage({ prepare: offering('db') });
    const client = await connect(stage, mode);
    for (const uri of ['note://all', 'troupe://unknown/note://all', 'troupe://db']) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({
        code: -32_602,
        data: { code: 'SERVER_UNKNOWN' },
      });
    }
    await expect(client.getPrompt({ name: 'db' })).rejects.toMatchObject({ code: -32_602 });
  });

  it("keep the error code of their server's refusal", async () => {
    const stage = await gatewayStage({ prepare: offering('db') });
    const client = await connect(stage, mode);
    const answer = client.readResource({ uri: 'troupe://db/note://unknown' });
    const refused = expect(answer).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'SERVER_ERROR', server: 'db' },
    });
    (await stage.nextCall('db')).fail({
      reason: 'serverError',
      written: true,
      message: 'No such note',
      rpcCode: -32_602,
    });
    await refused;
  });

  it("fail with a code outside the protocol's range when their server is unavailable", async () => {
    const stage = await gatewayStage({ allow: ['web'] });
    const client = await connect(stage, mode);
    await expect(client.readResource({ uri: 'troupe://db/note://all' })).rejects.toMatchObject({
      code: 7,
      data: { code: 'NOT_ALLOWED', server: 'db' },
    });
  });
});

describe.each([undefined, 'db'])('in the first run, with --only %s', (only) => {
  const profile = {
    name: 'db',
    version: '1',
    capabilities: { tools: {}, prompts: {}, resources: {} },
  };
  const address = only === undefined ? `troupe://db/${note.uri}` : note.uri;
  const greeting = only === undefined ? 'db__greet' : 'greet';

  async function starting() {
    const stage = await gatewayStage({ ...(only !== undefined && { only }), obedient: ['web'] });
    const db = stage.sessions.of('db');
    return { ...stage, db, open: () => db.open({ profile, offers: ['resources', 'prompts'] }) };
  }

  it.each(['auto', 'legacy'] as const)(
    'a client gets instructions and all lists (%s)',
    async (mode) => {
      const stage = await starting();
      const connecting = connect(stage, mode);
      stage.open();
      await stage.settle();
      stage.db.list([tool('query')], { instructions: 'Read the notes first.' });
      const client = await connecting;
      expect(client.getInstructions()).toContain('Read the notes first.');
      const [resources, templates, prompts] = [
        client.listResources(),
        client.listResourceTemplates(),
        client.listPrompts(),
      ];
      // Lists of another kind do not wait for these.
      await client.listTools();
      stage.db.offer({ resources: [note], resourceTemplates: [template] });
      expect(await resources).toMatchObject({ resources: [{ uri: address }] });
      expect(await templates).toMatchObject({ resourceTemplates: [{ name: 'note' }] });
      stage.db.offer({ prompts: [greet] });
      expect(await prompts).toMatchObject({ prompts: [{ name: greeting }] });
    },
  );

  it('a server that sends no list delays a client until the deadline', async () => {
    const stage = await starting();
    stage.open();
    await stage.settle();
    const lists = (['tools', 'prompts'] as const).map((kind) => stage.gateway.firstLists(kind));
    const connecting = connect(stage);
    const isEarly = await Promise.race([...lists, connecting, stage.advance(4_999)]);
    expect(isEarly).toBeUndefined();
    await stage.advance(1);
    const client = await connecting;
    stage.db.list([tool('query')]);
    expect(await client.listPrompts()).toMatchObject({ prompts: [] });
    expect(await client.listResources()).toMatchObject({ resources: [] });
  });
});

describe('in a later run', () => {
  it('a server with a stored catalog delays no list', async () => {
    const { keepCatalogs } = createStore([known('db', 'query')]);
    const stage = await gatewayStage({ keepCatalogs, obedient: ['web'] });
    const client = await connect(stage);
    expect(await client.listPrompts()).toMatchObject({ prompts: [] });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'db__query',
      'web__query',
    ]);
  });

  it('a server whose stored catalog lacks prompts is awaited for them', async () => {
    const stored = known('db', 'query');
    const catalog = { ...stored.catalog, unlisted: ['prompts'] as const };
    const { keepCatalogs } = createStore([{ ...stored, catalog }]);
    const stage = await gatewayStage({ keepCatalogs, obedient: ['web'] });
    const client = await connect(stage);
    expect(await client.listResources()).toMatchObject({ resources: [] });
    const prompts = client.listPrompts();
    const db = stage.sessions.of('db');
    db.open({ offers: ['prompts'] });
    db.list([tool('query')]);
    db.offer({ prompts: [greet] });
    expect(await prompts).toMatchObject({ prompts: [{ name: 'db__greet' }] });
  });
});

describe('a watched resource', () => {
  it('notifies only clients that watch it', async () => {
    const stage = await gatewayStage({ prepare: offering('db') });
    const [one, other] = [await openSession(stage.url), await openSession(stage.url)];
    const [heard, overheard] = [await listen(stage.url, one), await listen(stage.url, other)];
    const uri = 'troupe://db/note://all';
    const ask = async (session: string, method: string): Promise<void> => {
      const message = { jsonrpc: '2.0', id: 5, method, params: { uri } };
      const response = await post(stage.url, message, { 'mcp-session-id': session });
      expect(await response.text()).toContain('"result":{}');
    };
    await ask(one, 'resources/subscribe');
    expect(stage.sessions.of('db').watched).toEqual(['note://all']);
    stage.sessions.of('db').update('note://all');
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/resources/updated', params: { uri } },
    });
    await ask(one, 'resources/unsubscribe');
    expect(stage.sessions.of('db').watched).toEqual([]);
    await ask(other, 'resources/subscribe');
    stage.sessions.of('db').update('note://all');
    expect(await overheard.next()).toMatchObject({
      value: { method: 'notifications/resources/updated', params: { uri } },
    });
    // Nothing came on the stream of the one who stopped: what comes next is something else.
    const next = heard.next();
    stage.sessions.of('db').offer({ resources: [], resourceTemplates: [], prompts: [] });
    await stage.settle();
    expect(await next).toMatchObject({ value: { method: expect.stringMatching(/list_changed$/) } });
  });

  it('is never announced for a hidden server, even with the same URI', async () => {
    const stage = await gatewayStage({ only: 'db', prepare: offering('db', 'web') });
    const session = await openSession(stage.url);
    const heard = await listen(stage.url, session);
    const params = { uri: 'note://all' };
    const message = { jsonrpc: '2.0', id: 5, method: 'resources/subscribe', params };
    await (await post(stage.url, message, { 'mcp-session-id': session })).text();
    stage.troupe.subscribe('web', 'note://all');
    let seen = 0;
    stage.troupe.on('resource.updated', () => {
      seen += 1;
    });
    stage.sessions.of('web').update('note://all');
    expect(seen).toBe(1);
    const next = heard.next();
    stage.sessions.of('db').offer({ resources: [], resourceTemplates: [], prompts: [] });
    await stage.settle();
    expect(await next).toMatchObject({ value: { method: expect.stringMatching(/list_changed$/) } });
  });

  it('notifies a modern client while its stream is open', async () => {
    const stage = await gatewayStage({ prepare: offering('db') });
    const uri = 'troupe://db/note://all';
    const ended = new Promise<void>((resolve) => {
      const subscribe = stage.troupe.subscribe.bind(stage.troupe);
      stage.troupe.subscribe = (server, own) => {
        const end = subscribe(server, own);
        return () => {
          end();
          resolve();
        };
      };
    });
    let tell: (heard: unknown) => void = () => undefined;
    const heard = new Promise((resolve) => {
      tell = resolve;
    });
    const client = await connect(stage, 'auto', (each) => {
      each.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params));
    });
    const listening = await client.listen({ resourceSubscriptions: [uri, 'note://nothing'] });
    expect(stage.sessions.of('db').watched).toEqual(['note://all']);
    stage.sessions.of('db').update('note://all');
    expect(await heard).toMatchObject({ uri });
    await listening.close();
    await ended;
    expect(stage.sessions.of('db').watched).toEqual([]);
  });
});

describe("a server's log lines", () => {
  it('are sent to clients with a call in progress and clients that requested them', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const quiet = await listen(stage.url, await openSession(stage.url));
    const asking = await openSession(stage.url);
    const asked = await listen(stage.url, asking);
    const level = {
      jsonrpc: '2.0',
      id: 2,
      method: 'logging/setLevel',
      params: { level: 'warning' },
    };
    await (await post(stage.url, level, { 'mcp-session-id': asking })).text();
    const message = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(stage.url, message, { 'mcp-session-id': session });
    const call = await stage.nextCall('db');
    stage.sessions.of('db').say({ level: 'info', data: 'working' });
    stage.sessions.of('db').say({ level: 'error', data: 'broken' });
    call.answer(pong);
    const text = await (await answer).text();
    expect(text).toContain('working');
    expect(text).toContain('broken');
    expect(await asked.next()).toMatchObject({
      value: { method: 'notifications/message', params: { level: 'error', data: 'broken' } },
    });
    const next = quiet.next();
    stage.sessions.of('db').list([]);
    await stage.settle();
    expect(await next).toMatchObject({ value: { method: 'notifications/tools/list_changed' } });
  });
});

describe('a single passed-through server', () => {
  const profile = {
    name: 'postgres',
    version: '3.1.0',
    title: 'Postgres',
    capabilities: { tools: {}, prompts: { listChanged: true } },
  };
  const through = () =>
    gatewayStage({
      only: 'db',
      obedient: [],
      settings: servers({ db: 'db', web: 'web' }),
      prepare: (stage) => {
        stage.sessions.of('db').open({ profile });
        stage.sessions.of('db').list([{ name: 'query', inputSchema: { type: 'object' } }]);
        stage.sessions.of('db').offer({ prompts: [greet] });
      },
    });

  it('keeps its own server info, capabilities and item names', async () => {
    const stage = await through();
    const client = await connect(stage, 'legacy');
    expect(client.getServerVersion()).toEqual({
      name: 'postgres',
      version: '3.1.0',
      title: 'Postgres',
    });
    expect(Object.keys(client.getServerCapabilities() ?? {}).sort()).toEqual(['prompts', 'tools']);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['query']);
    expect((await client.listPrompts()).prompts).toEqual([greet]);
    const answer = client.callTool({ name: 'query', arguments: {} });
    (await stage.nextCall('db')).answer(pong);
    expect(await answer).toMatchObject(pong);
  });

  it('hides the tools of other servers', async () => {
    const stage = await through();
    const client = await connect(stage);
    await expect(client.callTool({ name: 'web__query', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
  });
});
