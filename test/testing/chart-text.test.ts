import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { chartMermaid } from '../../src/testing/chart-mermaid.ts';
import { chartOutline, chartText } from '../../src/testing/chart-text.ts';
import { sampleServerMachine } from '../support/sample-server.ts';

describe('a chart as text', () => {
  it('writes one line per transition of a level', () => {
    expect(chartText(sampleServerMachine, { of: 'circuit' }).split('\n')).toEqual([
      '[*] -> closed',
      'circuit -- server.ended --> ended',
      'closed -- call.failed [reachesThreshold] --> open',
      'closed -- call.failed --> (stays)',
      'open -- after cooldown --> closed',
      'ended -> [*]',
    ]);
  });

  it("indents a state's children and names targets relative to them", () => {
    expect(chartText(sampleServerMachine, { of: 'connection' }).split('\n')).toEqual([
      '[*] -> dormant',
      'dormant -- server.demanded --> engaged',
      'dormant -- server.retire --> retired',
      'engaged invokes session',
      'engaged -- server.retire --> engaged.closing',
      'engaged -- session.closed [wasLost] --> settling',
      'engaged -- session.closed --> dormant',
      'engaged -- error session --> settling',
      'engaged: [*] -> connecting',
      '  connecting -- session.opened --> ready',
      '  connecting -- after connectTimeout --> closing',
      '  closing -- server.retire --> (ignored)',
      '  closing -- after closeTimeout --> retired',
      '  ready',
      'settling -- always [hasAttemptsLeft] --> backingOff',
      'settling -- always --> failed',
      'backingOff -- server.retire --> retired',
      'backingOff -- after backoff --> engaged',
      'failed -- server.retire --> retired',
      'retired -> [*]',
    ]);
  });

  it('writes a state from another file as one line with its targets', () => {
    const elsewhere = { 'connection.engaged': 'engaged.ts' };
    const lines = chartText(sampleServerMachine, { of: 'connection', elsewhere }).split('\n');
    expect(lines.filter((line) => line.startsWith('engaged'))).toEqual([
      'engaged -- (see engaged.ts) --> settling | dormant | retired',
    ]);
    expect(lines.filter((line) => line.startsWith(' '))).toEqual([]);
  });

  it('names a target outside the written part', () => {
    const lines = chartText(sampleServerMachine, { of: 'connection.engaged' }).split('\n');
    expect(lines).toContain('engaged -- session.closed [wasLost] --> settling');
    expect(lines).toContain('closing -- after closeTimeout --> retired');
  });

  it('outlines a chart with regions', () => {
    expect(chartOutline(sampleServerMachine).split('\n')).toEqual([
      '[*] -> connection + circuit',
      'connection: dormant (initial), engaged, settling, backingOff, failed, retired (final)',
      'circuit: closed (initial), open, ended (final)',
    ]);
  });

  it('joins events with the same effect and wraps long lines', () => {
    const names = Array.from({ length: 12 }, (_, index) => `subject.happened${index}`);
    const machine = setup({}).createMachine({
      initial: 'a',
      states: { a: { on: Object.fromEntries(names.map((name) => [name, 'b'])) }, b: {} },
    });
    const lines = chartText(machine).split('\n');
    expect(lines.every((line) => line.length <= 98)).toBe(true);
    expect(lines.slice(1, 4)).toEqual([
      'a -- subject.happened0 | subject.happened1 | subject.happened2 | subject.happened3 |',
      '     subject.happened4 | subject.happened5 | subject.happened6 | subject.happened7 |',
      '     subject.happened8 | subject.happened9 | subject.happened10 | subject.happened11 --> b',
    ]);
  });

  it("qualifies a target's name when a nearer state has the same one", () => {
    const machine = setup({}).createMachine({
      initial: 'a',
      states: {
        a: { initial: 'b', states: { b: { on: { go: '#(machine).b' } } } },
        b: { on: { back: 'a', deep: 'a.b' } },
      },
    });
    expect(chartText(machine)).toContain('  b -- go --> #(machine).b');
    expect(chartText(machine)).toContain('b -- deep --> a.b');
  });

  it('rejects a path that is not in the chart', () => {
    expect(() => chartText(sampleServerMachine, { of: 'nowhere' })).toThrow('no state nowhere');
  });
});

describe('a chart as Mermaid', () => {
  it('draws no arrow between a state and its descendants', () => {
    expect(chartMermaid(sampleServerMachine, { of: 'circuit' }).split('\n')).toEqual([
      'stateDiagram-v2',
      '  direction LR',
      '  [*] --> circuit__closed',
      '  state "any" as circuit__any',
      '  state "closed" as circuit__closed',
      '  state "open" as circuit__open',
      '  state "ended" as circuit__ended',
      '  circuit__ended --> [*]',
      '  circuit__any --> circuit__ended : server.ended',
      '  circuit__closed --> circuit__open : call.failed [reachesThreshold]',
      '  circuit__open --> circuit__closed : after cooldown',
      '',
    ]);
  });

  it('nests states and declares both ends of each arrow', () => {
    const text = chartMermaid(sampleServerMachine);
    const declared = new Set([...text.matchAll(/state "\w+" as (\w+)/g)].map(([, id]) => id));
    const ends = [...text.matchAll(/(\w+) --> (\w+)/g)].flatMap(([, from, to]) => [from, to]);
    expect(ends.filter((id) => !declared.has(id))).toEqual([]);
    expect(text).toContain('  state "engaged" as server__connection__engaged {');
    expect(text).toContain(
      'server__connection__engaged__any --> server__connection__engaged__closing',
    );
  });
});
