import { once } from 'node:events';
import { describe, expect, it } from 'vitest';

import { readOpenMetrics } from '../support/open-metrics.ts';
import { type StdioStage, stdioStage } from './stdio-stage.ts';

const kilobyte = 'x'.repeat(1_024);
const megabyte = kilobyte.repeat(1_024);

function counted({ gateway }: StdioStage, family: string): number | undefined {
  const text = gateway.metrics.text({ clients: 1, callsInFlight: 0 });
  return readOpenMetrics(text).get(`mcp_troupe_${family}`)?.samples[0]?.value;
}

/** A host that has asked for logs, and reads no more. */
async function notReading(options: Parameters<typeof stdioStage>[1] = {}): Promise<StdioStage> {
  const stage = await stdioStage('legacy', options);
  await stage.ask('logging/setLevel', { level: 'debug' });
  stage.stdout.pause();
  return stage;
}

describe('a stdio host that stops reading', () => {
  it('loses log lines, which are counted, and stays within the memory limit', async () => {
    const stage = await notReading();
    for (let count = 0; count < 200; count += 1) {
      stage.sessions.of('db').say({ level: 'info', data: megabyte });
      await new Promise(setImmediate);
    }
    expect(stage.stdout.writableLength).toBeLessThan(3 * megabyte.length);
    expect(counted(stage, 'dropped_notes')).toBeGreaterThan(190);
  });

  it("gets its call's response after the lost log lines", async () => {
    const stage = await notReading();
    const answered = stage.ask('tools/call', { name: 'db__query' });
    const call = await stage.nextCall('db');
    for (let count = 0; count < 20; count += 1)
      stage.sessions.of('db').say({ level: 'info', data: megabyte });
    call.answer({ content: [{ type: 'text', text: 'the answer' }] });
    stage.stdout.resume();
    expect(await answered).toMatchObject({ result: { content: [{ text: 'the answer' }] } });
  });

  it('receives one notification for each changed list when it reads again', async () => {
    const stage = await notReading({ limits: { noteBytes: 100_000 } });
    for (let count = 0; count < 2; count += 1)
      stage.sessions.of('db').say({ level: 'info', data: megabyte.slice(0, 200_000) });
    expect(stage.stdout.writableLength).toBeGreaterThan(100_000);
    const held = stage.stdout.writableLength;
    for (const name of ['a', 'b', 'c']) {
      stage.sessions.of('db').notify();
      stage.sessions.of('db').list([{ name, inputSchema: { type: 'object' } }]);
      await stage.settle();
      await stage.advance(2_000);
    }
    expect(stage.stdout.writableLength).toBe(held);
    stage.stdout.resume();
    await once(stage.stdout, 'drain');
    expect(await stage.heard()).toMatchObject({ method: 'notifications/message' });
    expect(await stage.heard()).toMatchObject({ method: 'notifications/tools/list_changed' });
    await stage.ask('ping');
    const next = stage.heard();
    stage.sessions.of('db').say({ level: 'info', data: 'last' });
    expect(await next).toMatchObject({ params: { data: 'last' } });
  });

  it('is disconnected when its unread responses exceed the limit', async () => {
    const stage = await notReading({ limits: { unsentBytes: 2 * megabyte.length } });
    for (let id = 1; id <= 2; id += 1) {
      stage.begin(id, 'tools/call', { name: 'db__query' });
      (await stage.nextCall('db')).answer({ content: [{ type: 'text', text: megabyte }] });
      await new Promise(setImmediate);
    }
    expect(await stage.ended).toBe(true);
    expect(counted(stage, 'unread_answers')).toBe(1);
    expect(stage.reports).toEqual([expect.stringContaining('does not read its answers')]);
  });
});
