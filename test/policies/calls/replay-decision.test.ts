import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallPolicy } from '../../../src/domain/policy.ts';
import type { CallFailure } from '../../../src/domain/session.ts';
import {
  mayRunTwice,
  provablyNeverRan,
  replayOf,
} from '../../../src/policies/calls/replay-decision.ts';

const neverRan: readonly CallFailure['reason'][] = [
  'notSent',
  'sessionMissing',
  'unavailable',
  'crashed',
];
const lost: readonly CallFailure['reason'][] = [
  'crashed',
  'streamLost',
  'unavailable',
  'sessionMissing',
];
const all: readonly CallFailure['reason'][] = [
  ...neverRan,
  'streamLost',
  'timeout',
  'cancelled',
  'serverError',
  'badResponse',
  'authRequired',
  'rateLimited',
  'invalidArguments',
  'unsupported',
  'addressBlocked',
  'redirectBlocked',
];
const rules: readonly CallPolicy['replay'][] = [
  'never',
  'sessionExpired',
  'idempotentTrusted',
  'once',
];
const plain = { isTrusted: true };
const harmless = { isTrusted: true, annotations: { readOnlyHint: true } };

describe('a request', () => {
  it.each(all)('provably never ran only if nothing was written: %s', (reason) => {
    expect(provablyNeverRan({ reason, written: true })).toBe(false);
    expect(provablyNeverRan({ reason, written: false })).toBe(neverRan.includes(reason));
  });
});

describe('a lost call', () => {
  const of = (reason: CallFailure['reason'], written: boolean) => ({ reason, written });

  it.each(neverRan)('is resent once if it provably never ran: %s', (reason) => {
    const failure = of(reason, false);
    const tool = { isTrusted: false };
    expect(replayOf({ failure, sends: 1, rule: 'idempotentTrusted', tool })).toBe('neverRan');
    expect(replayOf({ failure, sends: 1, rule: 'once', tool })).toBe('neverRan');
    expect(replayOf({ failure, sends: 1, rule: 'never', tool })).toBe('no');
    expect(replayOf({ failure, sends: 1, rule: 'sessionExpired', tool })).toBe(
      reason === 'sessionMissing' ? 'neverRan' : 'no',
    );
  });

  it.each(lost)('is resent only where that is safe if it may have run: %s', (reason) => {
    const failure = of(reason, true);
    const rule = 'idempotentTrusted';
    expect(replayOf({ failure, sends: 1, rule, tool: plain })).toBe('no');
    expect(replayOf({ failure, sends: 1, rule, tool: harmless })).toBe('mayRepeat');
    expect(replayOf({ failure, sends: 1, rule: 'once', tool: plain })).toBe('mayRepeat');
    expect(replayOf({ failure, sends: 1, rule: 'sessionExpired', tool: harmless })).toBe('no');
  });

  it('is not sent a third time, or after a response, a refusal, a cancellation or a timeout', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...all),
        fc.boolean(),
        fc.constantFrom(...rules),
        fc.integer({ min: 1, max: 4 }),
        (reason, written, rule, sends) => {
          const replay = replayOf({ failure: of(reason, written), sends, rule, tool: harmless });
          if (sends > 1) expect(replay).toBe('no');
          if (!lost.includes(reason) && !neverRan.includes(reason)) expect(replay).toBe('no');
          if (replay === 'neverRan') expect(written).toBe(false);
        },
      ),
    );
  });

  it.each([
    ['from an untrusted server', { isTrusted: false, annotations: { readOnlyHint: true } }],
    ['not annotated', { isTrusted: true }],
    ['annotated as not idempotent', { isTrusted: true, annotations: { readOnlyHint: false } }],
    ['annotated with other hints only', { isTrusted: true, annotations: { openWorldHint: true } }],
  ])('does not run twice when its tool is %s', (_what, tool) => {
    expect(mayRunTwice('idempotentTrusted', tool)).toBe(false);
  });

  it('may run twice when its trusted tool is idempotent', () => {
    const tool = { isTrusted: true, annotations: { idempotentHint: true } };
    expect(mayRunTwice('idempotentTrusted', tool)).toBe(true);
  });
});
