import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLedger, type Ledger, readLedger } from '../../../actors/stores/ledger.ts';
import type { CallRecord } from '../../../src/domain/call-record.ts';
import { parseJson, writeJson } from '../../../src/domain/data/exact-json.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { call, callFailure, pong, servers, stageOf, tool } from '../stage.ts';

async function recorded(ledger: unknown = true, entry: object = {}) {
  const stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-ledger-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  let store: Ledger | undefined;
  const stage = await stageOf({
    settings: servers({ db: { command: 'srv', ...entry } }, { ledger }),
    keepLedger: (onProblems) => {
      store = createLedger({ stateDir, clock: realClock, onProblems });
      return store;
    },
  });
  const records = async (): Promise<readonly (CallRecord | undefined)[]> => {
    await stage.settle();
    await store?.close();
    const all: (CallRecord | undefined)[] = [];
    for await (const record of readLedger(stateDir)) all.push(record);
    return all;
  };
  const answer = async (result: object = pong): Promise<void> => {
    await stage.settle();
    stage.sessions
      .of('db')
      .calls.at(-1)
      ?.answer(result as typeof pong);
    await stage.settle();
  };
  return { stage, records, answer };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('a recorded call', () => {
  it('has its times, sizes, outcome and the digest of its arguments', async () => {
    const { stage, records, answer } = await recorded();
    await stage.advance(1_500);
    const time = new Date(stage.clock.wallNow()).toISOString();
    const args = { sql: 'é', id: 1 };
    const made = stage.troupe.callServerTool('db', 'query', args);
    await stage.advance(250);
    await answer();
    await made;
    expect(await records()).toEqual([
      {
        time,
        project: '/project',
        client: 'host',
        server: 'db',
        method: 'tools/call',
        tool: 'query',
        outcome: 'executed',
        durationMs: 250,
        argumentsBytes: Buffer.byteLength(JSON.stringify(args)),
        argumentsSha256: sha256('{"id":1,"sql":"é"}'),
        resultBytes: JSON.stringify(pong).length,
      },
    ]);
  });

  it('holds its arguments if the settings ask for them, with numbers as they were written', async () => {
    const { stage, records, answer } = await recorded({ arguments: 'full' });
    const args = parseJson('{"id":1.10}') as Readonly<Record<string, unknown>>;
    const made = stage.troupe.callServerTool('db', 'query', args);
    await answer();
    await made;
    const [record] = await records();
    expect(writeJson(record?.arguments)).toBe('{"id":1.10}');
    expect(record).not.toHaveProperty('argumentsSha256');
  });

  it('names its client, and the user of a token beside it', async () => {
    const { stage, records, answer } = await recorded();
    const client = { onQuestion: () => undefined, user: 'ada' };
    for (const options of [{ clientName: 'editor' }, { clientName: 'editor', client }]) {
      call(stage, 'db', options);
      await answer();
    }
    const [first, second] = await records();
    expect(first).toMatchObject({ client: 'editor' });
    expect(first).not.toHaveProperty('user');
    expect(second).toMatchObject({ client: 'editor', user: 'ada' });
  });

  it('shows a tool that answered with an error, and a question of a modern server', async () => {
    const { stage, records, answer } = await recorded();
    call(stage, 'db');
    await answer({ ...pong, isError: true });
    call(stage, 'db');
    await answer({ ...pong, resultType: 'input_required' });
    expect(await records()).toMatchObject([
      { outcome: 'executed', isError: true },
      { outcome: 'unknown' },
    ]);
  });

  it('shows the code and the outcome of an error', async () => {
    const { stage, records } = await recorded(true, { limits: { perMinute: 1 } });
    call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('streamLost', true));
    await stage.advance(1_000);
    call(stage, 'db');
    call(stage, 'db', { timeoutMs: -1 });
    const [lost, limited, wrong] = await records();
    expect(lost).toMatchObject({ code: 'STREAM_LOST', outcome: 'unknown' });
    expect(limited).toMatchObject({ code: 'RATE_LIMITED', outcome: 'not_executed' });
    expect(limited).not.toHaveProperty('resultBytes');
    expect(wrong).toMatchObject({ code: 'INVALID_ARGUMENTS', outcome: 'not_executed' });
  });

  it('is recorded with the name by which an unknown tool was called', async () => {
    const { stage, records } = await recorded();
    await expect(stage.troupe.callTool('mcp__db__nope')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
    });
    await expect(stage.troupe.callServerTool('absent', 'query')).rejects.toThrow('no server');
    expect(await records()).toMatchObject([{ server: 'db', tool: 'mcp__db__nope' }]);
  });

  it('fails as it would without a record if its arguments are not JSON', async () => {
    const { stage, records } = await recorded();
    const args: Record<string, unknown> = {};
    args['self'] = args;
    const made = stage.troupe.callServerTool('db', 'query', args);
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure('invalidArguments', false));
    await expect(made).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const [record] = await records();
    expect(record).toMatchObject({ code: 'INVALID_ARGUMENTS', argumentsBytes: 0 });
    expect(record).not.toHaveProperty('argumentsSha256');
  });

  it('is recorded when it ends, even in the background', async () => {
    const policy = { call: { backgroundAfterMs: 2_000, timeoutMs: 60_000 } };
    const { stage, records, answer } = await recorded(true, { policy });
    call(stage, 'db');
    await stage.advance(2_000);
    expect(await records()).toEqual([]);
    await stage.advance(3_000);
    await answer();
    expect(await records()).toMatchObject([{ outcome: 'executed', durationMs: 5_000 }]);
  });

  it('may be a request that calls no tool', async () => {
    const { stage, records } = await recorded({ arguments: 'full' });
    const made = stage.troupe.readResource('db', 'file:///a');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer({ contents: [] });
    await made.catch(() => undefined);
    const [record] = await records();
    expect(record).toMatchObject({ method: 'resources/read', arguments: { uri: 'file:///a' } });
    expect(record).not.toHaveProperty('tool');
  });
});

describe('the ledger of a troupe', () => {
  it('follows the settings at once', async () => {
    const { stage, records, answer } = await recorded(false);
    stage.tools.set('db', [tool('query')]);
    const callOnce = async (): Promise<void> => {
      call(stage, 'db');
      await answer();
    };
    await callOnce();
    expect(await records()).toEqual([]);
    await stage.apply(servers({ db: 'srv' }, { ledger: { files: 2 } }));
    await callOnce();
    expect(await records()).toHaveLength(1);
    await stage.apply(servers({ db: 'srv' }, { ledger: false }));
    await callOnce();
    expect(await records()).toHaveLength(1);
  });

  it('is missing without a state folder, which is a problem', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }, { ledger: true }) });
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([
      { key: 'mcp.ledger', message: expect.stringContaining('set stateDir') },
    ]);
  });

  it('is reported missing once, and no longer once it is not wanted', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }, { ledger: true }) });
    let reports = 0;
    stage.troupe.on('settings.invalid', () => {
      reports += 1;
    });
    for (let calls = 0; calls < 3; calls += 1) call(stage, 'db');
    await stage.settle();
    expect([reports, stage.troupe.snapshot().troupe.problems.length]).toEqual([0, 1]);
    await stage.apply(servers({ db: 'srv' }));
    expect(stage.troupe.snapshot().troupe.problems).toEqual([]);
  });
});
