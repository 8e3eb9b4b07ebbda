import { describe, expect, it } from 'vitest';
import { type Kind, Verdict } from '../../scripts/clients/verdict.ts';

const kinds: readonly Kind[] = ['answer', 'question', 'log line', 'progress', 'update', 'tool'];

/** Two clients, of which only the first has approved `guarded`; each made a call that ran. */
function goodRun(): Verdict {
  const verdict = new Verdict();
  verdict.joined('ann', ['open', 'guarded']);
  verdict.joined('bob', ['open']);
  verdict.sent('1', 'ann', 'guarded');
  verdict.sent('2', 'bob', 'open');
  verdict.ended('1', 'ok');
  verdict.ended('2', 'executed');
  for (const kind of kinds)
    verdict.saw({ kind, server: 'open', by: 'bob', of: 'bob', hasCall: false });
  verdict.saw({ kind: 'log line', server: 'open', by: 'bob', of: 'ann', hasCall: true });
  verdict.settled({ server: 'open', processes: 1, most: 1 });
  return verdict;
}

const runs = [
  { call: '1', server: 'guarded', client: 'ann' },
  { call: '2', server: 'open', client: 'bob' },
];

describe('the verdict on a run of many clients', () => {
  it('accepts a run in which everything reached its client', () => {
    expect(goodRun().close(runs, [])).toEqual([]);
  });

  it.each(kinds)('rejects a %s that reached another client', (kind) => {
    const verdict = goodRun();
    verdict.saw({ kind, server: 'open', by: 'bob', of: 'ann', hasCall: false });
    expect(verdict.close(runs, [])).toEqual([`client bob saw a ${kind} of client ann at open`]);
  });

  it.each(kinds.filter((kind) => kind !== 'log line'))(
    'rejects a %s of another client also during a call',
    (kind) => {
      const verdict = goodRun();
      verdict.saw({ kind, server: 'open', by: 'bob', of: 'ann', hasCall: true });
      expect(verdict.close(runs, [])).toHaveLength(1);
    },
  );

  it('rejects anything of a server that the client has not approved', () => {
    const verdict = goodRun();
    verdict.saw({ kind: 'tool', server: 'guarded', by: 'bob', of: 'bob', hasCall: false });
    const run = { call: '3', server: 'guarded', client: 'bob' };
    expect(verdict.close([...runs, run], [])).toEqual([
      'client bob saw a tool of guarded, which it has not approved',
      'call 3 of client bob ran at guarded, which it has not approved',
    ]);
  });

  it('rejects a process too many, and one that is left over', () => {
    const verdict = goodRun();
    verdict.settled({ server: 'open', processes: 2, most: 1 });
    expect(verdict.close(runs, ['42 node'])).toEqual([
      'open has 2 processes, where 1 are allowed',
      'left over: 42 node',
    ]);
  });

  it('rejects a call that ran twice', () => {
    expect(goodRun().close([...runs, ...runs.slice(1)], [])).toEqual(['call 2 ran twice at open']);
  });

  it('rejects a call without an end, and one with two', () => {
    const verdict = goodRun();
    verdict.sent('3', 'bob', 'open');
    verdict.ended('2', 'unknown');
    expect(verdict.close(runs, [])).toEqual([
      'call 2 was answered twice, or never sent',
      'call 3 of client bob at open has no end',
    ]);
  });

  it.each([
    ['not_executed', runs, ['call 3 of client bob at open ended as not executed, but ran']],
    ['executed', [], ['call 3 of client bob at open ended as executed, but did not run']],
    ['ok', [], ['call 3 of client bob at open ended as executed, but did not run']],
    ['unknown', runs, []],
    ['unknown', [], []],
    ['left', [], []],
  ] as const)('compares the end %s with what ran: %#', (end, ran, lines) => {
    const verdict = new Verdict();
    verdict.joined('bob', ['open']);
    verdict.sent('3', 'bob', 'open');
    verdict.ended('3', end);
    const own = ran.slice(0, 1).map(() => ({ call: '3', server: 'open', client: 'bob' }));
    expect(verdict.close(own, [])).toEqual(lines);
  });

  it('counts for people', () => {
    const verdict = goodRun();
    verdict.close(runs, []);
    expect(verdict.summary()).toContain('2 calls of 2 clients: 1 ok, 1 executed, 0 not_executed');
    expect(verdict.summary()).toContain('processes counted 1 times');
  });
});
