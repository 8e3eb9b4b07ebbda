import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { expandVariables } from '../../src/policies/expand-variables.ts';

const variables = { HOME: '/place/x', EMPTY: '', NESTED: '${HOME}', UNSET: undefined };

describe('expanding variables', () => {
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
  ])('%j gives %j', (text, value, used) => {
    expect(expandVariables(text, variables)).toEqual({ value, used });
  });

  it('names the first variable that is missing', () => {
    expect(expandVariables('${HOME} ${FIRST} ${SECOND}', variables)).toEqual({ missing: 'FIRST' });
    expect(expandVariables('${UNSET}', variables)).toEqual({ missing: 'UNSET' });
  });

  it('knows no variables that only the language brought along', () => {
    expect(expandVariables('${constructor}', {})).toEqual({ missing: 'constructor' });
  });

  it('agrees with replacing one reference after the other by hand', () => {
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
