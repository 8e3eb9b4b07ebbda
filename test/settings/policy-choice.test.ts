import { describe, expect, it } from 'vitest';
import { presetNames } from '../../src/domain/policy.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { parsePolicyChoice } from '../../src/settings/policy-choice.ts';

const faultOf = (value: unknown, reach: 'troupe' | 'server' = 'server') => {
  const parsed = parsePolicyChoice(value, reach);
  return 'fault' in parsed ? `${parsed.fault.path.join('.')}: ${parsed.fault.message}` : undefined;
};

describe('a policy in settings', () => {
  it.each(presetNames)("may be a preset's name: %s", (preset) => {
    expect(parsePolicyChoice(preset, 'server')).toEqual({ choice: { preset, overrides: {} } });
  });

  it('may be a preset with overrides for some fields', () => {
    const overrides = {
      restart: { maxAttempts: null, delays: [0, 500], jitter: 0.2, budgetReset: 'immediate' },
      startup: { retryOn: ['initTimeout'], afterGiveUp: { retryFromMs: 1, toMs: 2 } },
      storm: { crashLoop: null },
    };
    expect(parsePolicyChoice({ preset: 'ohMyPi', ...overrides }, 'server')).toEqual({
      choice: { preset: 'ohMyPi', overrides },
    });
  });

  it.each(presetNames)('accepts every field of %s unchanged', (name) => {
    const parsed = parsePolicyChoice(presets[name], 'troupe');
    expect(parsed).toMatchObject({ choice: { overrides: presets[name] } });
  });

  it.each([
    ['neither a string nor an object', 3, ': "policy" must be one of "default", "ohMyPi"'],
    ['an array', ['default'], ': "policy" must be one of'],
    ['an unknown preset', 'strict', ': "policy" must be one of "default"'],
    ['a misspelled preset', 'qwencod', ': there is no such preset; did you mean "qwenCode"?'],
    ['a misspelled preset in an object', { preset: 'Default1' }, 'preset: there is no such preset'],
    ['a preset that is not a string', { preset: 1 }, 'preset: "preset" must be one of "default"'],
    ['a misspelled group', { restrat: {} }, 'restrat: unknown key; did you mean "restart"?'],
    [
      'a group from another version',
      { reload: {} },
      'reload: unknown key; remove it or write one of',
    ],
    ['an unknown group', { colours: {} }, 'colours: unknown key; remove it or write one of preset'],
    [
      'a group that is not an object',
      { restart: 'never' },
      'restart: "restart" must be an object with',
    ],
    ['a group that is null', { restart: null }, 'restart: "restart" must be an object with'],
    [
      'a misspelled field',
      { restart: { maxAttemps: 3 } },
      'restart.maxAttemps: unknown key; did you mean "maxAttempts"?',
    ],
    [
      'an unknown field',
      { restart: { colour: 3 } },
      'restart.colour: unknown key; remove it or write one of on, first',
    ],
    [
      'a duration in words',
      { call: { timeoutMs: '30s' } },
      'call.timeoutMs: "call.timeoutMs" must be a whole number of milliseconds from 1 to 2147483647, without quotes',
    ],
    [
      'a duration beyond the timer range',
      { connect: { localTimeoutMs: 2 ** 31 } },
      'connect.localTimeoutMs: "connect.localTimeoutMs" must be a whole number of milliseconds from 1 to 2147483647, without quotes, or null for no deadline',
    ],
    [
      'a fraction of a millisecond',
      { close: { totalMs: 0.5 } },
      'close.totalMs: "close.totalMs" must be',
    ],
    [
      'too many attempts',
      { restart: { maxAttempts: 1_001 } },
      'restart.maxAttempts: "restart.maxAttempts" must be a whole number from 0 to 1000, without quotes, or null for no limit',
    ],
    [
      'an unknown value',
      { restart: { on: 'sometimes' } },
      'restart.on: "restart.on" must be "auto" or "never"',
    ],
    [
      'a jitter of two',
      { restart: { jitter: 2 } },
      'restart.jitter: "restart.jitter" must be "none", "full" or a fraction from 0 to 1, such as 0.2',
    ],
    [
      'an empty delay list',
      { restart: { delays: [] } },
      'restart.delays: "restart.delays" must be a list',
    ],
    [
      'an incomplete storm limit',
      { storm: { crashLoop: { limit: 3 } } },
      'storm.crashLoop: "storm.crashLoop" must be { "limit": 5',
    ],
    [
      'endless quiet attempts',
      { restart: { afterGiveUp: { retryFromMs: 1 } } },
      'restart.afterGiveUp: "restart.afterGiveUp" must be "stop", "untilDemanded" or {',
    ],
    [
      'an unknown kind of failure',
      { startup: { retryOn: ['bad'] } },
      'startup.retryOn: "startup.retryOn" must be "any" or a list of transport',
    ],
    [
      'an unknown signal',
      { close: { steps: [{ by: 'SIGFOO', waitMs: 1 }] } },
      'close.steps: "close.steps" must be a list of steps',
    ],
    [
      'a name template without a tool',
      { naming: { template: 'mcp' } },
      'naming.template: "naming.template" must be text with {tool}',
    ],
  ])('is rejected with a remedy: %s', (_what, value, message) => {
    expect(faultOf(value)).toContain(message);
  });

  it('rejects a troupe-wide field for one server', () => {
    const value = { startup: { gateMs: 100 } };
    expect(faultOf(value, 'server')).toContain(
      'startup.gateMs: "startup.gateMs" applies to all servers together; set it in "mcp"',
    );
    expect(faultOf(value, 'troupe')).toBeUndefined();
  });
});

describe('a failure rule', () => {
  const rules = (...given: readonly unknown[]) => faultOf({ classify: { rules: given } });

  it.each([
    [{ status: 503, kind: 'rateLimited' }],
    [{ code: 'ECONNRESET', message: 'gone', kind: 'crashed' }],
    [{ code: -32_001, kind: 'sessionMissing' }],
  ])('accepts %j', (rule) => {
    const overrides = { classify: { rules: [rule] } };
    expect(parsePolicyChoice(overrides, 'server')).toEqual({ choice: { overrides } });
  });

  it.each([
    ['not an object', 'x', 'rule 1 must be an object such as'],
    ['nothing', null, 'rule 1 must be an object such as'],
    ['an array', [], 'rule 1 must be an object such as'],
    [
      'a status out of range',
      { status: 99, kind: 'protocol' },
      'rule 1 has a wrong "status": it must be a whole number from 100 to 599',
    ],
    ['an empty code', { code: '', kind: 'protocol' }, 'rule 1 has a wrong "code"'],
    ['a code with both types', { code: true, kind: 'protocol' }, 'rule 1 has a wrong "code"'],
    ['an empty message', { message: ' ', kind: 'protocol' }, 'rule 1 has a wrong "message"'],
    ['a long message', { message: 'x'.repeat(257), kind: 'protocol' }, 'of 1 to 256 characters'],
    ['a pattern', { message: /x/u, kind: 'protocol' }, 'it is no pattern'],
    [
      'an unknown key',
      { pattern: 'x', kind: 'protocol' },
      'rule 1 has an unknown key "pattern"; a rule has status, code, message, kind',
    ],
    ['no kind', { status: 500 }, 'rule 1 needs a "kind", one of transport'],
    ['an unknown kind', { status: 500, kind: 'bad' }, 'rule 1 needs a "kind", one of transport'],
    [
      'no condition',
      { kind: 'protocol' },
      'rule 1 would fit every failure; give it status or code or message',
    ],
  ])('is rejected with the reason: %s', (_what, rule, words) => {
    expect(rules(rule)).toContain('classify.rules: "classify.rules" rule 1 ');
    expect(rules(rule)).toContain(words);
  });

  it('is identified by its number', () => {
    expect(rules({ status: 500, kind: 'protocol' }, 3)).toContain('rule 2 must be an object');
  });

  it.each([
    ['not an array', {}],
    [
      'an array that is too long',
      Array.from({ length: 101 }, () => ({ status: 500, kind: 'protocol' })),
    ],
  ])('must be in an array: %s', (_what, given) => {
    expect(faultOf({ classify: { rules: given } })).toContain(
      'must be a list of at most 100 rules',
    );
  });
});
