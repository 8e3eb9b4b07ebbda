/** Seamless handover: the next generation of a server is ready before the old one leaves. */

import { describe, expect, it } from 'vitest';
import type { TroupeError } from '../../src/domain/troupe-error.ts';
import type { SessionScript } from '../../src/testing/session-script.ts';
import { crash, failure, type Stage, servers, stageOf, tool } from './stage.ts';

const seamless = (arg: string, more: Readonly<Record<string, unknown>> = {}) => ({
  command: 'db',
  args: [arg],
  handover: 'seamless',
  ...more,
});

/** A server that is ready, with its first session; the next one waits for the test. */
async function ready(more: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
  const play = await stageOf({ settings: servers({ db: seamless('1', more) }) });
  play.obedient = new Set();
  return play;
}

/** The same, after an edit: its successor is starting. */
async function handingOver(more: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
  const play = await ready(more);
  await play.apply(servers({ db: seamless('2', more) }));
  return play;
}

function session({ sessions }: Stage, index: number): SessionScript {
  const script = sessions.scripts[index];
  if (script === undefined) throw new Error(`There is no session ${index}.`);
  return script;
}

const states = ({ sessions }: Stage): readonly string[] =>
  sessions.scripts.map(({ state }) => state);

/** Every list of tools that was visible, without repetition. */
function watchTools({ troupe }: Stage): { readonly seen: string[]; readonly told: number[] } {
  const names = (): string =>
    troupe
      .tools()
      .map((shown) => shown.tool)
      .join();
  const seen = [names()];
  const told: number[] = [];
  const look = (): void => {
    if (seen.at(-1) !== names()) seen.push(names());
  };
  troupe.on('tools.changed', () => {
    told.push(told.length + 1);
    look();
  });
  troupe.on('status.changed', look);
  troupe.on('reconciled', look);
  return { seen, told };
}

async function becomeReady(play: Stage, index = 1, tools = ['query']): Promise<void> {
  session(play, index).open({ pid: 100 + index });
  session(play, index).list(tools.map((name) => tool(name)));
  await play.settle();
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: TroupeError) => `${error.code} ${error.outcome}`,
  );

describe('a seamless handover', () => {
  it('serves from the old generation until the new one has listed its tools', async () => {
    const play = await ready();
    const tools = watchTools(play);
    const { generation } = play.troupe.status('db') ?? {};
    await play.apply(servers({ db: seamless('2') }));
    expect(states(play)).toEqual(['open', 'opening']);
    expect(play.troupe.status('db')).toMatchObject({
      state: 'ready',
      generation,
      tools: 1,
      successor: { state: 'connecting', attempt: 1 },
    });
    session(play, 1).open({ pid: 101 });
    await play.settle();
    expect(play.troupe.status('db')?.successor).toMatchObject({ state: 'loadingTools', pid: 101 });
    const early = play.troupe.callTool('mcp__db__query');
    await play.settle();
    expect(session(play, 0).calls).toHaveLength(1);
    session(play, 0).calls[0]?.answer({ content: [] });
    await early;

    session(play, 1).list([tool('query')]);
    await play.settle();
    const after = play.troupe.status('db');
    expect(after).toMatchObject({ state: 'ready', pid: 101, catalog: 'live', tools: 1 });
    expect([after?.successor, after?.generation === generation]).toEqual([undefined, false]);
    const late = play.troupe.callTool('mcp__db__query');
    await play.settle();
    expect(session(play, 1).calls).toHaveLength(1);
    session(play, 1).calls[0]?.answer({ content: [] });
    await late;
    expect(tools).toEqual({ seen: ['query'], told: [] });
    expect(play.errors).toEqual([]);
  });

  it('emits one tools.changed and never an intermediate list', async () => {
    const play = await ready();
    const tools = watchTools(play);
    await play.apply(servers({ db: seamless('2') }));
    await becomeReady(play, 1, ['other', 'query']);
    await play.advance(10_000);
    expect(tools).toEqual({ seen: ['query', 'other,query'], told: [1] });
  });

  it('never reports the server as not ready', async () => {
    const play = await ready();
    const told: string[] = [];
    play.troupe.on('status.changed', ({ status }) => told.push(status.state));
    await play.apply(servers({ db: seamless('2') }));
    await becomeReady(play);
    await play.advance(10_000);
    expect([...new Set(told)]).toEqual(['ready']);
  });

  it('lets running calls finish on their session before it closes', async () => {
    const play = await ready();
    const slow = [0, 1].map(() => codeOf(play.troupe.callTool('mcp__db__query')));
    await play.settle();
    await play.apply(servers({ db: seamless('2') }));
    await becomeReady(play);
    expect(play.troupe.status('db')).toMatchObject({ state: 'ready', predecessor: {} });
    await play.advance(20_000);
    expect(states(play)).toEqual(['open', 'open']);
    session(play, 0).calls[0]?.answer({ content: [] });
    await play.settle();
    expect(states(play)).toEqual(['open', 'open']);
    session(play, 0).calls[1]?.answer({ content: [] });
    await play.settle();
    expect(await Promise.all(slow)).toEqual(['ok', 'ok']);
    // At once, without waiting for more calls.
    expect(states(play)).toEqual(['closing', 'open']);
    session(play, 0).closed();
    await play.settle();
    expect(play.troupe.status('db')?.predecessor).toBeUndefined();
    expect(session(play, 1).calls).toEqual([]);
    expect(play.childIds().filter((id) => id.startsWith('db'))).toEqual(['db.1']);
  });

  it('ends a call at its deadline', async () => {
    const play = await ready({ timeoutMs: 5_000 });
    const slow = codeOf(play.troupe.callTool('mcp__db__query', {}, { timeoutMs: 60_000 }));
    await play.settle();
    await play.apply(servers({ db: seamless('2', { timeoutMs: 5_000 }) }));
    await becomeReady(play);
    await play.advance(4_999);
    expect(states(play)).toEqual(['open', 'open']);
    await play.advance(1);
    expect(states(play)).toEqual(['closing', 'open']);
    expect(await slow).toBe('CANCELLED unknown');
  });

  it('sends queued calls to the successor', async () => {
    const play = await ready();
    const calls = Array.from({ length: 65 }, () => codeOf(play.troupe.callTool('mcp__db__query')));
    await play.settle();
    await play.apply(servers({ db: seamless('2') }));
    await becomeReady(play);
    for (const call of session(play, 0).calls) call.answer({ content: [] });
    await play.settle();
    expect([session(play, 0).calls.length, session(play, 1).calls.length]).toEqual([64, 1]);
    session(play, 1).calls[0]?.answer({ content: [] });
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['ok']));
  });

  it('keeps the old generation when the edit is reverted', async () => {
    const play = await handingOver();
    const before = session(play, 0).commands.length;
    await play.apply(servers({ db: seamless('1') }));
    expect(states(play)).toEqual(['open', 'closing']);
    expect(play.troupe.status('db')?.successor).toBeUndefined();
    session(play, 1).closed();
    await play.advance(60_000);
    expect(states(play)).toEqual(['open', 'over']);
    expect(session(play, 0).commands).toHaveLength(before);
    expect(play.stateOf('db')).toBe('ready');
  });

  it('restarts with the last of several edits', async () => {
    const play = await handingOver();
    await play.apply(servers({ db: seamless('3') }));
    await play.apply(servers({ db: seamless('4', { description: 'last' }) }));
    expect(states(play)).toEqual(['open', 'closing']);
    session(play, 1).closed();
    await play.settle();
    expect(states(play)).toEqual(['open', 'over', 'opening']);
    await becomeReady(play, 2);
    session(play, 0).closed();
    await play.advance(60_000);
    expect(states(play)).toEqual(['over', 'over', 'open']);
    expect(play.stateOf('db')).toBe('ready');
    expect(await play.troupe.plan()).toMatchObject([{ step: 'keep' }]);
  });

  it('starts the next successor once the predecessor is done', async () => {
    const play = await ready();
    const slow = play.troupe.callTool('mcp__db__query');
    await play.settle();
    await play.apply(servers({ db: seamless('2') }));
    await becomeReady(play);
    await play.apply(servers({ db: seamless('3') }));
    expect(states(play)).toEqual(['open', 'open']);
    expect(await play.troupe.plan()).toMatchObject([
      { step: 'keep', why: 'its predecessor still finishes its calls' },
    ]);
    session(play, 0).calls[0]?.answer({ content: [] });
    await slow;
    await play.settle();
    session(play, 0).closed();
    await play.settle();
    expect(states(play)).toEqual(['over', 'open', 'opening']);
  });

  it.each<[string, (play: Stage) => Promise<void>]>([
    ['removed', (play) => play.apply(servers({}))],
    ['disabled', (play) => play.apply(servers({ db: seamless('2', { enabled: false }) }))],
    ['excluded', (play) => play.apply(servers({ db: seamless('2') }, { excluded: ['db'] }))],
    [
      'reverted and disabled',
      (play) => play.apply(servers({ db: seamless('1', { enabled: false }) })),
    ],
    ['no longer allowed', async (play) => play.troupe.send({ type: 'allow.changed', allowed: [] })],
    ['stopped', async (play) => play.troupe.send({ type: 'server.stop', server: 'db' })],
    ['changed to one without handover', (play) => play.apply(servers({ db: 'other' }))],
  ])('ends both immediately when the server is %s', async (_, end) => {
    const play = await handingOver();
    const call = codeOf(play.troupe.callTool('mcp__db__query'));
    await play.settle();
    await end(play);
    await play.settle();
    expect(states(play)).toEqual(['closing', 'closing']);
    expect(play.troupe.tools()).toEqual([]);
    expect(await call).toBe('CANCELLED unknown');
  });

  it('ends the predecessor too when the server is no longer admitted', async () => {
    const play = await ready();
    const call = codeOf(play.troupe.callTool('mcp__db__query'));
    await play.settle();
    await play.apply(servers({ db: seamless('2') }));
    await becomeReady(play);
    play.troupe.send({ type: 'allow.changed', allowed: [] });
    await play.settle();
    expect(states(play)).toEqual(['closing', 'closing']);
    expect(await call).toBe('CANCELLED unknown');
  });

  it('ends the old generation while the new one waits for approval', async () => {
    const project = (arg: string) => servers({ db: seamless(arg) });
    const play = await stageOf({ projectSettings: project('1') });
    play.troupe.send({ type: 'approval.grant', server: 'db' });
    await play.settle();
    expect(states(play)).toEqual(['open']);
    play.obedient = new Set();
    play.files.write('/project/.mcp.json', project('2'));
    await play.advance(300);
    expect(states(play)).toEqual(['closing']);
    session(play, 0).closed();
    await play.settle();
    expect(play.stateOf('db')).toBe('blocked.pendingApproval');
    expect(states(play)).toEqual(['over']);
  });

  it("ends both when the new generation's approval is revoked", async () => {
    const project = (arg: string) => servers({ db: seamless(arg) });
    const play = await stageOf({ projectSettings: project('2') });
    play.troupe.send({ type: 'approval.grant', server: 'db' });
    play.files.write('/project/.mcp.json', project('1'));
    await play.advance(300);
    play.troupe.send({ type: 'approval.grant', server: 'db' });
    await play.settle();
    play.obedient = new Set();
    play.files.write('/project/.mcp.json', project('2'));
    await play.advance(300);
    // Both generations are approved, so one hands over to the other.
    expect(states(play).slice(-2)).toEqual(['open', 'opening']);
    play.troupe.send({ type: 'approval.revoke', server: 'db' });
    await play.settle();
    expect(states(play).slice(-2)).toEqual(['closing', 'closing']);
  });

  it('ends the old generation even if its successor fails permanently', async () => {
    const play = await handingOver();
    session(play, 1).fail(failure('versionUnsupported'));
    await play.settle();
    expect(states(play)).toEqual(['closing', 'over']);
    expect(play.troupe.status('db')).toMatchObject({
      state: 'failed',
      reason: 'versionUnsupported',
      tools: 0,
      lastError: { code: 'VERSION_UNSUPPORTED' },
    });
    expect(play.troupe.tools()).toEqual([]);
  });

  it('keeps serving while its successor is retried', async () => {
    const play = await handingOver();
    session(play, 1).fail(crash());
    await play.settle();
    expect(play.troupe.status('db')).toMatchObject({
      state: 'ready',
      successor: { state: 'backingOff', lastError: { code: 'CRASHED' } },
    });
    expect(play.troupe.tools()).toHaveLength(1);
    await play.advance(10_000);
    expect(states(play)).toEqual(['open', 'over', 'opening']);
  });

  it('becomes an ordinary replacement when the old generation is lost first', async () => {
    const play = await handingOver();
    session(play, 0).fail(crash());
    await play.settle();
    expect(play.stateOf('db')).toBe('connecting');
    const call = play.troupe.callServerTool('db', 'query');
    await play.settle();
    await becomeReady(play);
    session(play, 1).calls[0]?.answer({ content: [] });
    await call;
    await play.advance(60_000);
    // No server starts again with the old settings.
    expect(states(play)).toEqual(['over', 'open']);
  });

  it('begins only from a ready server', async () => {
    const play = await stageOf({ settings: servers({ db: seamless('1') }), obedient: [] });
    await play.apply(servers({ db: seamless('2') }));
    expect(states(play)).toEqual(['closing']);
  });

  it('takes one slot in the server budget', async () => {
    const full = { policy: { admission: { maxServers: 2, budget: 'enforce' } } };
    const three = (arg: string) => servers({ db: seamless(arg), b: 'b', c: 'c' }, full);
    const play = await stageOf({ settings: three('1') });
    play.obedient = new Set();
    await play.apply(three('2'));
    expect(play.sessions.scripts.map(({ input, state }) => `${input.server} ${state}`)).toEqual([
      'db open',
      'b open',
      'db opening',
    ]);
    expect(play.troupe.snapshot().troupe.budget).toMatchObject({ taken: 2, refused: ['c'] });
  });

  it('can be enabled by the same edit that changes the connection', async () => {
    const play = await stageOf({ settings: servers({ db: { command: 'db', args: ['1'] } }) });
    play.obedient = new Set();
    await play.apply(servers({ db: seamless('2') }));
    expect(states(play)).toEqual(['open', 'opening']);
  });

  it('is logged and explained', async () => {
    const play = await ready();
    const slow = play.troupe.callTool('mcp__db__query');
    await play.settle();
    await play.apply(servers({ db: seamless('2') }));
    expect(play.troupe.explain('db')?.status.successor).toMatchObject({ state: 'connecting' });
    await becomeReady(play);
    session(play, 0).calls[0]?.answer({ content: [] });
    await slow;
    await play.settle();
    session(play, 0).closed();
    await play.settle();
    expect(
      play.troupe
        .logs('db')
        ?.map(({ line }) => line)
        .slice(-4),
    ).toEqual([
      'its settings changed: a successor starts beside it',
      'its successor has taken over',
      'ready with 1 tool',
      'its predecessor has left',
    ]);
  });

  it('keeps every server state explainable', async () => {
    const play = await handingOver();
    await becomeReady(play);
    play.troupe.send({ type: 'server.stop', server: 'db' });
    session(play, 1).closed();
    await play.settle();
    const explained = play.troupe.explain('db');
    expect(explained?.status.state).toBe('stopped');
    expect(explained?.movedBy.map(({ event }) => event)).toContain('server.start');
  });

  it('ends with the troupe at any stage', async () => {
    const play = await handingOver();
    const stopped = play.troupe.stop();
    await play.settle();
    expect(states(play)).toEqual(['closing', 'closing']);
    for (const script of play.sessions.scripts) script.closed();
    await play.settle();
    await stopped;
    expect(play.clock.pendingCount).toBe(0);
  });
});
