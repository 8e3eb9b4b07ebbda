import { describe, expect, it } from 'vitest';

import { FaultLog } from '../../src/gateway/fault-log.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { gatewayStage, openSession, post } from './gateway-stage.ts';

const minuteMs = 60_000;

function faultLog() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  return { clock, lines, log: new FaultLog(clock, (line) => lines.push(line)) };
}

const fault = (code: string, message = code) => Object.assign(new Error(message), { code });

describe('client faults', () => {
  it('are logged once per client and kind, regardless of their text', () => {
    const { log, lines } = faultLog();
    for (const message of ['at 1', 'at 2', 'at 3']) {
      log.add('client 1', fault('PARSE', message));
      log.add('client 2', fault('PARSE', message));
    }
    log.add('client 1', new TypeError('no code'));
    expect(lines).toEqual(['client 1: at 1', 'client 2: at 1', 'client 1: no code']);
  });

  it('are counted once a minute and at the end if they are not logged', () => {
    const { log, lines, clock } = faultLog();
    for (let count = 0; count < 1_000; count += 1) log.add('client 1', fault('PARSE'));
    expect(lines).toEqual(['client 1: PARSE']);
    clock.advanceBy(minuteMs);
    expect(lines.slice(1)).toEqual(['999 more protocol faults of clients']);
    clock.advanceBy(10 * minuteMs);
    expect(lines).toHaveLength(2);
    log.add('client 1', fault('PARSE'));
    log.close();
    expect(lines.slice(2)).toEqual(['1 more protocol fault of clients']);
    clock.advanceBy(10 * minuteMs);
    expect(lines).toHaveLength(3);
  });

  it('take ten lines and one count per minute when clients change names', () => {
    const { log, lines, clock } = faultLog();
    for (let minute = 0; minute < 3; minute += 1) {
      for (let count = 0; count < 500; count += 1)
        log.add(`client ${minute}-${count}`, fault('PARSE'));
      clock.advanceBy(minuteMs);
    }
    expect(lines).toHaveLength(33);
    expect(lines.filter((line) => line.startsWith('490 more'))).toHaveLength(3);
  });

  it('do not flood the log over HTTP', async () => {
    const stage = await gatewayStage();
    const sessions = [await openSession(stage.url), await openSession(stage.url)];
    // A response to a request that was never sent.
    const stray = { jsonrpc: '2.0', id: 99, result: {} };
    for (const session of sessions)
      for (let count = 0; count < 20; count += 1)
        await (await post(stage.url, stray, { 'mcp-session-id': session })).text();
    expect(stage.reports).toHaveLength(2);
    expect(new Set(stage.reports.map((line) => line.split(':')[0])).size).toBe(2);
    await stage.advance(minuteMs);
    expect(stage.reports.slice(2)).toEqual(['38 more protocol faults of clients']);
  });
});
