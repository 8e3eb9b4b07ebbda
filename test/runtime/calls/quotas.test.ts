import { describe, expect, it } from 'vitest';
import {
  call,
  callFailure,
  pong,
  type Stage,
  servers,
  stageOf,
  tool,
  type Watched,
} from '../stage.ts';

const limited = (limits: object, more: object = {}) =>
  stageOf({ settings: servers({ db: { command: 'srv', limits, ...more } }) });

async function answered(stage: Stage, options: Parameters<typeof call>[2] = {}) {
  const made: Watched<unknown> = call(stage, 'db', options);
  await stage.settle();
  stage.sessions.of('db').calls.at(-1)?.answer(pong);
  await stage.settle();
  return made;
}

const refused = { code: 'RATE_LIMITED', outcome: 'not_executed', retryable: true };

describe('a limit on calls', () => {
  it('refuses a further call until the oldest one is a minute old', async () => {
    const stage = await limited({ perMinute: 2 });
    await answered(stage);
    await stage.advance(10_000);
    await answered(stage);
    await stage.advance(20_000);
    const late = await answered(stage);
    expect(late.error).toMatchObject({ ...refused, server: 'db', retryAfterMs: 30_000 });
    expect(stage.sessions.of('db').calls).toHaveLength(2);
    await stage.advance(29_999);
    expect((await answered(stage)).error).toMatchObject({ ...refused, retryAfterMs: 1 });
    await stage.advance(1);
    expect((await answered(stage)).state).toBe('done');
    expect((await answered(stage)).error).toMatchObject({ ...refused, retryAfterMs: 10_000 });
  });

  it('counts each client by itself, and each user by the name that a token proves', async () => {
    const stage = await limited({ perClientPerMinute: 1 });
    const user = { onQuestion: () => undefined, user: 'ada' };
    expect((await answered(stage, { clientName: 'a' })).state).toBe('done');
    expect((await answered(stage, { clientName: 'a' })).error).toMatchObject(refused);
    expect((await answered(stage, { clientName: 'b' })).state).toBe('done');
    expect((await answered(stage, { clientName: 'c', client: user })).state).toBe('done');
    expect((await answered(stage, { clientName: 'd', client: user })).error).toMatchObject(refused);
    expect((await answered(stage, { clientName: 'ada' })).state).toBe('done');
  });

  it('applies to one tool, even if the tool is found only once its server has started', async () => {
    const tools = { overrides: { query: { limits: { perMinute: 1 } } } };
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', startup: 'lazy', tools } }),
    });
    stage.tools.set('db', [tool('query'), tool('list')]);
    const made = stage.troupe.callTool('mcp__db__query');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await made;
    await expect(stage.troupe.callTool('mcp__db__query')).rejects.toMatchObject(refused);
    expect((await answered(stage, { tool: 'list' })).state).toBe('done');
  });

  it('applies to all servers together, and to requests that call no tool', async () => {
    const settings = {
      ...servers({ db: { command: 'srv' }, api: { command: 'other' } }),
      mcp: { limits: { perMinute: 1 } },
    };
    const stage = await stageOf({ settings });
    await answered(stage);
    const other = call(stage, 'api');
    await stage.settle();
    expect(other.error).toMatchObject(refused);
    await expect(stage.troupe.readResource('api', 'file:///a')).rejects.toMatchObject(refused);
  });

  it('gives the place of a call that never ran to the next one', async () => {
    const stage = await limited({ perMinute: 1 });
    const aborted = new AbortController();
    aborted.abort();
    expect((await answered(stage, { signal: aborted.signal })).error?.code).toBe('CANCELLED');
    const unwritten = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('rateLimited', false));
    await stage.settle();
    expect(unwritten.error?.outcome).toBe('not_executed');
    expect((await answered(stage)).state).toBe('done');
    expect((await answered(stage)).error).toMatchObject(refused);
  });

  it('keeps the place of a call whose outcome is unknown', async () => {
    const stage = await limited({ perMinute: 1 });
    const lost = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('streamLost', true));
    await stage.advance(1_000);
    expect(lost.error?.outcome).toBe('unknown');
    expect((await answered(stage)).error).toMatchObject(refused);
  });
});
