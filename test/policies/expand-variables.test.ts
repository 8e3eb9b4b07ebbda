import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  expandVariables,
  inputIdPattern,
  referenceKey,
  referencesIn,
} from '../../src/policies/expand-variables.ts';

const variables = { HOME: '/place/x', EMPTY: '', NESTED: '${HOME}', UNSET: undefined };

describe('variable expansion', () => {
  it.each([
    ['no reference', 'no reference', []],
    ['${HOME}/bin', '/place/x/bin', ['/place/x']],
    ['${HOME}${HOME}', '/place/x/place/x', ['/place/x', '/place/x']],
    ['${MISSING:-fallback}', 'fallback', []],
    ['${MISSING:-}', '', []],
    ['${EMPTY:-fallback}', 'fallback', []],
    ['${EMPTY}', '', ['']],
    ['${UNSET:-fallback}', 'fallback', []],
    ['${HOME:-unused}', '/place/x', ['/place/x']],
    // What a variable holds is text, not another template.
    ['${NESTED}', '${HOME}', ['${HOME}']],
    ['$HOME $(id) `id` ${1} ${a b} ${', '$HOME $(id) `id` ${1} ${a b} ${', []],
  ])('expands %j to %j', (text, value, used) => {
    expect(expandVariables(text, variables)).toEqual({ value, used });
  });

  it('reports the first missing variable', () => {
    expect(expandVariables('${HOME} ${FIRST} ${SECOND}', variables)).toEqual({ missing: 'FIRST' });
    expect(expandVariables('${UNSET}', variables)).toEqual({ missing: 'UNSET' });
  });

  it('leaves a literal text as it is written', () => {
    const text = '${HOME} ${UNSET}';
    expect(expandVariables(text, variables, { literal: true })).toEqual({ value: text, used: [] });
  });

  it('ignores properties of object prototypes', () => {
    expect(expandVariables('${constructor}', {})).toEqual({ missing: 'constructor' });
  });

  it('agrees with replacing references one by one', () => {
    const part = fc.oneof(
      fc.stringMatching(/^[^$]*$/u),
      fc.constantFrom('${HOME}', '${EMPTY:-d}', '${X:-}'),
    );
    const byHand: Record<string, string> = {
      '${HOME}': '/place/x',
      '${EMPTY:-d}': 'd',
      '${X:-}': '',
    };
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const expected = parts
          .map((one) => (Object.hasOwn(byHand, one) ? byHand[one] : one))
          .join('');
        expect(expandVariables(parts.join(''), variables)).toMatchObject({ value: expected });
      }),
    );
  });
});

describe('references to inputs, keychains and variables', () => {
  const found = new Map([
    ['input:token', { value: 'abc${HOME}', isSecret: true }],
    ['input:city', { value: 'Bern', isSecret: false }],
    ['keychain:svc/me/x', { value: 'k', isSecret: true }],
  ]);

  it('expand to their values but never to further references', () => {
    const text = '${input:token} ${input:city} ${keychain:svc/me/x} ${HOME}';
    expect(expandVariables(text, variables, { found })).toEqual({
      value: 'abc${HOME} Bern k /place/x',
      used: ['abc${HOME}', 'k', '/place/x'],
    });
  });

  it.each([
    ['${input:other}', { missing: 'input:other' }],
    ['${keychain:svc/you}', { missing: 'keychain:svc/you' }],
    ['${input:}', { broken: 'input' }],
    ['${input:a}b}', { missing: 'input:a' }],
    ['${input: a}', { broken: 'input' }],
    ['${keychain:}', { broken: 'keychain' }],
    ['${keychain:svc}', { broken: 'keychain' }],
    ['${keychain:/me}', { broken: 'keychain' }],
    ['${A:-${B}}', { broken: 'nested' }],
    ['${A:-${B}} ${input:}', { broken: 'nested' }],
  ])('reject %j', (text, outcome) => {
    expect(expandVariables(text, {}, { found })).toEqual(outcome);
  });

  it('treat any name with a default as a variable', () => {
    expect(expandVariables('${input:-x}', {})).toEqual({ value: 'x', used: [] });
  });

  it('can leave missing variables in place', () => {
    expect(expandVariables('${A}-${HOME}', variables, { keepMissing: true })).toEqual({
      value: '${A}-/place/x',
      used: ['/place/x'],
      kept: ['A'],
    });
    expect(expandVariables('${input:x}', {}, { keepMissing: true })).toEqual({
      missing: 'input:x',
    });
  });

  it('are listed in order with their keys', () => {
    const references = referencesIn('${A:-x}${input:a b}${keychain:s/a}${B}$C');
    expect(references).toEqual([
      { kind: 'variable', name: 'A', fallback: 'x' },
      { kind: 'input', id: 'a b' },
      { kind: 'keychain', service: 's', account: 'a' },
      { kind: 'variable', name: 'B' },
    ]);
    const keys = references.flatMap((one) =>
      one.kind === 'input' || one.kind === 'keychain' ? referenceKey(one) : [],
    );
    expect(keys).toEqual(['input:a b', 'keychain:s/a']);
    expect(
      ['token', 'a b', ' a', '', 'x'.repeat(101)].map((id) => inputIdPattern.test(id)),
    ).toEqual([true, true, false, false, false]);
  });

  it('yield a value or a reason for any string, never unrelated values', () => {
    const part = fc.oneof(
      fc.constantFrom(
        '${',
        '}',
        '${A',
        ':-',
        'input:',
        'keychain:',
        '$',
        '/',
        '${SECRET}',
        '$&',
        '\\',
      ),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        const expansion = expandVariables(text, {
          SECRET: 'hunter2hunter2',
          OTHER: 'other-secret',
        });
        expect(JSON.stringify(expansion)).not.toContain('other-secret');
        if (!('value' in expansion)) expect(JSON.stringify(expansion)).not.toContain('hunter2');
        else if (expansion.value.includes('hunter2')) expect(expansion.used).not.toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('are found in a long string in linear time', () => {
    const open = '${A:-'.repeat(200_000);
    expect(expandVariables(open, {})).toEqual({ value: open, used: [] });
    expect(expandVariables(`${open}}`, {})).toEqual({ broken: 'nested' });
  });
});
