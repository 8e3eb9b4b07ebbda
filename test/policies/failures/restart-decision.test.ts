import { describe, expect, it } from 'vitest';

import type { Failure } from '../../../src/domain/failure.ts';
import {
  isBusyStart,
  isNotStartable,
  isSameFailure,
} from '../../../src/policies/failures/restart-decision.ts';
import { presets } from '../../../src/policies/presets/presets.ts';

const exit: Failure = {
  kind: 'crashed',
  message: 'It ended.',
  exitCode: 1,
  explanation: 'pid 7: no key',
};
const lacking: Failure = {
  kind: 'unavailable',
  message: 'It is not there.',
  missing: { what: 'command', name: 'db' },
};

describe('two exits', () => {
  it.each([
    ['say the same with other numbers', { ...exit, explanation: 'pid 12: no key' }, true],
    ['have other exit codes', { ...exit, exitCode: 2 }, false],
    ['have other explanations', { ...exit, explanation: 'no network' }, false],
    ['have no explanation', { kind: 'crashed', message: 'It ended.' } as const, false],
    ['are none yet', null, false],
  ])('are compared when they %s', (_what, before, isSame) => {
    expect(isSameFailure(before, exit)).toBe(isSame);
  });

  const foreign: Failure = {
    kind: 'protocol',
    message: 'It answered 404 at http://a/b.',
    suspect: 'url',
    httpStatus: 404,
  };

  it.each([
    ['are the same answer of an address', foreign, true],
    ['have other statuses', { ...foreign, httpStatus: 405 }, false],
    ['have other messages', { ...foreign, message: 'It answered text/html.' }, false],
    ['are about something else', { ...foreign, suspect: 'era' } as const, false],
  ])('of a remote server are compared when they %s', (_what, before, isSame) => {
    expect(isSameFailure(before, foreign)).toBe(isSame);
  });

  it('differ when the second has no explanation', () => {
    expect(isSameFailure(exit, { kind: 'crashed', message: 'It ended.', exitCode: 1 })).toBe(false);
  });
});

describe('a missing command', () => {
  it('ends the attempts by default, and in no preset', () => {
    const ending = Object.entries(presets).filter(([, policy]) =>
      isNotStartable({ loss: lacking, policy }),
    );
    expect(ending.map(([name]) => name)).toEqual(['default']);
    expect(isNotStartable({ loss: null, policy: presets.default })).toBe(false);
    expect(isNotStartable({ loss: exit, policy: presets.default })).toBe(false);
  });
});

describe('a start that a busy server refused', () => {
  const loss: Failure = { kind: 'unavailable', message: 'Not now.', httpStatus: 503 };
  const tries = { attempt: 1, sameExits: 0 };
  const facts = { loss, tries, hasServed: false, transport: 'http' } as const;

  it('is repeated after a longer wait', () => {
    expect(isBusyStart({ ...facts, policy: presets.default })).toBe(true);
  });

  it('is repeated although restarts are forbidden if the server then goes dormant', () => {
    const { startup, restart } = presets.default;
    const never = { ...presets.default, restart: { ...restart, on: 'never' as const } };
    expect(isBusyStart({ ...facts, policy: never })).toBe(false);
    const dormant = { ...never, startup: { ...startup, afterGiveUp: 'untilDemanded' as const } };
    expect(isBusyStart({ ...facts, policy: dormant })).toBe(true);
  });

  it('is an ordinary failure if the server did not answer', () => {
    const silent: Failure = { kind: 'crashed', message: 'It ended.' };
    expect(isBusyStart({ ...facts, loss: silent, policy: presets.default })).toBe(false);
  });
});
