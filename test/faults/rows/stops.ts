/** F95 to F99: stops, starts and reconnects at every moment. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Row, Rows } from '../row.ts';
import type { Peer, Stage } from '../stage.ts';
import { until } from '../until.ts';
import { faultIn, readyServer } from './one-server.ts';

/** Stops the server it describes in one of its states: it must end at once and never start again. */
function stopIn(
  inject: string,
  arrive: (stage: Stage, peer: Peer) => Promise<unknown>,
  speed = 4,
): Row {
  return {
    inject: `stop while ${inject}`,
    expect: { state: 'stopped', left: 0, laterStarts: 0, stopMs: { atMost: 1_500 } },
    speed,
    async run(stage) {
      const peer = stage.stdio(faultIn(inject).mode);
      stage.start({ bad: peer });
      await arrive(stage, peer);
      const from = performance.now();
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state } = await stage.rests('bad', 'stopped');
      const stopMs = Math.round(performance.now() - from);
      const starts = peer.log.count('start');
      // At least six seconds of the troupe's clock: longer than the first backoffs.
      await pause(1_500);
      const laterStarts = peer.log.count('start') - starts;
      return { state, stopMs, laterStarts, left: stage.processes().length };
    },
  };
}

export const stopRows: Rows = {
  'F95/connecting': stopIn('s:hang-init connects', (_stage, { log }) => log.nth('initialize')),
  'F95/loading': stopIn('s:hang-tools lists', (_stage, { log }) => log.nth('tools/list')),
  'F95/backing-off': stopIn('s:exit-1 backs off', (stage) => stage.reaches('bad', 'backingOff')),
  'F95/half-open': stopIn(
    's:hang-later-tools is probed by the circuit',
    async (stage) => {
      await stage.reaches('bad', 'ready');
      for (let n = 0; n < 5; n += 1) await stage.call('bad', 'echo');
      await until(() => stage.status('bad').circuit === 'halfOpen', 'the probe');
    },
    20,
  ),
  F96: {
    inject: 'two reconnects at once',
    expect: { state: 'ready', starts: 2 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('ok'));
      const again = [stage.troupe.restartAndWait('bad'), stage.troupe.restartAndWait('bad')];
      const statuses = await Promise.all(again);
      const [first, second] = statuses.map(({ pid }) => pid);
      return { state: statuses[0]?.state, starts: log.count('start'), isSame: first === second };
    },
  },
  F97: {
    inject: 'two stops of the troupe at once, s:slow-exit',
    expect: { leftAtFirst: 0, leftAtSecond: 0 },
    async run(stage) {
      await readyServer(stage, stage.stdio('slow-exit', ['--ms', '600']));
      const stopping = [stage.troupe.stop(), stage.troupe.stop()].map(async (stop) => {
        await stop;
        return stage.processes().length;
      });
      const [leftAtFirst, leftAtSecond] = await Promise.all(stopping);
      return { leftAtFirst, leftAtSecond };
    },
  },
  F98: {
    inject: 'stop of the troupe during a backoff',
    expect: { stopMs: { atMost: 300 } },
    async run(stage) {
      stage.start({ bad: stage.stdio('exit-1') });
      await stage.reaches('bad', 'backingOff');
      return { stopMs: await stage.stop() };
    },
  },
  F99: {
    inject: 'start after a stop',
    expect: { state: 'ready', isOk: true, starts: 2 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('ok'));
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      await stage.rests('bad', 'stopped');
      stage.troupe.send({ type: 'server.start', server: 'bad' });
      const { state } = await stage.rests('bad', 'ready');
      const { isOk } = await stage.call('bad', 'echo');
      return { state, isOk, starts: log.count('start') };
    },
  },
};
