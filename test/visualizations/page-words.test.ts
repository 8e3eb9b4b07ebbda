import { describe, expect, it } from 'vitest';
import { decisionOf, labelOf, mainActOf, sendingOf } from '../../visualizations/page/model/acts.ts';
import { announcement } from '../../visualizations/page/model/announcements.ts';
import { commandLine } from '../../visualizations/page/model/command-line.ts';
import { age, countdown, duration, stamp } from '../../visualizations/page/model/durations.ts';
import { hashOf, routeOf } from '../../visualizations/page/model/route.ts';
import { shownLine, shownLines, shownSummary } from '../../visualizations/page/model/shown-text.ts';
import { statusOf } from './samples.ts';

describe('text from servers', () => {
  it('shows invisible and direction-changing characters', () => {
    expect(shownLine('db\u202Egnp.exe')).toBe(String.raw`db\u{202e}gnp.exe`);
    expect(shownLine('a\u0000b\nc')).toBe(String.raw`a\u{0}b\u{a}c`);
    expect(shownLine('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
  });

  it('states how much is cut off', () => {
    expect(shownLine('abcdef', 4)).toBe('abcd… (2 more)');
    expect(shownLines('a\r\nb\u200b')).toBe(`a\n${String.raw`b\u{200b}`}`);
    expect(shownSummary('one\n  two', 20)).toBe('one two');
  });

  it("quotes a command's arguments that contain spaces", () => {
    expect(commandLine('npx', ['-y', 'a b', 'c"d', 'é'])).toBe(String.raw`npx -y "a b" "c\"d" "é"`);
    expect(commandLine(undefined)).toBeUndefined();
  });
});

describe('durations', () => {
  it('count down to zero and stop', () => {
    expect([9_940, 4_201, 0, -5].map(countdown)).toEqual(['10.0 s', '4.3 s', '0.0 s', '0.0 s']);
    expect([12_000, 185_000, 7_800_000].map(countdown)).toEqual([
      '12 s',
      '3 min 05 s',
      '2 h 10 min',
    ]);
  });

  it('are short', () => {
    expect([3, 1_250, 12_345, 123_000].map(duration)).toEqual([
      '3 ms',
      '1.25 s',
      '12.3 s',
      '2 min 03 s',
    ]);
    expect([500, 5_900, 61_000, 3_700_000, 200_000_000].map(age)).toEqual([
      'now',
      '5 s',
      '1 min',
      '1 h',
      '2 d',
    ]);
    expect([3_250, 3_723_250].map(stamp)).toEqual(['00:03.250', '1:02:03.250']);
  });
});

describe("the page's URL", () => {
  it('preserves the view', () => {
    const route = { view: 'chart', server: 'a&b c', actor: 'x:7', at: 12 } as const;
    expect(routeOf(hashOf(route))).toEqual(route);
    expect(hashOf({ view: 'fleet' })).toBe('#/fleet');
  });

  it('ignores invalid parts', () => {
    expect(routeOf('')).toEqual({ view: 'fleet' });
    expect(routeOf('#/nothing?at=x')).toEqual({ view: 'fleet' });
    expect(routeOf('#/sequence?at=-1')).toEqual({ view: 'sequence' });
  });
});

describe("the page's actions", () => {
  it('are sent as commands if one exists and as events otherwise', () => {
    expect(sendingOf('server.stop', 'db')).toEqual({ command: 'stop', args: { server: 'db' } });
    expect(sendingOf('server.restart', 'db')).toMatchObject({
      command: 'restart',
      args: { server: 'db' },
    });
    expect(sendingOf('server.reconnect', 'db')).toEqual({
      command: 'send',
      args: { event: { type: 'server.reconnect', server: 'db' } },
    });
  });

  it('have one main action, that of the next step before that of the state', () => {
    const action = 'fix troupe.json:3, then troupe restart db';
    expect(mainActOf({ state: 'stopped', action })).toBe('server.restart');
    expect(mainActOf({ state: 'failed', action: 'set TOKEN and start troupe again' })).toBe(
      'server.restart',
    );
    expect(mainActOf({ state: 'authRequired', action: 'troupe login db' })).toBe('login');
    expect(mainActOf({ state: 'ready' })).toBeUndefined();
  });

  it('have labels and represent approvals as decisions', () => {
    expect(labelOf('auth.completed')).toBe('Login is done');
    expect(labelOf('something.newKind')).toBe('New kind');
    expect(decisionOf('approve')).toBe('approve');
    expect(decisionOf('server.stop')).toBeUndefined();
  });
});

describe('announcements for screen readers', () => {
  it('combine all changes into one sentence', () => {
    const changed = ['a', 'b', 'c', 'd'].map((name) =>
      statusOf(name, { state: 'backingOff', reason: 'lost' }),
    );
    expect(announcement(changed)).toBe(
      'a is backing off, lost; b is backing off, lost; c is backing off, lost; and 1 more changed.',
    );
    expect(announcement([])).toBeUndefined();
  });
});
