import { describe, expect, it, onTestFinished } from 'vitest';
import type { ForkView } from '../../../src/domain/host/inspection.ts';
import { startInspector } from '../../../visualizations/server/inspector-server.ts';
import { servers, stageOf } from '../../runtime/stage.ts';
import { Browser } from './browser.ts';

async function start() {
  const stage = await stageOf({ settings: servers({ db: 'srv' }), record: true });
  const { inspection } = stage.troupe;
  const inspector = await startInspector({ source: inspection, mode: 'live', title: '/project' });
  onTestFinished(() => inspector.close());
  const browser = await Browser.of(inspector);
  const db = inspection.picture()?.actors.find(({ server }) => server === 'db');
  const actor = db?.actor ?? '';
  const ask = async (path: string, body: unknown) => {
    const { status, body: text } = await browser.post(path, JSON.stringify(body));
    return { status, said: JSON.parse(text) as ForkView & { readonly error?: unknown } };
  };
  const fork = async (at = inspection.last) => (await ask('/api/fork', { at, actor })).said;
  return { browser, inspection, actor, ask, fork };
}

describe("forks through the inspector's API", () => {
  it('start at a given moment, process events and time, and have no outside effects', async () => {
    const { inspection, actor, ask, fork } = await start();
    const begun = await fork();
    expect(begun).toMatchObject({ fork: 'f1', actor, from: inspection.last, records: [] });
    const stop = await ask('/api/fork/f1', { event: { type: 'server.stop' } });
    expect(stop.said.state.leaves).toContain('connection.engaged.live.closing');
    const end = { type: 'xstate.done.actor.session' };
    const ended = await ask('/api/fork/f1', { event: end });
    expect(ended.said.state.leaves).toContain('connection.parked.stopped');
    const later = await ask('/api/fork/f1', { advanceMs: 60_000 });
    expect(later.said.t).toBe(begun.t + 60_000);
    expect(inspection.picture()?.servers.find(({ name }) => name === 'db')?.state).not.toBe(
      'stopped',
    );
  });

  it('can begin in the past', async () => {
    const { inspection, actor, fork } = await start();
    const born = inspection
      .records(1, 1_000)
      .find((record) => record.kind === 'state' && record.actor === actor);
    expect((await fork(born?.n)).state.leaves).toContain('connection.engaged.queued');
  });

  it('are replaced by newer forks and can be deleted', async () => {
    const { browser, ask, fork } = await start();
    for (let count = 0; count < 9; count += 1) await fork();
    expect(await ask('/api/fork/f1', { advanceMs: 1 })).toMatchObject({
      status: 400,
      said: { error: { message: expect.stringContaining('fork f1 does not exist') as string } },
    });
    expect(await ask('/api/fork/f9', { advanceMs: 1 })).toMatchObject({ status: 200 });
    expect(await browser.remove('/api/fork/f9')).toMatchObject({ status: 204 });
    expect(await ask('/api/fork/f9', { advanceMs: 1 })).toMatchObject({ status: 400 });
  });

  it.each([
    ['/api/fork', {}, /send \{"at": 120/],
    ['/api/fork', { at: -1, actor: 'x:1' }, /send \{"at": 120/],
    ['/api/fork', { at: 1.5, actor: 'x:1' }, /send \{"at": 120/],
    ['/api/fork', { at: 1, actor: 'x:none' }, /there is no server x:none/],
    ['/api/fork', { at: 999_999, actor: 'x:1' }, /there is no server x:1/],
    ['/api/fork/f1', {}, /send \{"event"/],
    ['/api/fork/f1', { event: 'server.stop' }, /send \{"event"/],
    ['/api/fork/f1', { event: { type: 'no.such' } }, /servers never get the event "no.such"/],
    ['/api/fork/f1', { advanceMs: -1 }, /advanceMs must be from 0/],
  ])('refuse %s %j', async (path, body, message) => {
    const { ask, fork } = await start();
    await fork();
    expect(await ask(path, body)).toMatchObject({
      status: 400,
      said: {
        error: {
          code: 'INVALID_ARGUMENTS',
          message: expect.stringMatching(message) as string,
        },
      },
    });
  });

  it('reject an actor that is not a server', async () => {
    const { inspection, ask } = await start();
    const root = inspection.picture()?.actors.find(({ machine }) => machine === 'troupe');
    const { status } = await ask('/api/fork', { at: inspection.last, actor: root?.actor });
    expect(status).toBe(400);
  });
});

describe("a test from the inspector's API", () => {
  it('is plain text', async () => {
    const { browser, actor, inspection } = await start();
    const { status, headers, body } = await browser.get(
      `/api/test?actor=${encodeURIComponent(actor)}&to=${inspection.last}`,
    );
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(body).toContain("from 'mcp-troupe/testing'");
  });

  it.each(['', '?actor=x:none', '?actor=x:1&to=99999'])('is refused for %j', async (query) => {
    const { browser } = await start();
    const { status, body } = await browser.get(`/api/test${query}`);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'INVALID_ARGUMENTS' } });
  });
});
