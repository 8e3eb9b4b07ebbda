/** What counts for the calls that clients make through a view: its limits, and the ledger. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLedger, readLedger } from '../../actors/stores/ledger.ts';
import { realClock } from '../../src/runtime/real-clock.ts';
import { pong, servers } from '../runtime/stage.ts';
import { type AnyClient, gatewayStage, join, lines } from './gateway-stage.ts';
import { stdioStage } from './stdio-stage.ts';

const settingsWith = (review: object, mcp: object = {}) =>
  servers({ db: 'db', web: 'web' }, { ...mcp, views: { review } });
const refused = (answer: unknown): boolean => JSON.stringify(answer).includes('RATE_LIMITED');

describe('the limits of a view', () => {
  it.each(lines)('bound its clients together over HTTP, and no other call (%s)', async (line) => {
    const stage = await gatewayStage({ settings: settingsWith({ limits: { perMinute: 1 } }) });
    const part = { url: new URL(`${stage.url.href}/review`) };
    const called = async (client: AnyClient, server: string): Promise<unknown> => {
      const made = client.call(`${server}__query`);
      (await stage.nextCall(server)).answer(pong);
      return made;
    };
    const whole = await join(stage, line);
    expect(refused(await called(whole, 'db'))).toBe(false);
    expect(refused(await called(await join(part, line), 'db'))).toBe(false);
    const other = await join(part, line === 'old line' ? 'modern' : 'old line');
    expect(refused(await other.call('web__query'))).toBe(true);
    expect(refused(await called(whole, 'web'))).toBe(false);
  });

  it.each(lines)('bound each of its clients by itself over HTTP (%s)', async (line) => {
    const limits = { perClientPerMinute: 1 };
    const stage = await gatewayStage({ settings: settingsWith({ limits }) });
    const part = { url: new URL(`${stage.url.href}/review`) };
    const called = async (client: AnyClient): Promise<unknown> => {
      const made = client.call('db__query');
      (await stage.nextCall('db')).answer(pong);
      return made;
    };
    const client = await join(part, line);
    expect(refused(await called(client))).toBe(false);
    expect(refused(await client.call('web__query'))).toBe(true);
    const other = await join(part, line === 'old line' ? 'modern' : 'old line');
    expect(refused(await called(other))).toBe(false);
  });

  it.each(['legacy', 'modern'] as const)('bound its calls over stdio (%s)', async (era) => {
    const limits = { perMinute: 1 };
    const stage = await stdioStage(era, { settings: settingsWith({ limits }), view: 'review' });
    const made = stage.ask('tools/call', { name: 'db__query', arguments: {} });
    (await stage.nextCall('db')).answer(pong);
    expect(refused(await made)).toBe(false);
    expect(refused(await stage.ask('tools/call', { name: 'web__query', arguments: {} }))).toBe(
      true,
    );
  });
});

describe('the ledger', () => {
  it('names the view through which a client called', async () => {
    const stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-view-'));
    onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
    let close = (): Promise<void> => Promise.resolve();
    const stage = await gatewayStage({
      settings: settingsWith({ tools: { rename: { db: { query: 'ask' } } } }, { ledger: true }),
      keepLedger: (onProblems) => {
        const ledger = createLedger({ stateDir, clock: realClock, onProblems });
        close = () => ledger.close();
        return ledger;
      },
    });
    const part = await join({ url: new URL(`${stage.url.href}/review`) }, 'modern');
    const whole = await join(stage, 'modern');
    for (const [client, name] of [
      [part, 'db__ask'],
      [whole, 'db__query'],
    ] as const) {
      const made = client.call(name);
      (await stage.nextCall('db')).answer(pong);
      await made;
    }
    await close();
    const records = [];
    for await (const record of readLedger(stateDir)) records.push(record);
    expect(records).toMatchObject([{ view: 'review', tool: 'query' }, { tool: 'query' }]);
    expect(records[1]).not.toHaveProperty('view');
  });
});
