import { describe, expect, it } from 'vitest';

import type { HostRule, RuleAnswer } from '../../src/domain/host/rule.ts';
import { entries, layer, merged, verdicts } from './layer.ts';

describe('host rules', () => {
  const user = layer('user', entries({ db: 'x', web: { url: 'https://example.test' }, bad: {} }));

  it('exclude servers with a reason and skip invalid entries', () => {
    const asked: string[] = [];
    const settings = merged(
      [user],
      [
        ({ name, spec }) => {
          asked.push(name);
          return spec.type === 'http' ? { leaveOut: 'the host has\u001b[1m its own' } : undefined;
        },
      ],
    );
    expect(asked).toEqual(['db', 'web']);
    expect(verdicts(settings)).toEqual({ db: 'admitted', web: 'excluded', bad: 'invalidConfig' });
    expect(settings.servers[1]?.bar).toEqual({
      verdict: 'excluded',
      rule: 'hostRule',
      next: 'use what the host has instead; it leaves this server out: the host has its own',
    });
  });

  it("apply in order, each to the previous rule's result", () => {
    const settings = merged(
      [user],
      [
        () => ({ change: { trust: true } }),
        ({ trust }) => (trust ? { change: { tools: { exclude: ['search'] } } } : undefined),
        ({ tools }) => ({ change: { tools: { include: [...tools.exclude, '*'] } } }),
      ],
    );
    expect(settings.servers[0]).toMatchObject({
      trust: true,
      tools: { include: ['search', '*'], exclude: ['search'] },
    });
  });

  it.each<[what: string, rule: HostRule]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['returns a promise', (() => Promise.resolve()) as unknown as HostRule],
    ['returns an unknown key', () => ({ leaveout: 'x' }) as unknown as RuleAnswer],
  ])('exclude only the server for which a rule %s', (_, rule) => {
    const settings = merged(
      [user],
      [(server) => (server.name === 'db' ? rule(server) : undefined)],
    );
    expect(verdicts(settings)).toMatchObject({ db: 'excluded', web: 'admitted' });
    expect(settings.servers[0]?.bar?.next).toBe(
      "fix the host's server rule, which threw or returned an invalid result",
    );
  });

  it('skip a server that an earlier rule excluded', () => {
    const settings = merged(
      [user],
      [() => ({ leaveOut: 'first' }), () => ({ leaveOut: 'second' })],
    );
    expect(settings.servers[0]?.bar?.next).toContain('first');
  });
});
