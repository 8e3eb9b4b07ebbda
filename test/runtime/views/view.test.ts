import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { showsTool } from '../../../src/policies/views/shown-items.ts';
import { mergeSettings } from '../../../src/settings/merge-settings.ts';
import { parseSettings } from '../../../src/settings/parse-settings.ts';
import { settingsFile } from '../../../src/testing/scripted-troupe.ts';
import {
  callFailure,
  pong,
  type Stage,
  servers,
  setUp,
  stageOf,
  thrownBy,
  tool,
  watch,
} from '../stage.ts';

type View = ReturnType<Stage['troupe']['view']>;

const two = { db: 'db', web: 'web' };

async function viewOf(
  review: Readonly<Record<string, unknown>>,
  entries: Parameters<typeof servers>[0] = two,
  mcp: Readonly<Record<string, unknown>> = {},
) {
  const stage = await stageOf({ settings: servers(entries, { ...mcp, views: { review } }) });
  return { stage, view: stage.troupe.view('review') };
}

async function list(stage: Stage, server: string, ...names: readonly string[]): Promise<void> {
  stage.tools.set(
    server,
    names.map((name) => tool(name)),
  );
  stage.troupe.send({ type: 'server.refresh', server });
  await stage.settle();
}

/** The settings of a view as the parser reads them. */
const mergedViews = (review: unknown) =>
  mergeSettings([
    parseSettings(JSON.stringify({ mcp: { views: { review } } }), {
      file: 'x',
      scope: 'user',
      projectRoot: '/',
    }),
  ]).settings.views ?? [];

const shown = (view: View) =>
  view.tools().map((each) => `${each.name} ${each.server}.${each.tool}`);

/** Calls a tool and lets its server answer, if it was asked. */
async function answered(stage: Stage, promise: Promise<unknown>) {
  const made = watch(promise);
  await stage.settle();
  for (const call of stage.sessions.scripts.flatMap(({ calls }) => calls))
    if (!call.isSettled) call.answer(pong);
  await stage.settle();
  return made;
}

const called = ({ sessions }: Stage, server: string): readonly string[] =>
  sessions.scripts.flatMap(({ input, calls }) =>
    input.server === server ? calls.map((call) => call.tool) : [],
  );

describe('a view', () => {
  it('shows and calls the tools that its settings show', async () => {
    const { stage, view } = await viewOf({ servers: ['db'], tools: { exclude: ['*_delete'] } });
    await list(stage, 'db', 'query', 'row_delete');
    expect(shown(view)).toEqual(['mcp__db__query db.query']);
    expect(view.searchTools('delete')).toEqual([]);
    expect(view.searchTools('query').map((match) => match.tool.name)).toEqual(['mcp__db__query']);
    expect(view.catalog().tools).toBe(view.tools());
    const report = await answered(stage, view.callTool('mcp__db__query'));
    expect(report.value).toMatchObject({ result: pong, meta: { server: 'db', tool: 'query' } });
    expect((await answered(stage, view.callServerTool('db', 'query'))).state).toBe('done');
    expect(called(stage, 'db')).toEqual(['query', 'query']);
  });

  it('knows no tool that it leaves out, by any name', async () => {
    const rename = { db: { row_delete: 'forget' } };
    const naming = { aliases: ['{server}.{tool}'] };
    const tools = { exclude: ['*_delete'], rename };
    const { stage, view } = await viewOf({ servers: ['db'], tools, naming });
    await list(stage, 'db', 'query', 'row_delete');
    const whole = stage.troupe.catalog();
    for (const name of ['mcp__db__row_delete', 'mcp__db__forget', 'row_delete', 'db.row_delete']) {
      const refused = await answered(stage, view.callTool(name));
      expect(refused.error).toMatchObject({ code: 'TOOL_UNKNOWN', outcome: 'not_executed' });
      await expect(view.catalog().callTool(name)).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
    }
    for (const name of ['row_delete', 'forget', 'mcp__db__row_delete']) {
      const refused = await answered(stage, view.callServerTool('db', name));
      expect(refused.error).toMatchObject({ code: 'TOOL_UNKNOWN' });
      expect(refused.error?.message).not.toContain('Did you mean');
    }
    expect((await answered(stage, view.callTool('db.query'))).state).toBe('done');
    expect(called(stage, 'db')).toEqual(['query']);
    expect((await answered(stage, whole.callTool('mcp__db__row_delete'))).state).toBe('done');
  });

  it('gives tools new names, under which they are called by their own', async () => {
    const tools = { rename: { db: { query: 'ask', ask: 'query' } } };
    const limits = { perMinute: 1 };
    const entry = { command: 'db', tools: { overrides: { ask: { limits } } } };
    const { stage, view } = await viewOf({ tools, naming: { template: '{tool}' } }, { db: entry });
    await list(stage, 'db', 'query', 'ask', 'put');
    expect(shown(view)).toEqual(['ask db.ask', 'put db.put', 'query db.query']);
    const report = await answered(stage, view.callTool('ask'));
    expect(report.value).toMatchObject({ meta: { tool: 'ask' } });
    await answered(stage, view.callServerTool('db', 'query'));
    expect(called(stage, 'db')).toEqual(['query', 'ask']);
    // The limit is that of the server's own tool.
    expect((await answered(stage, view.callTool('ask'))).state).toBe('done');
    expect((await answered(stage, view.callTool('query'))).error?.code).toBe('RATE_LIMITED');
    expect((await answered(stage, view.callTool('mcp__db__ask'))).error?.code).toBe('TOOL_UNKNOWN');
  });

  it('starts a sleeping server for a tool that is not listed yet, but none that it leaves out', async () => {
    const lazy = { command: 'x', startup: 'lazy' };
    const tools = { exclude: ['drop'], rename: { db: { query: 'ask' } } };
    const { stage, view } = await viewOf({ servers: ['db'], tools }, { db: lazy, web: lazy });
    stage.tools.set('db', [tool('query'), tool('drop')]);
    const hidden = await answered(stage, view.callTool('mcp__web__query'));
    expect(hidden.error).toMatchObject({ code: 'TOOL_UNKNOWN' });
    const other = await answered(stage, view.callServerTool('web', 'query'));
    expect(other.error?.message).toBe('There is no server web. List what is there: troupe status');
    expect(stage.stateOf('web')).toBe('dormant');
    expect((await answered(stage, view.callTool('mcp__db__ask'))).state).toBe('done');
    expect((await answered(stage, view.callTool('mcp__db__drop'))).error?.code).toBe(
      'TOOL_UNKNOWN',
    );
    expect(called(stage, 'db')).toEqual(['query']);
  });

  it('names only what it shows in its errors', async () => {
    const { stage, view } = await viewOf({ servers: ['db'], tools: { exclude: ['drop*'] } });
    await list(stage, 'db', 'query', 'drop');
    const near = await answered(stage, view.callTool('mcp__db__dro'));
    expect(near.error?.message).not.toContain('drop');
    const known = await answered(stage, view.callTool('mcp__db__quer'));
    expect(known.error?.message).toContain('Did you mean mcp__db__query?');
    const server = await answered(stage, view.callServerTool('we', 'query'));
    expect(server.error?.message).not.toContain('web');
  });

  it('knows neither prompts nor resources that it leaves out', async () => {
    const { stage, view } = await viewOf({
      servers: ['db'],
      prompts: { exclude: ['secret'] },
      resources: { exclude: ['note://secret/*'] },
    });
    const uri = 'note://x/../secret/key';
    const refused: readonly Promise<unknown>[] = [
      view.readResource('db', uri),
      view.getPrompt('db', 'secret'),
      view.complete('db', { ref: { type: 'ref/prompt', name: 'secret' }, argument: argument }),
      view.complete('db', { ref: { type: 'ref/resource', uri }, argument: argument }),
      view.readResource('web', 'note://a'),
    ];
    for (const made of refused.map(watch)) {
      await stage.settle();
      expect(made.error?.outcome).toBe('not_executed');
      expect(['TOOL_UNKNOWN', 'SERVER_UNKNOWN']).toContain(made.error?.code);
    }
    expect(thrownBy(() => view.subscribe('db', uri))).toMatchObject({ code: 'TOOL_UNKNOWN' });
    expect(called(stage, 'db')).toEqual([]);
    view.subscribe('db', 'note://open')();
    watch(view.readResource('db', 'note://open'));
    await stage.settle();
    expect(called(stage, 'db')).toHaveLength(1);
  });
});

const argument = { name: 'a', value: '' };

const offered = {
  resources: [
    { uri: 'note://a', name: 'a' },
    { uri: 'note://secret/a', name: 'b' },
  ],
  resourceTemplates: [
    { uriTemplate: 'note://{id}', name: 'c' },
    { uriTemplate: 'note://secret/{id}', name: 'd' },
  ],
  prompts: [{ name: 'draft' }, { name: 'secret' }],
};

async function offering(review: Readonly<Record<string, unknown>>) {
  const settings = servers(two, { views: { review } });
  const stage = await stageOf({ settings, obedient: [] });
  for (const server of ['db', 'web']) {
    const script = stage.sessions.of(server);
    script.open({
      offers: ['resources', 'prompts'],
      profile: { name: server, version: '1', capabilities: {} },
    });
    script.list([tool('query'), tool('drop')], { instructions: `Use ${server}.` });
    script.offer(offered);
  }
  await stage.settle();
  return { stage, view: stage.troupe.view('review') };
}

describe('what a view shows', () => {
  const narrow = {
    servers: ['db'],
    tools: { exclude: ['drop'] },
    prompts: { exclude: ['secret'] },
    resources: { exclude: ['note://secret/*'] },
  };

  it('is a part of each list, of the status and of the explanation', async () => {
    const { stage, view } = await offering(narrow);
    expect(view.resources().map(({ uri }) => uri)).toEqual(['note://a']);
    expect(view.resourceTemplates().map(({ uriTemplate }) => uriTemplate)).toEqual(['note://{id}']);
    expect(view.prompts().map(({ name }) => name)).toEqual(['draft']);
    expect(view.instructions().map(({ server }) => server)).toEqual(['db']);
    expect(view.prompts()).toBe(view.prompts());
    expect([view.profile('db')?.name, view.profile('web')]).toEqual(['db', undefined]);
    expect(view.status('db')).toMatchObject({ name: 'db', state: 'ready', tools: 1 });
    expect([view.status('web'), view.explain('web')]).toEqual([undefined, undefined]);
    expect(view.explain('db')?.status.tools).toBe(1);
    const { troupe, servers: listed } = view.snapshot();
    expect(listed.map(({ name }) => name)).toEqual(['db']);
    expect(troupe).toMatchObject({ problems: [], sessions: { total: 1 } });
    stage.troupe.openClient({ name: 'other' });
    expect(stage.troupe.snapshot().troupe.clients).toHaveLength(1);
    expect(view.snapshot().troupe).not.toHaveProperty('clients');
    expect(await view.ready()).toMatchObject({ live: ['db'], pending: [], failed: [] });
    expect(await view.listed('tools')).toBe(true);
    expect(stage.troupe.snapshot().servers).toHaveLength(2);
    await expect(view.login('web')).rejects.toMatchObject({ code: 'SERVER_UNKNOWN' });
    await expect(view.login('db')).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('is reported when it changes, and nothing else is', async () => {
    const { stage, view } = await offering(narrow);
    const seen: unknown[] = [];
    const names = ['tools.changed', 'prompts.changed', 'resources.changed'] as const;
    const ends = names.map((name) => view.on(name, (event) => seen.push([name, event])));
    const [db, web] = [stage.sessions.of('db'), stage.sessions.of('web')];
    const relist = async (script: typeof db, tools: readonly string[], lists: object) => {
      stage.troupe.send({ type: 'server.refresh', server: script.input.server });
      await stage.settle();
      script.list(
        tools.map((name) => tool(name)),
        { instructions: '' },
      );
      script.offer({ ...offered, ...lists });
      await stage.settle();
    };
    await relist(web, ['other'], { prompts: [] });
    await relist(db, ['query'], { prompts: [{ name: 'draft' }, { name: 'secret', title: 'x' }] });
    expect(seen).toEqual([]);
    await relist(db, ['query', 'put'], { prompts: [] });
    expect(seen).toEqual([
      ['tools.changed', { servers: ['db'] }],
      ['prompts.changed', { server: 'db' }],
    ]);
    for (const end of ends) end();
    await relist(db, [], {});
    expect(seen).toHaveLength(2);
  });

  it('comes with the events of its servers only', async () => {
    const { stage, view } = await offering(narrow);
    const seen: unknown[] = [];
    view.on('status.changed', ({ status }) => seen.push([status.name, status.state, status.tools]));
    view.on('resource.updated', (event) => seen.push(event));
    view.on('notification', ({ server }) => seen.push(server));
    view.on('reconciled', ({ plan }) => seen.push(plan.map(({ server }) => server)));
    for (const server of ['db', 'web']) {
      const script = stage.sessions.of(server);
      for (const { uri } of offered.resources) stage.troupe.subscribe(server, uri);
      await stage.settle();
      for (const { uri } of offered.resources) script.update(uri);
      script.say({ level: 'info', data: 'x' });
    }
    stage.files.write(settingsFile, servers({}, { views: { review: narrow } }));
    await stage.advance(1_000);
    expect(seen.map((each) => JSON.stringify(each)).join(' ')).not.toContain('web');
    expect(seen).toEqual(
      expect.arrayContaining([{ server: 'db', uri: 'note://a' }, 'db', ['db', 'stopping', 0]]),
    );
    expect(seen).not.toContainEqual({ server: 'db', uri: 'note://secret/a' });
    expect(thrownBy(() => view.on('question.asked', () => {}))).toMatchObject({
      code: 'INVALID_ARGUMENTS',
      message: expect.stringContaining('It has: tools.changed'),
    });
  });

  it('follows the settings at once, and is nothing without them', async () => {
    const { stage, view } = await offering(narrow);
    const seen: unknown[] = [];
    view.on('tools.changed', (event) => seen.push(event));
    view.on('tools.changed', () => {
      throw new Error('a listener of the host');
    });
    stage.files.write(settingsFile, servers(two, { views: { review: { servers: ['web'] } } }));
    await stage.advance(1_000);
    expect(shown(view)).toEqual(['mcp__web__drop web.drop', 'mcp__web__query web.query']);
    expect(seen).toEqual([{ servers: ['db', 'web'] }]);
    expect(stage.errors).toHaveLength(1);
    stage.files.write(settingsFile, servers(two));
    await stage.advance(1_000);
    expect([shown(view), view.prompts(), view.snapshot().servers]).toEqual([[], [], []]);
    expect(view.searchTools('query')).toEqual([]);
    const gone = {
      code: 'NOT_ALLOWED',
      message: expect.stringContaining('is not in the settings'),
    };
    await expect(view.callTool('mcp__web__query')).rejects.toMatchObject(gone);
    await expect(view.callServerTool('web', 'query')).rejects.toMatchObject(gone);
    expect(thrownBy(() => stage.troupe.view('review'))).toMatchObject({
      code: 'INVALID_ARGUMENTS',
    });
  });
});

describe('a view that is opened', () => {
  it('must be in the settings, once they have been read', async () => {
    const { stage } = await viewOf({});
    expect(thrownBy(() => stage.troupe.view('revue')).message).toContain('Did you mean review?');
    expect(thrownBy(() => stage.troupe.view(''))).toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it('waits for the settings before it decides about a call', async () => {
    const stage = setUp({ settings: servers(two, { views: { review: { servers: ['db'] } } }) });
    expect(stage.troupe.views()).toEqual([]);
    expect(stage.troupe.views({ groups: [], scopes: [] })).toEqual([]);
    const view = stage.troupe.view('review');
    expect([view.tools(), view.prompts()]).toEqual([[], []]);
    const [good, bad] = [
      watch(view.callTool('mcp__db__query')),
      watch(view.callServerTool('web', 'query')),
    ];
    await stage.settle();
    expect(bad.error?.code).toBe('SERVER_UNKNOWN');
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(good.state).toBe('done');
    expect(stage.troupe.views()).toEqual(['review']);
  });

  it('has a bound and a deadline of its own through a client', async () => {
    const { stage } = await viewOf({ tools: { exclude: ['drop'] } });
    const client = stage.troupe.openClient({ name: 'errand', allow: ['web'], deadlineMs: 5_000 });
    await stage.settle();
    const view = client.view('review', { template: '{tool}' });
    await list(stage, 'web', 'query', 'drop');
    expect(shown(view)).toEqual(['query web.query']);
    await stage.advance(5_000);
    expect(shown(view)).toEqual([]);
    await expect(view.callTool('query')).rejects.toMatchObject({ outcome: 'not_executed' });
  });

  it('allows less than the other rules, and never more', async () => {
    const permissions = { ask: ['mcp__db__query'], deny: [{ server: 'web', tool: 'query' }] };
    const mcp = { permissions: { deny: ['mcp__db__drop'] } };
    const { stage, view } = await viewOf(
      { permissions, tools: { rename: { db: { drop: 'x' } } } },
      two,
      mcp,
    );
    await list(stage, 'db', 'query', 'drop');
    const denied = await answered(stage, view.callServerTool('web', 'query'));
    expect(denied.error?.code).toBe('PERMISSION_DENIED');
    expect(denied.error?.message).toContain('in mcp.views.review.permissions of');
    expect((await answered(stage, view.callTool('mcp__db__x'))).error?.code).toBe(
      'PERMISSION_DENIED',
    );
    const unasked = await answered(stage, view.callTool('mcp__db__query'));
    expect(unasked.error).toMatchObject({ code: 'PERMISSION_DENIED', retryable: true });
    const askPermission = () => 'allow' as const;
    const asked = await answered(stage, view.callTool('mcp__db__query', {}, { askPermission }));
    expect(asked.state).toBe('done');
    expect((await answered(stage, stage.troupe.callServerTool('web', 'query'))).state).toBe('done');
    expect((await answered(stage, stage.troupe.callTool('mcp__db__query'))).state).toBe('done');
  });

  it('limits its own calls', async () => {
    const { stage, view } = await viewOf({ limits: { perMinute: 1, perClientPerMinute: 1 } });
    expect((await answered(stage, view.callServerTool('db', 'query'))).state).toBe('done');
    const refused = await answered(stage, view.callServerTool('web', 'query'));
    expect(refused.error).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 60_000 });
    expect(refused.error?.message).toContain('1 calls in the view review a minute');
    expect((await answered(stage, stage.troupe.callServerTool('web', 'query'))).state).toBe('done');
  });

  it('names a renamed tool as its caller knows it, whatever happens to the call', async () => {
    const renames = { drop: 'forget', ask: 'inquire', scan: 'look' };
    const review = {
      tools: { rename: { db: renames } },
      permissions: { deny: [{ server: 'db', tool: 'ask' }] },
    };
    const entry = { command: 'db', tools: { overrides: { drop: { limits: { perMinute: 1 } } } } };
    const policy = { call: { backgroundAfterMs: 1_000 } };
    const settings = servers({ db: entry }, { policy, views: { review } });
    const run = ({ tool: name }: { tool: string }) =>
      name === 'scan' ? { refuse: 'not now' } : undefined;
    const stage = await stageOf({ settings, hooks: { before: [{ name: 'check', run }] } });
    await list(stage, 'db', ...Object.keys(renames));
    const view = stage.troupe.view('review');
    const errorOf = async (name: string) =>
      (await answered(stage, view.callServerTool('db', name))).error;
    const said = [await errorOf('inquire'), await errorOf('look')];
    const receipt = watch(view.callServerTool('db', 'forget'));
    await stage.advance(1_000);
    expect(receipt.value).toMatchObject({ meta: { tool: 'forget', background: 'call-1' } });
    expect(view.backgroundCalls()).toMatchObject([{ tool: 'forget' }]);
    expect(stage.troupe.backgroundCalls()).toMatchObject([{ tool: 'drop' }]);
    const early = watch(view.collect('call-1', { timeoutMs: 1 }));
    await stage.advance(1);
    const collected = watch(view.collect('call-1'));
    const lost = callFailure('crashed', true);
    stage.sessions.scripts
      .flatMap(({ calls }) => calls)
      .at(-1)
      ?.fail(lost);
    await stage.settle();
    said.push(early.error, collected.error, await errorOf('forget'));
    expect(said.map((error) => [error?.code, error?.tool])).toEqual([
      ['PERMISSION_DENIED', 'inquire'],
      ['PERMISSION_DENIED', 'look'],
      ['TIMEOUT_WAITING', 'forget'],
      ['CRASHED', 'forget'],
      ['RATE_LIMITED', undefined],
    ]);
    // A rule is changed by the name that it has for the tool.
    const messages = said.map((error) => error?.message.replace(/ the rule .*/u, ''));
    expect(messages.join(' ')).not.toMatch(/drop|scan|\bask\b/u);
  });

  it('collects only what was called through it', async () => {
    const policy = { call: { backgroundAfterMs: 1_000 } };
    const { stage, view } = await viewOf({ servers: ['db'] }, two, { policy });
    const other = stage.troupe.view('review');
    expect(view.backgroundServers()).toEqual(['db']);
    const receipt = watch(view.callServerTool('db', 'query'));
    await stage.advance(1_000);
    expect(view.backgroundCalls()).toMatchObject([{ id: 'call-1', server: 'db' }]);
    expect(other.backgroundCalls()).toEqual([]);
    await expect(other.collect('call-1')).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    expect(stage.troupe.backgroundCalls()).toHaveLength(1);
    expect(receipt.state).toBe('done');
    const collected = await answered(stage, view.collect('call-1'));
    expect(collected.value).toMatchObject({ result: pong });
  });
});

describe('random views', () => {
  it('never run a tool that they leave out, by any name', async () => {
    const own = ['query', 'drop', 'drop_all', 'mcp__db__drop'];
    const name = fc.constantFrom(...own, 'x', 'y');
    const pattern = fc.oneof(
      fc.constantFrom('*', 'drop*', '*query'),
      name,
      fc.record({ server: fc.constantFrom('db', 'web'), name }),
    );
    const patterns = fc.array(pattern, { maxLength: 3 });
    const names = fc.uniqueArray(fc.tuple(fc.constantFrom(...own), name), {
      selector: ([, to]) => to,
      maxLength: 3,
    });
    const settings = fc.record(
      {
        servers: fc.subarray(['db', 'web', 'd*']),
        tools: fc.record(
          {
            include: patterns,
            exclude: patterns,
            rename: fc.dictionary(
              fc.constantFrom('db', 'web'),
              names.map((all) => Object.fromEntries(all)),
            ),
          },
          { requiredKeys: [] },
        ),
        naming: fc.constantFrom(
          { template: '{tool}' },
          { template: '{server}_{tool}', aliases: ['{tool}'] },
        ),
      },
      { requiredKeys: [] },
    );
    const stage = await stageOf({ settings: servers(two) });
    for (const server of ['db', 'web']) await list(stage, server, ...own);
    const spellings = ['db', 'web'].flatMap((server) =>
      [...own, 'x', 'y'].flatMap((each) => [
        `mcp__${server}__${each}`,
        `${server}_${each}`,
        `${server}.${each}`,
        each,
      ]),
    );
    await fc.assert(
      fc.asyncProperty(settings, fc.subarray(spellings), async (review, tried) => {
        stage.files.write(settingsFile, servers(two, { views: { review } }));
        await stage.advance(1_000);
        const view = stage.troupe.view('review');
        const [parsed] = mergedViews(review);
        const isShown = (server: string, ownName: string) =>
          parsed !== undefined && showsTool(parsed, server, ownName);
        const before = stage.sessions.scripts.map(({ calls }) => calls.length);
        for (const each of tried) {
          await answered(stage, view.callTool(each));
          for (const server of ['db', 'web'])
            await answered(stage, view.callServerTool(server, each));
        }
        const ran = stage.sessions.scripts.flatMap(({ input, calls }, at) =>
          calls.slice(before[at]).map((call) => [input.server, call.tool] as const),
        );
        expect(ran.filter(([server, ownName]) => !isShown(server, ownName))).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});
