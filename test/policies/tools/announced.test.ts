import { describe, expect, it } from 'vitest';

import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { announcedAs } from '../../../src/policies/tools/announced.ts';
import { exposeTools, sameTools } from '../../../src/policies/tools/expose-tools.ts';

const inputSchema = { type: 'object' };

function exposed(more: object = {}, descriptionMaxLength = 16_384) {
  const tools = [{ name: 'query', inputSchema, ...more }];
  const { naming } = defaultPolicy;
  const filter = { include: ['*'], exclude: [] };
  const from = { server: 'db', filter, catalog: 'live', tools, naming, trust: false } as const;
  return exposeTools([{ ...from, descriptionMaxLength }]);
}

describe('a tool', () => {
  it('keeps what hosts of apps need, and fields of later revisions', () => {
    const more = { icons: [{ src: 'a:b' }], _meta: { a: 1 }, execution: {}, extra: { server: 1 } };
    const [tool] = exposed(more);
    expect(tool).toMatchObject({ server: 'db', ...more });
    const { extra: _extra, ...rest } = more;
    expect(tool && announcedAs(tool)).toEqual({ name: 'query', inputSchema, ...rest, server: 1 });
  });

  it.each([
    [['app'], true],
    [['app', 'model'], undefined],
    [['model'], undefined],
    [[], undefined],
    ['app', undefined],
  ])('with the visibility %j is for an app only: %s', (visibility, appOnly) => {
    expect(exposed({ _meta: { ui: { visibility } } })[0]?.appOnly).toBe(appOnly);
    expect(exposed({ _meta: { ui: 1, visibility } })[0]?.appOnly).toBeUndefined();
  });

  it('says that its policy cuts its description', () => {
    const description = 'x'.repeat(101);
    expect(exposed({ description }, 100)[0]?.isCut).toBe(true);
    expect(exposed({ description }, 0)[0]?.isCut).toBe(true);
    expect(exposed({ description }, 101)[0]?.isCut).toBeUndefined();
    expect(exposed({ description })[0]?.isCut).toBeUndefined();
  });

  it('differs from one that its server announced with hidden characters', () => {
    const [plain, marked] = [exposed({ title: 'A' }), exposed({ title: 'A\u200b' })];
    expect(marked).toEqual(plain);
    expect(sameTools(plain, marked)).toBe(false);
    expect(sameTools(plain, exposed({ title: 'A' }))).toBe(true);
    expect(sameTools(plain, undefined)).toBe(false);
    expect(sameTools(undefined, undefined)).toBe(true);
  });
});

it('an item that was made from no other is announced as it is', () => {
  const prompt = { name: 'greet', arguments: [{ name: 'who', extra: { kind: 'person' } }] };
  expect(announcedAs(prompt)).toEqual({
    name: 'greet',
    arguments: [{ name: 'who', kind: 'person' }],
  });
});
