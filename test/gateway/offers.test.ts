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
  return (there: Stage): void => {
    for (const server of names)
      there.sessions
        .of(server)
        .offer({ resources: [note], resourceTemplates: [template], prompts: [greet] });
  };
}

describe.each(['auto', 'legacy'] as const)("the servers' items (%s)", (mode) => {
  it("are listed with their server's name", async () => {
    const there = await gatewayStage({ prepare: offering('db', 'web') });
    const client = await connect(there, mode);
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
    const there = await gatewayStage({ prepare: offering('db', 'web') });
    const client = await connect(there, mode);
    const answer = client.readResource({ uri: 'troupe://web/note://Ada' });
    const asked = await there.nextCall('web');
    expect(asked).toMatchObject({ tool: 'resources/read', args: { uri: 'note://Ada' } });
    expect(there.sessions.of('web').calls).toHaveLength(1);
    asked.answer({ contents: [{ uri: 'note://Ada', text: 'About Ada.' }] });
    const { contents } = await answer;
    expect(contents).toEqual([{ uri: 'troupe://web/note://Ada', text: 'About Ada.' }]);
  });

  it('have URIs that clients can read wherever they appear', async () => {
    const there = await gatewayStage({ prepare: offering('db') });
    const client = await connect(there, mode);
    const blocks = (address: (uri: string) => string) => [
      { type: 'text', text: 'note://all' },
      { type: 'resource_link', uri: address('note://all'), name: 'notes' },
      { type: 'resource', resource: { uri: address('note://Ada'), text: 'About Ada.' } },
    ];
    const called = client.callTool({ name: 'db__query', arguments: {} });
    (await there.nextCall('db')).answer({ content: blocks((uri) => uri) });
    expect((await called).content).toEqual(blocks((uri) => `troupe://db/${uri}`));
    const prompted = client.getPrompt({ name: 'db__greet', arguments: { who: 'Ada' } });
    const asked = await there.nextCall('db');
    expect(asked.args).toEqual({ name: 'greet', arguments: { who: 'Ada' } });
    asked.answer({ messages: blocks((uri) => uri).map((content) => ({ role: 'user', content })) });
    const { messages } = await prompted;
    expect(messages.map(({ content }) => content)).toEqual(blocks((uri) => `troupe://db/${uri}`));
  });

  it('get completions from their server', async () => {
    const there = await gatewayStage({ prepare: offering('db') });
    const client = await connect(there, mode);
    for (const [ref, own] of [
      [{ type: 'ref/prompt', name: 'db__greet' } as const, { type: 'ref/prompt', name: 'greet' }],
      [
        { type: 'ref/resource', uri: 'troupe://db/note://{name}' } as const,
        { type: 'ref/resource', uri: 'note://{name}' },
      ],
    ] as const) {
      const argument = { name: 'who', value: 'A' };
      const answer = client.complete({ ref, argument });
      const asked = await there.nextCall('db');
      expect(asked).toMatchObject({ tool: 'completion/complete', args: { ref: own, argument } });
      asked.answer({ completion: { values: ['Ada', 'Alan'] } });
      expect((await answer).completion.values).toEqual(['Ada', 'Alan']);
    }
  });

  it('are reported as unknown when their name contains no server', async () => {
    const there = await gatewayStage({ prepare: offering('db') });
    const client = await connect(there, mode);
    for (const uri of ['note://all', 'troupe://unknown/note://all', 'troupe://db']) {
      await expect(client.readResource({ uri })).rejects.toMatchObject({
        code: -32_602,
        data: { code: 'SERVER_UNKNOWN' },
      });
    }
    await expect(client.getPrompt({ name: 'db' })).rejects.toMatchObject({ code: -32_602 });
  });

  it("keep the error code of their server's refusal", async () => {
    const there = await gatewayStage({ prepare: offering('db') });
    const client = await connect(there, mode);
    const answer = client.readResource({ uri: 'troupe://db/note://unknown' });
    const refused = expect(answer).rejects.toMatchObject({
      code: -32_602,
      data: { code: 'SERVER_ERROR', server: 'db' },
    });
    (await there.nextCall('db')).fail({
      reason: 'serverError',
      written: true,
      message: 'No such note',
      rpcCode: -32_602,
    });
    await refused;
  });

  it("fail with a code outside the protocol's range when their server is unavailable", async () => {
    const there = await gatewayStage({ allow: ['web'] });
    const client = await connect(there, mode);
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
    const there = await gatewayStage({ ...(only !== undefined && { only }), obedient: ['web'] });
    const db = there.sessions.of('db');
    return { ...there, db, open: () => db.open({ profile, offers: ['resources', 'prompts'] }) };
  }

  it.each(['auto', 'legacy'] as const)(
    'a client gets instructions and all lists (%s)',
    async (mode) => {
      const there = await starting();
      const connecting = connect(there, mode);
      there.open();
      await there.settle();
      there.db.list([tool('query')], { instructions: 'Read the notes first.' });
      const client = await connecting;
      expect(client.getInstructions()).toContain('Read the notes first.');
      const [resources, templates, prompts] = [
        client.listResources(),
        client.listResourceTemplates(),
        client.listPrompts(),
      ];
      // Lists of another kind do not wait for these.
      await client.listTools();
      there.db.offer({ resources: [note], resourceTemplates: [template] });
      expect(await resources).toMatchObject({ resources: [{ uri: address }] });
      expect(await templates).toMatchObject({ resourceTemplates: [{ name: 'note' }] });
      there.db.offer({ prompts: [greet] });
      expect(await prompts).toMatchObject({ prompts: [{ name: greeting }] });
    },
  );

  it('a server that sends no list delays a client until the deadline', async () => {
    const there = await starting();
    there.open();
    await there.settle();
    const lists = (['tools', 'prompts'] as const).map((kind) => there.gateway.firstLists(kind));
    const connecting = connect(there);
    const isEarly = await Promise.race([...lists, connecting, there.advance(4_999)]);
    expect(isEarly).toBeUndefined();
    await there.advance(1);
    const client = await connecting;
    there.db.list([tool('query')]);
    expect(await client.listPrompts()).toMatchObject({ prompts: [] });
    expect(await client.listResources()).toMatchObject({ resources: [] });
  });
});

describe('in a later run', () => {
  it('a server with a stored catalog delays no list', async () => {
    const { keepCatalogs } = createStore([known('db', 'query')]);
    const there = await gatewayStage({ keepCatalogs, obedient: ['web'] });
    const client = await connect(there);
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
    const there = await gatewayStage({ keepCatalogs, obedient: ['web'] });
    const client = await connect(there);
    expect(await client.listResources()).toMatchObject({ resources: [] });
    const prompts = client.listPrompts();
    const db = there.sessions.of('db');
    db.open({ offers: ['prompts'] });
    db.list([tool('query')]);
    db.offer({ prompts: [greet] });
    expect(await prompts).toMatchObject({ prompts: [{ name: 'db__greet' }] });
  });
});

describe('a watched resource', () => {
  it('notifies only clients that watch it', async () => {
    const there = await gatewayStage({ prepare: offering('db') });
    const [one, other] = [await openSession(there.url), await openSession(there.url)];
    const [heard, overheard] = [await listen(there.url, one), await listen(there.url, other)];
    const uri = 'troupe://db/note://all';
    const ask = async (session: string, method: string): Promise<void> => {
      const message = { jsonrpc: '2.0', id: 5, method, params: { uri } };
      const response = await post(there.url, message, { 'mcp-session-id': session });
      expect(await response.text()).toContain('"result":{}');
    };
    await ask(one, 'resources/subscribe');
    expect(there.sessions.of('db').watched).toEqual(['note://all']);
    there.sessions.of('db').update('note://all');
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/resources/updated', params: { uri } },
    });
    await ask(one, 'resources/unsubscribe');
    expect(there.sessions.of('db').watched).toEqual([]);
    await ask(other, 'resources/subscribe');
    there.sessions.of('db').update('note://all');
    expect(await overheard.next()).toMatchObject({
      value: { method: 'notifications/resources/updated', params: { uri } },
    });
    // Nothing came on the stream of the one who stopped: what comes next is something else.
    const next = heard.next();
    there.sessions.of('db').offer({ resources: [], resourceTemplates: [], prompts: [] });
    await there.settle();
    expect(await next).toMatchObject({ value: { method: expect.stringMatching(/list_changed$/) } });
  });

  it('is never announced for a hidden server, even with the same URI', async () => {
    const there = await gatewayStage({ only: 'db', prepare: offering('db', 'web') });
    const session = await openSession(there.url);
    const heard = await listen(there.url, session);
    const params = { uri: 'note://all' };
    const message = { jsonrpc: '2.0', id: 5, method: 'resources/subscribe', params };
    await (await post(there.url, message, { 'mcp-session-id': session })).text();
    there.troupe.subscribe('web', 'note://all');
    let seen = 0;
    there.troupe.on('resource.updated', () => {
      seen += 1;
    });
    there.sessions.of('web').update('note://all');
    expect(seen).toBe(1);
    const next = heard.next();
    there.sessions.of('db').offer({ resources: [], resourceTemplates: [], prompts: [] });
    await there.settle();
    expect(await next).toMatchObject({ value: { method: expect.stringMatching(/list_changed$/) } });
  });

  it('notifies a modern client while its stream is open', async () => {
    const there = await gatewayStage({ prepare: offering('db') });
    const uri = 'troupe://db/note://all';
    const ended = new Promise<void>((resolve) => {
      const subscribe = there.troupe.subscribe.bind(there.troupe);
      there.troupe.subscribe = (server, own) => {
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
    const client = await connect(there, 'auto', (each) => {
      each.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params));
    });
    const listening = await client.listen({ resourceSubscriptions: [uri, 'note://nothing'] });
    expect(there.sessions.of('db').watched).toEqual(['note://all']);
    there.sessions.of('db').update('note://all');
    expect(await heard).toMatchObject({ uri });
    await listening.close();
    await ended;
    expect(there.sessions.of('db').watched).toEqual([]);
  });
});

describe("a server's log lines", () => {
  it('are sent to clients with a call in progress and clients that requested them', async () => {
    const there = await gatewayStage();
    const session = await openSession(there.url);
    const quiet = await listen(there.url, await openSession(there.url));
    const asking = await openSession(there.url);
    const asked = await listen(there.url, asking);
    const level = {
      jsonrpc: '2.0',
      id: 2,
      method: 'logging/setLevel',
      params: { level: 'warning' },
    };
    await (await post(there.url, level, { 'mcp-session-id': asking })).text();
    const message = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(there.url, message, { 'mcp-session-id': session });
    const call = await there.nextCall('db');
    there.sessions.of('db').say({ level: 'info', data: 'working' });
    there.sessions.of('db').say({ level: 'error', data: 'broken' });
    call.answer(pong);
    const text = await (await answer).text();
    expect(text).toContain('working');
    expect(text).toContain('broken');
    expect(await asked.next()).toMatchObject({
      value: { method: 'notifications/message', params: { level: 'error', data: 'broken' } },
    });
    const next = quiet.next();
    there.sessions.of('db').list([]);
    await there.settle();
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
      prepare: (there) => {
        there.sessions.of('db').open({ profile });
        there.sessions.of('db').list([{ name: 'query', inputSchema: { type: 'object' } }]);
        there.sessions.of('db').offer({ prompts: [greet] });
      },
    });

  it('keeps its own server info, capabilities and item names', async () => {
    const there = await through();
    const client = await connect(there, 'legacy');
    expect(client.getServerVersion()).toEqual({
      name: 'postgres',
      version: '3.1.0',
      title: 'Postgres',
    });
    expect(Object.keys(client.getServerCapabilities() ?? {}).sort()).toEqual(['prompts', 'tools']);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['query']);
    expect((await client.listPrompts()).prompts).toEqual([greet]);
    const answer = client.callTool({ name: 'query', arguments: {} });
    (await there.nextCall('db')).answer(pong);
    expect(await answer).toMatchObject(pong);
  });

  it('hides the tools of other servers', async () => {
    const there = await through();
    const client = await connect(there);
    await expect(client.callTool({ name: 'web__query', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
  });
});
