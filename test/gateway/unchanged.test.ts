/** What passes the gateway without a change, seen by clients that are not of the SDK. */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import type { ListedTool } from '../../src/domain/tool.ts';
import { keepNumbersOf, noteBody } from '../../src/gateway/exact-numbers.ts';
import { promptKind, resourceKind, templateKind, toolKind } from '../../src/protocol/items.ts';
import type { ListKind } from '../../src/protocol/lists.ts';
import { pong, type Stage } from '../runtime/stage.ts';
import { jsonText, objectText } from '../support/json-texts.ts';
import { type GatewayStage, gatewayStage, openSession, post } from './gateway-stage.ts';
import { stdioStage, withEnvelope } from './stdio-stage.ts';

type Fields = Readonly<Record<string, unknown>>;

const hidden = 'Migrates.\u200b\r\n'.padEnd(5_000, 'x');
const extras = {
  icons: [{ src: 'https://a.example/icon.svg', sizes: ['any'], theme: 'dark' }],
  _meta: { ui: { resourceUri: 'ui://migrate' } },
  'x-future': { server: 1 },
  server: 'a field of a later revision',
};
const announced = {
  name: 'migrate',
  title: 'Migrate '.repeat(20),
  description: hidden,
  inputSchema: { type: 'object', properties: { a: { type: 'string', description: hidden } } },
  annotations: { title: 'M', readOnlyHint: true, 'x-hint': [1] },
  ...extras,
};
/** Revisions from 2026-07-28 on have no such field. */
const execution = { execution: { taskSupport: 'optional' } };
const forApp = {
  name: 'refresh',
  inputSchema: { type: 'object' },
  _meta: { ui: { visibility: ['app'] } },
};
const about = { annotations: { audience: ['user'], priority: 0.5, 'x-why': 1 }, ...extras };
const lists = {
  resources: [{ uri: 'note://all', name: 'all\u200b', description: hidden, ...about }],
  resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'one', ...about }],
  prompts: [{ name: 'greet', arguments: [{ name: 'who', 'x-kind': 'person' }], ...extras }],
};

/** Reads items as a session does, for a server that announces them. */
function read<Item>(kind: ListKind<Item>, ...items: readonly unknown[]): readonly Item[] {
  return items.map((item) => {
    const found = kind.read(item);
    if (typeof found === 'string') throw new Error(found);
    return found.item;
  });
}

function announcing(stage: Stage): void {
  stage.tools.set('db', read(toolKind, { ...announced, ...execution }, forApp) as ListedTool[]);
  stage.sessions.of('db').notify();
  stage.sessions.of('db').offer({
    resources: read(resourceKind, ...lists.resources),
    resourceTemplates: read(templateKind, ...lists.resourceTemplates),
    prompts: read(promptKind, ...lists.prompts),
  });
}

/** Sends requests in one era, without an SDK that checks the answers. */
async function asker(
  { url }: Pick<GatewayStage, 'url'>,
  era: 'legacy' | 'modern',
  own: Fields = {},
  /** Gets the notifications of each request. */
  news: string[] = [],
) {
  const session = era === 'legacy' ? await openSession(url, own) : undefined;
  return async (method: string, params: Fields = {}): Promise<Fields> => {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': own,
    };
    const named = params['name'] ?? params['uri'];
    const modern = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof named === 'string' && { 'mcp-name': named }),
    };
    const response = await post(
      url,
      writeJson({
        jsonrpc: '2.0',
        id: 7,
        method,
        params: session === undefined ? withEnvelope(params, envelope) : params,
      }),
      session === undefined ? modern : { 'mcp-session-id': session },
    );
    const text = await response.text();
    const events = [...text.matchAll(/^data: (\{.*)$/gmu)].map(([, data = '']) => data);
    news.push(...events.slice(0, -1));
    const data = events.at(-1) ?? text;
    return parseJson(data) as Fields;
  };
}

describe.each(['legacy', 'modern'] as const)('for a client of the %s era', (era) => {
  const migrate = { ...announced, ...(era === 'legacy' && execution) };

  it('content of an unknown type and with unknown keys is the result of the call', async () => {
    const stage = await gatewayStage();
    const ask = await asker(stage, era);
    const answer = ask('tools/call', { name: 'db__query', arguments: {} });
    const content = [
      { type: 'hologram', points: [1, 2], _meta: { a: 1 } },
      { type: 'text', text: 'beside it', tone: 'dry' },
    ];
    (await stage.nextCall('db')).answer({ content, extent: 3 });
    expect(await answer).toMatchObject({ id: 7, result: { content, extent: 3 } });
  });

  it('the lists of one server are what it announced', async () => {
    const stage = await gatewayStage({ only: 'db', prepare: announcing });
    const ask = await asker(stage, era);
    expect(await ask('tools/list')).toMatchObject({ result: { tools: [migrate] } });
    expect(await ask('resources/list')).toMatchObject({
      result: { resources: lists.resources },
    });
    expect(await ask('resources/templates/list')).toMatchObject({
      result: { resourceTemplates: lists.resourceTemplates },
    });
    expect(await ask('prompts/list')).toMatchObject({ result: { prompts: lists.prompts } });
  });

  it('the lists of all servers keep everything but names and unprintable characters', async () => {
    const stage = await gatewayStage({ prepare: announcing });
    const ask = await asker(stage, era);
    const { result } = (await ask('tools/list')) as { result: { tools: { name: string }[] } };
    const { title: _title, description: _text, inputSchema: _schema, ...kept } = migrate;
    expect(result.tools.find(({ name }) => name === 'db__migrate')).toMatchObject({
      ...kept,
      name: 'db__migrate',
      description: hidden.replace('\u200b\r', ''),
    });
    const [resource] = lists.resources;
    expect(await ask('resources/list')).toMatchObject({
      result: {
        resources: [{ ...about, uri: `troupe://db/${resource?.uri}`, name: 'all' }],
      },
    });
    expect(await ask('prompts/list')).toMatchObject({
      result: { prompts: [{ ...lists.prompts[0], name: 'db__greet' }] },
    });
  });

  it("an app's own tools are listed for hosts that render apps, and callable for all", async () => {
    const stage = await gatewayStage({ only: 'db', prepare: announcing });
    const host = await asker(stage, era, { extensions: { 'io.modelcontextprotocol/ui': {} } });
    expect(await host('tools/list')).toMatchObject({ result: { tools: [migrate, forApp] } });
    const ask = await asker(stage, era);
    const answer = ask('tools/call', { name: 'refresh', arguments: {} });
    (await stage.nextCall('db')).answer(pong);
    expect(await answer).toMatchObject({ result: pong });
  });

  it('a description is cut where a policy says so, and the log tells', async () => {
    const db = { command: 'db', policy: { catalog: { descriptionMaxLength: 100 } } };
    const settings = { mcpServers: { db } };
    const stage = await gatewayStage({ only: 'db', settings, prepare: announcing });
    const ask = await asker(stage, era);
    const { result } = (await ask('tools/list')) as {
      result: { tools: { description: string }[] };
    };
    expect(result.tools[0]?.description).toHaveLength(100);
    expect(stage.troupe.tools()[0]).toMatchObject({ isCut: true });
    expect(stage.troupe.status('db')?.toolNotes).toEqual([
      expect.stringContaining('of 1 of its tools are cut (migrate); see catalog.descriptionMax'),
    ]);
    expect(stage.troupe.logs('db')?.map(({ line }) => line)).toContainEqual(
      expect.stringContaining('the descriptions of 1 of its tools are cut'),
    );
  });
});

/** Numbers that JavaScript holds or writes differently. */
const exact =
  '{"id":1915883588174806058,"inf":1e400,"dec":0.12345678901234567890,"one":1.0,"neg":-0.0,"list":[12e3,{"v":1.10}]}';

const ways = (['legacy', 'modern'] as const).flatMap((era) =>
  (['stdio', 'HTTP'] as const).map((way) => ({ era, way })),
);

/** A stage, and a client of an era that asks over this way. */
async function numbersStage(
  { era, way }: (typeof ways)[number],
  options: Parameters<typeof gatewayStage>[0] = {},
) {
  if (way === 'stdio') {
    const stage = await stdioStage(era, options);
    return {
      stage,
      ask: (method: string, params?: Fields) => stage.ask(method, params),
      heard: async () => writeJson(await stage.heard()),
    };
  }
  const stage = await gatewayStage(options);
  const news: string[] = [];
  const ask = await asker(stage, era, {}, news);
  return { stage, ask, heard: () => Promise.resolve(news.shift()) };
}

describe.each(ways)('for a client of the $era era over $way', (way) => {
  const runs = { numRuns: 40 };

  it('the numbers of arguments, metadata and results are those that were written', async () => {
    const { stage, ask } = await numbersStage(way);
    const isSame = fc.asyncProperty(objectText, jsonText, async (given, result) => {
      const answer = ask('tools/call', {
        name: 'db__query',
        arguments: parseJson(given) as Fields,
        _meta: parseJson('{"tenant":1.10}'),
      });
      const call = await stage.nextCall('db');
      expect(writeJson(call.args)).toBe(given);
      expect(writeJson((call as unknown as { options: { meta: Fields } }).options.meta)).toContain(
        '"tenant":1.10',
      );
      const parts = [
        `"content":[{"type":"text","text":"","extra":${result}}]`,
        `"structuredContent":${result}`,
        '"total":1.0',
        `"_meta":{"sum":${result},"one":1.0`,
      ];
      call.answer(parseJson(`{${parts.join()}}}`) as Fields);
      const line = writeJson(await answer);
      for (const part of parts) expect(line).toContain(part);
    });
    await fc.assert(isSame, runs);
  });

  it.each([{}, { only: 'db' }])(
    'the numbers of lists are those that were written: %j',
    async (options) => {
      const prepare = (stage: Stage): void => {
        const item = parseJson(`{
        "name":"one", "uri":"note://one", "size":1.0, "uriTemplate":"note://{a}",
        "inputSchema":{"type":"object","maximum":9223372036854775807,"properties":{"a":${exact}}},
        "outputSchema":{"type":"object","maximum":9223372036854775807,"properties":{"a":${exact}}},
        "annotations":{"priority":1.0,"x":${exact}}, "arguments":[{"name":"a","x":1.0,"y":${exact}}],
        "_meta":${exact}, "x-more":1.0, "x-most":${exact}
      }`);
        stage.tools.set('db', read(toolKind, item) as ListedTool[]);
        stage.sessions.of('db').notify();
        stage.sessions.of('db').offer({
          resources: read(resourceKind, item),
          resourceTemplates: read(templateKind, item),
          prompts: read(promptKind, item),
        });
      };
      const { ask } = await numbersStage(way, { ...options, prepare });
      const common = [`"_meta":${exact}`, '"x-more":1.0', `"x-most":${exact}`];
      const schema = `{"type":"object","maximum":9223372036854775807,"properties":{"a":${exact}}}`;
      const annotations = `"annotations":{"priority":1.0,"x":${exact}}`;
      for (const [method, parts] of Object.entries({
        'tools/list': [`"inputSchema":${schema}`, `"outputSchema":${schema}`, annotations],
        'resources/list': ['"size":1.0', annotations],
        'resources/templates/list': [annotations],
        'prompts/list': [`"x":1.0,"y":${exact}`],
      })) {
        const line = writeJson(await ask(method));
        for (const part of [...common, ...parts]) expect(line).toContain(part);
      }
    },
  );

  it('the numbers of resources, prompts and completions are those that were written', async () => {
    const { stage, ask } = await numbersStage(way);
    const ends = `"x-one":1.0,"_meta":{"one":1.0,"all":${exact}`;
    for (const [method, params, parts] of [
      [
        'resources/read',
        { uri: 'troupe://db/note://all' },
        [`"contents":[{"uri":"note://all","text":"","one":1.0,"_meta":${exact}}]`],
      ],
      [
        'prompts/get',
        { name: 'db__greet' },
        [
          `"messages":[{"role":"user","one":1.0,"content":{"type":"resource","one":1.0,"resource":{"uri":"note://all","text":"","one":1.0}}}]`,
        ],
      ],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'db__greet' }, argument: { name: 'a', value: '' } },
        ['"completion":{"values":[],"total":1.0}'],
      ],
    ] as const) {
      const answer = ask(method, params);
      (await stage.nextCall('db')).answer(parseJson(`{${parts.join()},${ends}}}`) as Fields);
      const line = writeJson(await answer).replaceAll('troupe://db/', '');
      for (const part of [...parts, ends]) expect(line).toContain(part);
    }
  });

  it('the numbers of progress and log lines are those that were written', async () => {
    const { stage, ask, heard } = await numbersStage(way);
    const level = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const answer = ask('tools/call', {
      name: 'db__query',
      _meta: { progressToken: 'a', ...level },
    });
    const call = await stage.nextCall('db');
    const progress = parseJson('{"progress":1.0,"total":2.0}') as { progress: number };
    call.progress(progress);
    stage.sessions.of('db').say(parseJson(`{"level":"info","data":${exact}}`) as Fields);
    call.answer(pong);
    await answer;
    expect(await heard()).toContain('"progress":1.0,"total":2.0');
    expect(await heard()).toContain(`"data":${exact}`);
  });

  it('the numbers of an error and of a call in the background are those that were written', async () => {
    const db = { command: 'db', policy: { call: { backgroundAfterMs: 1_000 } } };
    const { stage, ask } = await numbersStage(way, { settings: { mcpServers: { db } } });
    const got = ask('prompts/get', { name: 'db__greet' });
    (await stage.nextCall('db')).fail({
      reason: 'serverError',
      written: true,
      message: 'no',
      rpcCode: -32_000,
      rpcData: parseJson(`{"one":1.0,"all":${exact}}`) as Fields,
    });
    expect(writeJson(await got)).toContain(`"data":{"one":1.0,"all":${exact}`);
    const parked = ask('tools/call', { name: 'db__query' });
    const call = await stage.nextCall('db');
    await stage.advance(1_000);
    const { result } = (await parked) as { result: { _meta: Record<string, string> } };
    call.answer(parseJson(`{"content":[],"structuredContent":${exact},"one":1.0}`) as Fields);
    const args = { id: result._meta['mcp-troupe/background'] };
    const line = writeJson(await ask('tools/call', { name: 'collect_call', arguments: args }));
    expect(line).toContain(`"structuredContent":${exact},"one":1.0`);
  });
});

it('a request in a batch keeps its own numbers beside an answer with its id', () => {
  const request = new Request('http://127.0.0.1/mcp');
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}';
  const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1.10}}';
  const body = parseJson(`[${answer},${call}]`) as JSONRPCMessage[];
  noteBody(request, body);
  const ignored = () => Promise.resolve();
  const transport: Transport = { start: ignored, close: ignored, send: ignored };
  keepNumbersOf(transport);
  for (const [message, text] of [
    [JSON.parse(answer), answer],
    [JSON.parse(call), call],
  ] as const) {
    transport.onmessage?.(message, { request });
    expect(writeJson(message)).toBe(text);
  }
});
