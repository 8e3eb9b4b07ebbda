/** Views over HTTP: which clients reach which part of the troupe, and what they cannot find out there. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openIssuerKeys } from '../../actors/authorization/issuer-keys.ts';
import type { QuestionBody } from '../../src/domain/question.ts';
import { Gateway } from '../../src/gateway/gateway.ts';
import { initialize } from '../fixtures/initialize.ts';
import { failure, pong, servers } from '../runtime/stage.ts';
import { startTestIssuer } from '../support/issuer/issuer.ts';
import { createSigningKey, signedJwt } from '../support/issuer/signing.ts';
import {
  type GatewayStage,
  type GatewayStageOptions,
  gatewayStage,
  listen,
  openSession,
  post,
  token,
} from './gateway-stage.ts';

const review = { servers: ['db'], tools: { rename: { db: { query: 'ask' } } } };
const two = { db: 'db', web: 'web' };

const settingsWith = (views: Readonly<Record<string, unknown>>) => servers(two, { views });

const placeWith = (
  views: Readonly<Record<string, unknown>>,
  options: GatewayStageOptions = {},
): Promise<GatewayStage> => gatewayStage({ settings: settingsWith(views), ...options });

async function clientAt(
  url: URL,
  { mode = 'auto' as 'legacy' | 'auto', bearer = token } = {},
): Promise<Client> {
  const info = { name: 'present', version: '1.0.0' };
  const client = new Client(info, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${bearer}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

const at = ({ url }: GatewayStage, view: string): URL => new URL(`${url.href}/${view}`);

async function namesOf(client: Client): Promise<readonly string[]> {
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name);
}

/** A call of a client of 2026-07-28 that can be asked. */
const modernCall = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'db__ask',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    },
  },
};

const form: QuestionBody = {
  kind: 'form',
  message: 'Which table?',
  fields: [],
  schema: { type: 'object', properties: {} },
};

/** Resolves when a stream has ended. */
async function endOf(events: AsyncGenerator): Promise<void> {
  try {
    for (;;) if ((await events.next()).done === true) return;
  } catch {
    // It was cut off.
  }
}

/** The message with which a call is refused: of a protocol error, or of a result. */
const refusalOf = (calling: ReturnType<Client['callTool']>): Promise<string> =>
  calling.then(JSON.stringify, ({ message }: Error) => message);

/** The status of an answer, and what it says. */
async function answerOf(response: Response) {
  return [response.status, await response.text()] as const;
}

describe('a view over HTTP', () => {
  it.each(['legacy', 'auto'] as const)(
    'lists and calls what it shows, under its own names (%s)',
    async (mode) => {
      const stage = await placeWith({ review });
      const whole = await clientAt(stage.url, { mode });
      const part = await clientAt(at(stage, 'review'), { mode });
      expect(await namesOf(whole)).toEqual(['db__query', 'web__query']);
      expect(await namesOf(part)).toEqual(['db__ask']);
      expect(part.getServerVersion()?.title).toBe('mcp-troupe: review');
      const called = part.callTool({ name: 'db__ask', arguments: { n: 1 } });
      const call = await stage.nextCall('db');
      expect([call.tool, call.args]).toEqual(['query', { n: 1 }]);
      call.answer(pong);
      expect(await called).toMatchObject(pong);
      for (const name of ['db__query', 'web__query', 'query'])
        expect(await refusalOf(part.callTool({ name, arguments: {} }))).toContain(
          'There is no tool',
        );
    },
  );

  it('names tools as its settings say', async () => {
    const stage = await placeWith({ short: { naming: { template: '{tool}' }, servers: ['web'] } });
    const part = await clientAt(at(stage, 'short'));
    expect(await namesOf(part)).toEqual(['query']);
    const called = part.callTool({ name: 'query', arguments: {} });
    (await stage.nextCall('web')).answer(pong);
    expect(await called).toMatchObject(pong);
    expect(part.getInstructions()).not.toContain('Tools and prompts');
  });

  it('is at no path that the settings do not name', async () => {
    const stage = await placeWith({ review });
    const [status, text] = await answerOf(await post(at(stage, 'other'), initialize()));
    expect([status, text]).toEqual([404, expect.stringContaining('there is no such view')]);
    for (const path of ['review/', 'review/x', '%72eview', ''])
      expect((await post(at(stage, path), initialize())).status).toBe(404);
  });

  it('shows one server under its own names with the names that it gives', async () => {
    const stage = await placeWith({ review }, { only: 'db' });
    expect(await namesOf(await clientAt(stage.url))).toEqual(['query']);
    expect(await namesOf(await clientAt(at(stage, 'review')))).toEqual(['ask']);
  });

  it('keeps the sessions of its clients apart from all others', async () => {
    const stage = await placeWith({ review, other: {} });
    const session = await openSession(at(stage, 'review'));
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    const headers = { 'mcp-session-id': session };
    expect((await post(at(stage, 'review'), list, headers)).status).toBe(200);
    for (const url of [stage.url, at(stage, 'other')])
      expect((await post(url, list, headers)).status).toBe(404);
  });

  it('ends with its settings, also where a client only listens', async () => {
    const stage = await placeWith({ review });
    const events = await listen(at(stage, 'review'), await openSession(at(stage, 'review')));
    const end = endOf(events);
    await stage.apply(settingsWith({}));
    await end;
    expect((await post(at(stage, 'review'), initialize())).status).toBe(404);
  });

  it('follows its settings without a new connection', async () => {
    const stage = await placeWith({ review });
    const part = await clientAt(at(stage, 'review'));
    await stage.apply(settingsWith({ review: { servers: ['web'] } }));
    expect(await namesOf(part)).toEqual(['web__query']);
  });

  it('is all that a gateway for one view serves', async () => {
    const stage = await placeWith({ review, other: {} }, { view: 'review' });
    expect(await namesOf(await clientAt(stage.url))).toEqual(['db__ask']);
    expect(await namesOf(await clientAt(at(stage, 'review')))).toEqual(['db__ask']);
    expect((await post(at(stage, 'other'), initialize())).status).toBe(404);
  });

  it('answers at once where it leaves out the only server, without naming it', async () => {
    const stage = await placeWith({ other: { servers: ['web'] } }, { only: 'db' });
    const part = await clientAt(at(stage, 'other'));
    expect(part.getServerVersion()?.name).toBe('mcp-troupe');
    expect(await namesOf(part)).toEqual([]);
  });

  it('lists the tools of the gateway only for servers that it shows', async () => {
    const slow = (command: string) => ({ command, policy: { call: { backgroundAfterMs: 1_000 } } });
    const showing = (...names: readonly string[]) =>
      servers({ db: slow('db'), web: 'web' }, { views: { review: { servers: names } } });
    const stage = await gatewayStage({ settings: showing('db') });
    const { troupe, clock } = stage;
    const gateway = new Gateway({
      ...{ troupe, clock, view: 'review', asksForLogins: true, report: () => undefined },
    });
    onTestFinished(() => gateway.close());
    let changes = 0;
    gateway.join({
      listChanged: () => void (changes += 1),
      resourceUpdated: () => undefined,
      logged: () => undefined,
    });
    const offered = () => gateway.tools(true).map((tool) => tool['name']);
    stage.sessions.of('db').fail(failure('authRequired'));
    await stage.settle();
    expect(offered()).toEqual(expect.arrayContaining(['collect_call', 'log_in']));
    await stage.advance(1_000);
    changes = 0;
    await stage.apply(showing('web'));
    await stage.advance(1_000);
    expect([offered(), changes]).toEqual([['web__query'], 1]);
    await stage.apply(showing('db', 'web'));
    await stage.advance(1_000);
    expect(offered()).toEqual(expect.arrayContaining(['collect_call', 'log_in']));
    expect(changes).toBe(2);
  });

  it('counts its calls with those of the whole gateway', async () => {
    const stage = await placeWith({ review });
    const part = await clientAt(at(stage, 'review'));
    const called = part.callTool({ name: 'db__ask', arguments: {} });
    (await stage.nextCall('db')).answer(pong);
    await called;
    const metrics = await fetch(new URL('/metrics', stage.url), {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await metrics.text()).toContain('mcp_troupe_calls_total{server="db",code="ok"} 1');
  });
});

describe('with the tokens of an issuer', () => {
  const views = {
    all: { clients: [{ group: 'admins' }] },
    review: { ...review, clients: [{ group: 'reviewers', scope: 'mcp:review' }, { user: 'ada' }] },
    free: {},
  };

  async function issuedPlace(options: GatewayStageOptions = {}) {
    const key = createSigningKey('key-1');
    const issuer = await startTestIssuer({ signingKeys: [key] });
    onTestFinished(() => issuer.close());
    const stage = await placeWith(views, {
      openHttp: async ({ clock }) => {
        const opened = await openIssuerKeys(issuer.issuer(), {
          clock,
          options: {},
          onFailure() {},
        });
        if (opened.failed !== undefined) throw new Error(opened.failed.message);
        const keys = opened.value;
        onTestFinished(() => keys.close());
        return { oauth: { keys, scopes: [] } };
      },
      ...options,
    });
    const tokenOf = (claims: Readonly<Record<string, unknown>>): string => {
      const exp = Math.floor(stage.clock.wallNow() / 1_000) + 60;
      return signedJwt(key, { iss: issuer.issuer(), aud: stage.http.url, exp, ...claims }, {});
    };
    const open = async (claims: Readonly<Record<string, unknown>>, url: URL = stage.url) =>
      answerOf(await post(url, initialize(), { authorization: `Bearer ${tokenOf(claims)}` }));
    return { stage, tokenOf, open };
  }

  it('opens the views whose rules a token meets, and the first of them without a name', async () => {
    const { stage, tokenOf, open } = await issuedPlace();
    const reviewer = { sub: 'bob', groups: ['reviewers'], scope: 'mcp:review' };
    const bearer = tokenOf(reviewer);
    for (const url of [stage.url, at(stage, 'review')])
      expect(await namesOf(await clientAt(url, { bearer }))).toEqual(['db__ask']);
    const admin = tokenOf({ sub: 'eve', groups: 'admins' });
    expect(await namesOf(await clientAt(stage.url, { bearer: admin }))).toHaveLength(2);
    for (const view of ['all', 'free', 'other']) {
      const [status, text] = await open(reviewer, at(stage, view));
      expect([status, text]).toEqual([404, expect.stringContaining('no such view')]);
    }
  });

  it('opens nothing to a token that meets no rule', async () => {
    const { stage, tokenOf, open } = await issuedPlace();
    const strangers = [{ sub: 'bob' }, { sub: 'bob', groups: ['reviewers'] }, { client_id: 'ada' }];
    for (const claims of strangers)
      for (const url of [stage.url, at(stage, 'free'), at(stage, 'review')])
        expect(await open(claims, url)).toEqual([403, expect.stringContaining('no view is open')]);
    const authorization = `Bearer ${tokenOf({ sub: 'ada' })}`;
    const metrics = await fetch(new URL('/metrics', stage.url), { headers: { authorization } });
    expect(metrics.status).toBe(403);
  });

  it('opens nothing while a file that may have rules has never been readable', async () => {
    const { open } = await issuedPlace({ settings: '{ "mcpServers": ' });
    expect((await open({ sub: 'ada' }))[0]).toBe(403);
  });

  it('opens nothing more after an edit takes the rule away, and ends open streams', async () => {
    const { stage, tokenOf, open } = await issuedPlace();
    const authorization = `Bearer ${tokenOf({ sub: 'ada' })}`;
    const opened = await post(stage.url, initialize(), { authorization });
    await opened.text();
    const session = opened.headers.get('mcp-session-id') ?? '';
    const stream = await fetch(stage.url, {
      headers: { authorization, accept: 'text/event-stream', 'mcp-session-id': session },
    });
    const end = stream.text().catch(() => 'cut off');
    await stage.apply(settingsWith({ ...views, review }));
    expect(await end).toBe('cut off');
    expect((await open({ sub: 'ada' }))[0]).toBe(403);
  });

  it.each(['legacy', 'auto'] as const)(
    'ends the calls of a token whose rule an edit takes away (%s)',
    async (mode) => {
      const call = { backgroundAfterMs: 2_000 };
      const withSlow = (each: object) =>
        servers({ ...two, db: { command: 'db', policy: { call } } }, { views: each });
      const { stage, tokenOf } = await issuedPlace({ settings: withSlow(views) });
      const client = await clientAt(stage.url, { mode, bearer: tokenOf({ sub: 'ada' }) });
      const receipt = client.callTool({ name: 'db__ask', arguments: {} });
      const background = await stage.nextCall('db');
      await stage.advance(2_000);
      expect(JSON.stringify(await receipt)).toContain('collect_call');
      const refusal = refusalOf(client.callTool({ name: 'db__ask', arguments: {} }));
      const current = await stage.nextCall('db');
      await stage.apply(withSlow({ ...views, review }));
      await refusal;
      await stage.settle();
      expect([background.isSettled, current.isSettled]).toEqual([true, true]);
      expect(stage.troupe.backgroundCalls()).toEqual([]);
    },
  );

  it('ends a call that waits for its answer, when an edit takes its rule away', async () => {
    const { stage, tokenOf } = await issuedPlace();
    const authorization = `Bearer ${tokenOf({ sub: 'ada' })}`;
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' };
    const asked = post(stage.url, modernCall, { ...headers, 'mcp-name': 'db__ask', authorization });
    const call = await stage.nextCall('db');
    void stage.sessions.of('db').ask(form, call);
    expect((await answerOf(await asked))[1]).toContain('input_required');
    await stage.apply(settingsWith({ ...views, review }));
    await stage.settle();
    expect(call.isSettled).toBe(true);
  });

  it('shows no metrics to a token with rules, also where one view is all that is served', async () => {
    const { stage, tokenOf } = await issuedPlace({ view: 'review' });
    const authorization = `Bearer ${tokenOf({ sub: 'ada' })}`;
    const metrics = await fetch(new URL('/metrics', stage.url), { headers: { authorization } });
    expect(metrics.status).toBe(403);
  });

  it('accepts tokens for the address of a view there alone, which its metadata names', async () => {
    const { stage, open } = await issuedPlace();
    const aud = at(stage, 'review').href;
    expect((await open({ sub: 'ada', aud }, at(stage, 'review')))[0]).toBe(200);
    expect((await open({ sub: 'ada', aud }))[0]).toBe(401);
    const refused = await post(at(stage, 'review'), initialize(), { authorization: '' });
    const link = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '');
    const metadata = (await (await fetch(link?.[1] ?? '')).json()) as object;
    expect(metadata).toMatchObject({ resource: aud });
  });
});
