/**
 * Holds the presets to what the systems they imitate do, in virtual time. Each
 * row names the place in the catalogue of those systems that it comes from.
 */

import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../../../src/domain/failure.ts';
import type { PresetName } from '../../../src/domain/policy.ts';
import { presetNames } from '../../../src/domain/policy.ts';
import type { TransportKind } from '../../../src/domain/server-spec.ts';
import { failure } from '../../machines/story.ts';
import { afterLoss, failingStart, losses, readyUnder, under } from './preset-story.ts';

interface Row {
  readonly rows: string;
  readonly preset: PresetName;
  readonly transport: TransportKind;
  readonly how: FailureKind;
  readonly triesAt: readonly number[];
  readonly state: string;
}
const row = (
  rows: string,
  preset: PresetName,
  [transport, how]: readonly [TransportKind, FailureKind],
  triesAt: readonly number[],
  state: string,
): Row => ({ rows, preset, transport, how, triesAt, state });

const seconds = (...list: readonly number[]): readonly number[] =>
  list.map((each) => Math.round(each * 1_000));
const everyFiveSeconds = Array.from({ length: 20 }, (_, place) => 5_000 * (place + 1));
const crash = ['stdio', 'crashed'] as const;
const cleanExit = ['stdio', 'cleanExit'] as const;
const cut = ['http', 'transport'] as const;
const ended = ['http', 'cleanExit'] as const;
const exhausted = 'failed attemptsExhausted';
const never = 'failed restartNever';
const stillTrying = 'backingOff retrying';
const lost = 'backingOff lost';
const upTo32 = seconds(1, 3, 7, 15, 31);

const lossesOfReady: readonly Row[] = [
  row('X2 X3', 'default', crash, seconds(0, 1, 3, 7, 15), exhausted),
  row('X7', 'default', cleanExit, [], never),
  // The quiet attempts follow: 15, 30, 60, 120 s and five minutes from then on.
  row('X4', 'default', cut, [...seconds(0, 1, 3, 7, 15), ...quietFrom(15, 15)], lost),
  row('OMP-91 X3', 'ohMyPi', crash, seconds(0, 0.5, 1.5, 3.5, 7.5), exhausted),
  row('OMP-90 X7', 'ohMyPi', cleanExit, seconds(0, 0.5, 1.5, 3.5, 7.5), exhausted),
  row('OMP-97', 'ohMyPi', cut, [...seconds(0, 0.5, 1.5, 3.5, 7.5), ...quietFrom(7.5, 15)], lost),
  row('QW-70 X3', 'qwenCode', crash, everyFiveSeconds, stillTrying),
  row('X7', 'qwenCode', cleanExit, everyFiveSeconds, stillTrying),
  row('QW-70a X4', 'qwenCode', cut, everyFiveSeconds, stillTrying),
  row('CB-09 X3', 'codeBuddy', crash, seconds(1, 3, 7), exhausted),
  row('CB-10 X7', 'codeBuddy', cleanExit, seconds(1, 3, 7), exhausted),
  row('CB-09 X4', 'codeBuddy', cut, seconds(1, 3, 7), exhausted),
  row('CC-26 X3', 'claudeCode', crash, [], never),
  row('CC-26 X7', 'claudeCode', cleanExit, [], never),
  row('CC-26 X3', 'claudeCode', cut, upTo32, exhausted),
  row('X7', 'claudeCode', ended, upTo32, exhausted),
  row('DA-14 DA-39 X3', 'dockerResilient', crash, upTo32, 'dormant'),
  row('DA-17 X7', 'dockerResilient', cleanExit, [], 'dormant'),
  row('DA-39 X4', 'dockerResilient', cut, upTo32, 'dormant'),
  row('DA-45 X7', 'dockerResilient', ended, upTo32, 'dormant'),
  row('DA-17 DA-46 DA-60', 'dockerStrict', crash, [], 'dormant'),
  row('DA-45', 'dockerStrict', ended, [], 'dormant'),
  row('DA-46 DA-60', 'dockerBestEffort', crash, [], 'dormant'),
  row('DA-45', 'dockerBestEffort', cut, [], 'dormant'),
];

function quietFrom(startS: number, firstS: number): readonly number[] {
  const times: number[] = [];
  let at = startS;
  for (let wait = firstS; times.length < 15; wait = Math.min(wait * 2, 300)) {
    at += wait;
    times.push(Math.round(at * 1_000));
  }
  return times;
}

const failingStarts: readonly Row[] = [
  row('X10', 'default', ['stdio', 'unavailable'], seconds(0, 0.5, 1.5, 3.5, 7.5), exhausted),
  row('OMP-97', 'ohMyPi', ['http', 'unavailable'], [0], exhausted),
  row('OMP-54', 'ohMyPi', ['stdio', 'initTimeout'], seconds(0, 0, 0.5, 1.5, 3.5, 7.5), exhausted),
  row('QW-72', 'qwenCode', ['stdio', 'initTimeout'], [0], exhausted),
  row(
    'QW-74',
    'qwenCode',
    ['http', 'unavailable'],
    [0, ...everyFiveSeconds.slice(0, 19)],
    stillTrying,
  ),
  row('CB-21', 'codeBuddy', ['stdio', 'unavailable'], seconds(0, 1, 3), exhausted),
  row('CC-27', 'claudeCode', ['stdio', 'unavailable'], seconds(0, 1, 3, 7), exhausted),
  row('CC-27', 'claudeCode', ['http', 'unknown'], [0], exhausted),
  row('CC-35', 'claudeCode', ['http', 'protocol'], [0], exhausted),
  row('DA-30 DA-60', 'dockerResilient', ['stdio', 'unavailable'], [0], 'dormant'),
  row('DA-30 DA-60', 'dockerStrict', ['stdio', 'unavailable'], [0], 'dormant'),
  row('DA-30 DA-60', 'dockerBestEffort', ['http', 'unavailable'], [0], 'dormant'),
]; // prettier-ignore

describe('a preset', () => {
  it.each(lossesOfReady)(
    '$rows: $preset retries a lost $transport server ($how) at $triesAt and ends $state',
    ({ preset, transport, how, triesAt, state }) => {
      expect(afterLoss(readyUnder(preset, transport), how)).toEqual({ triesAt, state });
    },
  );

  it.each(failingStarts)(
    '$rows: $preset tries to start a failing $transport server ($how) at $triesAt and ends $state',
    ({ preset, transport, how, triesAt, state }) => {
      expect(failingStart(under(preset, transport), how)).toEqual({ triesAt, state });
    },
  );

  it.each([
    [1_000, [0, 2_000]],
    // A server that forgets every session at once would otherwise be asked without a pause.
    [999, [1_000, 3_000]],
  ])(
    'CC-10: claudeCode replaces an expired session that was ready for %i ms at %j',
    (readyMs, triesAt) => {
      const server = readyUnder('claudeCode', 'http');
      server.story.clock.advanceBy(readyMs);
      const lostAt = server.story.clock.now();
      const times: number[] = [];
      server.lose('sessionMissing');
      while (times.length < 2 && server.untilNextTry()) {
        times.push(server.story.clock.now() - lostAt);
        server.lose('unavailable');
      }
      expect(times).toEqual(triesAt);
    },
  );

  it('default retries quietly once a server has lost two new sessions', () => {
    expect(failingStart(under('default', 'http'), 'sessionMissing', 4)).toEqual({
      triesAt: seconds(0, 0.5, 15.5, 45.5),
      state: lost,
    });
    // A rule of the settings may call the failure of a local one so; no quiet tries would follow.
    expect(failingStart(under('default'), 'sessionMissing').triesAt).toHaveLength(5);
    expect(failingStart(under('claudeCode', 'http'), 'sessionMissing').triesAt).toHaveLength(4);
  });

  it.each(['dockerResilient', 'dockerStrict', 'dockerBestEffort'] as const)(
    'DA-60: %s starts a server again when it is next needed, after a failed start or a loss',
    (preset) => {
      const server = under(preset);
      failingStart(server, 'unavailable');
      server.story.tell('db.0', { type: 'server.demanded' });
      expect(server.sessions()).toBe(2);
      server.serve();
      expect(server.state()).toBe('ready');
      const { length } = afterLoss(server, 'crashed').triesAt;
      server.story.tell('db.0', { type: 'server.demanded' });
      expect(server.sessions()).toBe(3 + length);
    },
  );

  it('X4 DA-60: dockerResilient resets the attempt budget when a lost server is next needed', () => {
    const server = readyUnder('dockerResilient');
    afterLoss(server, 'crashed');
    server.story.tell('db.0', { type: 'server.demanded' });
    server.serve();
    expect(afterLoss(server, 'crashed').triesAt).toEqual(upTo32);
  });

  it.each(presetNames)('DA-40: %s does not spend attempts on permanent failures', (preset) => {
    const server = readyUnder(preset, 'http', { restart: { on: 'always', maxAttempts: 5 } });
    server.lose('transport');
    server.untilNextTry();
    server.lose('versionUnsupported');
    expect(server.state()).toBe('failed versionUnsupported');
    expect(server.untilNextTry()).toBe(false);
  });

  it.each(presetNames)('CC-06 DA-07 X18: %s waits for a login', (preset) => {
    const server = under(preset, 'http');
    server.lose('authRequired');
    expect(server.state()).toBe('authRequired');
    expect(server.untilNextTry()).toBe(false);
  });
});

describe('the attempt budget', () => {
  // With half a minute between losses no storm is counted.
  it('X5: is restored only after a minute of service with default', () => {
    expect(losses(readyUnder('default'), 'transport', 5, 30_000)).toBe(exhausted);
    expect(losses(readyUnder('default'), 'transport', 20, 60_000)).toBe(stillTrying);
  });

  it.each([
    ['X5', 'ohMyPi', 'stdio'],
    ['X5', 'qwenCode', 'stdio'],
    ['CB-23 X5', 'codeBuddy', 'stdio'],
    ['X5', 'claudeCode', 'http'],
    ['DA-23 X5', 'dockerResilient', 'stdio'],
  ] as const)('%s: is restored immediately with %s', (_rows, preset, transport) => {
    expect(losses(readyUnder(preset, transport), 'transport', 20, 30_000)).toBe(stillTrying);
  });
});

describe("a lost server's tools", () => {
  it.each([
    ['X9', 'default', 'http', 'stale'],
    ['OMP-93 X9', 'ohMyPi', 'http', 'stale'],
    ['QW-07', 'qwenCode', 'stdio', 'none'],
    ['X9', 'codeBuddy', 'stdio', 'stale'],
    ['CC-08', 'claudeCode', 'http', 'none'],
    ['X9', 'dockerResilient', 'stdio', 'none'],
  ] as const)(
    '%s: under %s (%s) are %s until the server is back',
    (_rows, preset, transport, shown) => {
      const server = readyUnder(preset, transport);
      const catalog = (): string => server.story.snapshotOf('db.0').value.catalog;
      expect(catalog()).toBe('live');
      server.lose('transport');
      expect([server.state(), catalog()]).toEqual([stillTrying, shown]);
      expect(server.untilNextTry()).toBe(true);
      expect(catalog()).toBe(shown);
      server.serve();
      expect(catalog()).toBe('live');
    },
  );

  it.each([
    ['OMP-93', 'ohMyPi', 'stale'],
    ['X9', 'default', 'none'],
    ['X9', 'codeBuddy', 'none'],
  ] as const)('%s: under %s are %s after the last attempt', (_rows, preset, shown) => {
    const server = readyUnder(preset);
    expect(afterLoss(server, 'crashed').state).toBe(exhausted);
    expect(server.story.snapshotOf('db.0').value.catalog).toBe(shown);
    server.story.send({ type: 'server.restart', server: 'db' });
    server.serve();
    expect(server.story.snapshotOf('db.0').value.catalog).toBe('live');
    server.story.send({ type: 'server.stop', server: 'db' });
    expect(server.story.snapshotOf('db.0').value.catalog).toBe('none');
  });

  it('CC-08: reappear with the next list under claudeCode, not on a restart request', () => {
    const server = readyUnder('claudeCode', 'http');
    server.lose('transport');
    server.story.send({ type: 'server.restart', server: 'db' });
    expect(server.state()).toBe('connecting');
    expect(server.story.snapshotOf('db.0').value.catalog).toBe('none');
  });

  it('CB-12: requests the lists of a ready server again after five minutes under codeBuddy', () => {
    const server = readyUnder('codeBuddy');
    const lists = () =>
      server.story.sessions.of('db').commands.filter((each) => each === 'session.list').length;
    const before = lists();
    server.story.clock.advanceBy(299_999);
    expect(lists()).toBe(before);
    server.story.clock.advanceBy(1);
    expect(lists()).toBe(before + 1);
  });

  it.each([
    ['memory', 'deferred'],
    ['none', 'none'],
  ] as const)('CB-12: follow the cache setting while the server is idle (%s)', (cache, shown) => {
    const idle = { stopMs: 300_000 };
    const server = readyUnder('codeBuddy', 'stdio', { catalog: { cache }, idle });
    server.story.clock.advanceBy(300_000);
    server.story.sessions.of('db').closed();
    expect([server.state(), server.story.snapshotOf('db.0').value.catalog]).toEqual([
      'dormant',
      shown,
    ]);
  });
});

describe('a reconnect storm', () => {
  it.each([
    ['X8', 'default', 5],
    ['OMP-95', 'ohMyPi', 6],
  ] as const)('%s: suspends a server under %s at loss %i within 30 s', (_rows, preset, limit) => {
    expect(losses(readyUnder(preset, 'http'), 'transport', limit - 1, 10)).toBe(stillTrying);
    const server = readyUnder(preset, 'http');
    expect(losses(server, 'transport', limit, 10)).toBe('suspended reconnectStorm');
    expect(server.untilNextTry()).toBe(false);
    expect(server.story.snapshotOf('db.0').value.catalog).toBe('stale');
  });

  it('OMP-96: is reset when the user restarts the server', () => {
    const server = readyUnder('ohMyPi');
    losses(server, 'crashed', 6, 10);
    server.story.send({ type: 'server.restart', server: 'db' });
    server.serve();
    expect(losses(server, 'crashed', 5, 10)).toBe(stillTrying);
  });

  it('X8: suspends a server under default after five crashes within a minute', () => {
    expect(losses(readyUnder('default'), 'crashed', 4, 9_000)).toBe(stillTrying);
    expect(losses(readyUnder('default'), 'crashed', 5, 9_000)).toBe('suspended crashLoop');
  });

  it('DA-42: fails a server under dockerResilient after three crashes within a minute', () => {
    expect(losses(readyUnder('dockerResilient'), 'crashed', 2, 10)).toBe(stillTrying);
    const server = readyUnder('dockerResilient');
    expect(losses(server, 'crashed', 3, 10)).toBe('failed crashLoop');
    expect(server.untilNextTry()).toBe(false);
    expect(server.story.snapshotOf('db.0').value.catalog).toBe('none');
    server.story.send({ type: 'server.start', server: 'db' });
    expect(server.state()).toBe('connecting');
  });

  it('DA-42: ignores other losses and crashes more than a minute old', () => {
    expect(losses(readyUnder('dockerResilient'), 'transport', 20, 10)).toBe(stillTrying);
    expect(losses(readyUnder('dockerResilient'), 'crashed', 20, 30_000)).toBe(stillTrying);
  });

  it.each([
    ['X8', 'qwenCode', 'stdio'],
    ['CB-15', 'codeBuddy', 'stdio'],
    ['X8', 'claudeCode', 'http'],
  ] as const)('%s: is not limited by %s', (_rows, preset, transport) => {
    expect(losses(readyUnder(preset, transport), 'crashed', 20, 10)).toBe(stillTrying);
  });
});

describe('a start that fails because the server is busy', () => {
  const busy = (httpStatus: number, retryAfterMs?: number) =>
    failure('unavailable', { httpStatus, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

  it.each([408, 429, 500, 502, 503, 504, 529])(
    'DA-63: is retried after 15 s, doubling to 5 min, plus at most a fifth, after HTTP %i',
    (status) => {
      const { triesAt, state } = failingStart(under('dockerResilient', 'http'), busy(status), 9);
      const waits = triesAt.slice(1).map((at, place) => at - (triesAt[place] ?? 0));
      const least = [15, 30, 60, 120, 240, 300, 300, 300].map((each) => each * 1_000);
      for (const [place, leastMs] of least.entries()) {
        expect(waits[place]).toBeGreaterThanOrEqual(leastMs);
        expect(waits[place]).toBeLessThanOrEqual(leastMs * 1.2);
      }
      expect(state).toBe(stillTrying);
    },
  );

  it.each([404, undefined])('DA-63: is not assumed for HTTP %s', (httpStatus) => {
    const how = failure('unavailable', httpStatus === undefined ? {} : { httpStatus });
    expect(failingStart(under('dockerResilient', 'http'), how).state).toBe('dormant');
  });

  it('is retried after at least 2 s under default, regardless of the number of attempts', () => {
    const { triesAt, state } = failingStart(under('default', 'http'), busy(503), 7);
    expect(triesAt[1]).toBeGreaterThanOrEqual(2_000);
    expect(triesAt[1]).toBeLessThanOrEqual(2_400);
    expect(triesAt).toHaveLength(7);
    expect(state).toBe(stillTrying);
  });

  it.each([
    ['within', 42_000, 42_000],
    ['up to the longest of', 3_600_000, 300_000],
  ])(
    "DA-63: is retried after the server's requested delay, %s the bounds",
    (_what, asked, waitedMs) => {
      const server = under('dockerResilient', 'http');
      expect(failingStart(server, busy(503, asked), 2).triesAt).toEqual([0, waitedMs]);
    },
  );

  it('is followed by quiet attempts when its kind is not retried', () => {
    const rule = { maxAttempts: null, retryOn: ['initTimeout'], busyBackoff: null } as const;
    const server = under('default', 'http', { startup: rule });
    expect(failingStart(server, 'unavailable', 4)).toEqual({
      triesAt: seconds(0, 15, 45, 105),
      state: lost,
    });
  });

  it('is treated like any failing start if the preset has no rule for it', () => {
    expect(failingStart(under('codeBuddy', 'http'), busy(503)).triesAt).toEqual(seconds(0, 1, 3));
  });
});

describe('a circuit breaker', () => {
  it.each([
    ['X8', 'default', 5, 30_000],
    ['CB-14', 'codeBuddy', 3, 300_000],
  ] as const)('%s: under %s opens at failed call %i', (_rows, preset, threshold, cooldownMs) => {
    const server = readyUnder(preset);
    server.failCalls(threshold - 1);
    expect(server.circuit()).toBe('closed');
    server.failCalls(1);
    expect(server.circuit()).toBe('open');
    server.story.clock.advanceBy(cooldownMs - 1);
    expect(server.circuit()).toBe('open');
    server.story.clock.advanceBy(1);
    expect(server.circuit()).toBe('halfOpen');
    server.story.sessions.of('db').failList(failure('protocol'));
    expect(server.circuit()).toBe('open');
  });

  it('CB-14: under codeBuddy waits five minutes each time and closes when its single probe succeeds', () => {
    const server = readyUnder('codeBuddy');
    server.failCalls(3);
    server.story.clock.advanceBy(300_000);
    server.story.sessions.of('db').failList(failure('protocol'));
    // The list that follows by itself is no probe.
    server.story.clock.advanceBy(30_000);
    server.story.sessions.of('db').list([]);
    server.story.clock.advanceBy(270_000);
    expect(server.circuit()).toBe('halfOpen');
    server.story.sessions.of('db').list([]);
    expect(server.circuit()).toBe('closed');
  });

  it('CC-09: under claudeCode replaces the session at the third broken connection', () => {
    const server = readyUnder('claudeCode', 'http');
    server.failCalls(2);
    expect(server.state()).toBe('ready');
    server.failCalls(1);
    expect(server.state()).toBe('stopping');
    expect(server.circuit()).toBe('closed');
    server.story.sessions.of('db').closed();
    expect(server.sessions()).toBe(2);
    server.serve();
    expect(server.state()).toBe('ready');
  });

  it.each(['ohMyPi', 'qwenCode', 'dockerResilient', 'dockerStrict', 'dockerBestEffort'] as const)(
    'X8: is absent from %s',
    (preset) => {
      const server = readyUnder(preset);
      server.failCalls(100);
      expect([server.circuit(), server.state()]).toEqual(['closed', 'ready']);
    },
  );
});

describe('a deadline', () => {
  it.each([
    ['X11', 'default', 'stdio', 30_000],
    ['X11', 'default', 'http', 30_000],
    ['OMP-25', 'ohMyPi', 'stdio', 30_000],
    ['QW-71', 'qwenCode', 'stdio', 30_000],
    ['QW-71', 'qwenCode', 'http', 5_000],
    ['X11', 'codeBuddy', 'http', 60_000],
    ['CC-04', 'claudeCode', 'stdio', 30_000],
    ['DA-46', 'dockerStrict', 'stdio', 30_000],
  ] as const)('%s: %s gives a %s server %i ms to connect', (_rows, preset, transport, limitMs) => {
    const server = under(preset, transport);
    server.story.clock.advanceBy(limitMs - 1);
    expect(server.state()).toBe('connecting');
    server.story.clock.advanceBy(1);
    expect(server.state()).toBe('stopping');
  });

  it.each(['dockerResilient', 'dockerBestEffort'] as const)(
    'X11: %s sets none for connecting',
    (preset) => {
      const server = under(preset);
      server.story.clock.advanceBy(86_400_000);
      expect(server.state()).toBe('connecting');
    },
  );

  it.each([
    ['CC-11', 'claudeCode', 60_000],
    ['DA-69', 'dockerResilient', 10_000],
  ] as const)('%s: %s gives a tool list request %i ms', (_rows, preset, limitMs) => {
    const server = under(preset);
    server.story.sessions.of('db').open();
    server.story.clock.advanceBy(limitMs - 1);
    expect(server.state()).toBe('loadingTools');
    server.story.clock.advanceBy(1);
    expect(server.state()).toBe('stopping');
  });

  it.each([
    ['X19', 'default', 6_000],
    ['OMP-108', 'ohMyPi', 3_000],
    ['CC-05', 'claudeCode', 600],
  ] as const)('%s: %s forces a close after %i ms', (_rows, preset, totalMs) => {
    const server = readyUnder(preset);
    server.story.send({ type: 'server.stop', server: 'db' });
    server.story.clock.advanceBy(totalMs - 1);
    const session = server.story.sessions.of('db');
    expect(session.commands).not.toContain('session.kill');
    server.story.clock.advanceBy(1);
    expect(session.commands).toContain('session.kill');
    session.closed();
    expect(server.state()).toBe('stopped');
  });

  it.each(presetNames)('%s keeps a server that gets no calls', (preset) => {
    const server = readyUnder(preset, 'stdio', { catalog: { ttlMs: null } });
    server.story.clock.advanceBy(86_400_000);
    expect(server.state()).toBe('ready');
  });
}); // prettier-ignore
