import { describe, expect, it } from 'vitest';

import { resourceKind, toolKind } from '../../src/protocol/items.ts';

const bare = { name: 'query', inputSchema: { type: 'object' } };

/** As deep as no JSON that a client has to read. */
function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: nested(levels - 1) };
}

describe('a tool', () => {
  it.each([
    ['_meta', { _meta: { a: 'x'.repeat(65_536) } }],
    ['x-future', { 'x-future': nested(40) }],
    ['icons', { icons: [{ src: `data:${'x'.repeat(65_536)}` }] }],
  ])('is listed without a field %s that is too large', (field, more) => {
    expect(toolKind.read({ ...bare, ...more })).toMatchObject({ item: bare, leftOut: [field] });
  });

  it('keeps no icon and no hint that would make the list invalid for clients', () => {
    const icons = [{ src: 1 }, 'a', { src: 'a:b', theme: 'blue' }, { src: 'a:c', sizes: ['1x1'] }];
    const annotations = { readOnlyHint: 'yes', idempotentHint: true, 'x-hint': 1 };
    expect(toolKind.read({ ...bare, icons, annotations })).toMatchObject({
      item: {
        ...bare,
        icons: [{ src: 'a:c', sizes: ['1x1'] }],
        annotations: { idempotentHint: true, 'x-hint': 1 },
      },
    });
  });
});

it('a resource keeps only annotations of the right shape', () => {
  const annotations = { audience: ['everyone'], priority: 2, lastModified: 5, 'x-why': 1 };
  expect(resourceKind.read({ uri: 'a:b', name: 'a', annotations })).toMatchObject({
    item: { annotations: { 'x-why': 1 } },
  });
});
