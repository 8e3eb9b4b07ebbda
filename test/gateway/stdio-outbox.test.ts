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
  const there = await stdioStage('legacy', options);
  await there.ask('logging/setLevel', { level: 'debug' });
  there.stdout.pause();
  return there;
}

describe('a stdio host that stops reading', () => {
  it('loses log lines, which are counted, and stays within the memory limit', async () => {
    const there = await notReading();
    for (let count = 0; count < 200; count += 1) {
      there.sessions.of('db').say({ level: 'info', data: megabyte });
      await new Promise(setImmediate);
    }
    expect(there.stdout.writableLength).toBeLessThan(3 * megabyte.length);
    expect(counted(there, 'dropped_notes')).toBeGreaterThan(190);
  });

  it("gets its call's response after the lost log lines", async () => {
    const there = await notReading();
    const answered = there.ask('tools/call', { name: 'db__query' });
    const call = await there.nextCall('db');
    for (let count = 0; count < 20; count += 1)
      there.sessions.of('db').say({ level: 'info', data: megabyte });
    call.answer({ content: [{ type: 'text', text: 'the answer' }] });
    there.stdout.resume();
    expect(await answered).toMatchObject({ result: { content: [{ text: 'the answer' }] } });
  });

  it('receives one notification for each changed list when it reads again', async () => {
    const there = await notReading({ limits: { noteBytes: 100_000 } });
    for (let count = 0; count < 2; count += 1)
      there.sessions.of('db').say({ level: 'info', data: megabyte.slice(0, 200_000) });
    expect(there.stdout.writableLength).toBeGreaterThan(100_000);
    const held = there.stdout.writableLength;
    for (const name of ['a', 'b', 'c']) {
      there.sessions.of('db').notify();
      there.sessions.of('db').list([{ name, inputSchema: { type: 'object' } }]);
      await there.settle();
      await there.advance(2_000);
    }
    expect(there.stdout.writableLength).toBe(held);
    there.stdout.resume();
    await once(there.stdout, 'drain');
    expect(await there.heard()).toMatchObject({ method: 'notifications/message' });
    expect(await there.heard()).toMatchObject({ method: 'notifications/tools/list_changed' });
    await there.ask('ping');
    const next = there.heard();
    there.sessions.of('db').say({ level: 'info', data: 'last' });
    expect(await next).toMatchObject({ params: { data: 'last' } });
  });

  it('is disconnected when its unread responses exceed the limit', async () => {
    const there = await notReading({ limits: { unsentBytes: 2 * megabyte.length } });
    for (let id = 1; id <= 2; id += 1) {
      there.begin(id, 'tools/call', { name: 'db__query' });
      (await there.nextCall('db')).answer({ content: [{ type: 'text', text: megabyte }] });
      await new Promise(setImmediate);
    }
    expect(await there.ended).toBe(true);
    expect(counted(there, 'unread_answers')).toBe(1);
    expect(there.reports).toEqual([expect.stringContaining('does not read its answers')]);
  });
});
