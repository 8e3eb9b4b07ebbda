import * as fc from 'fast-check';
import { createScanner, findNodeAtLocation, parse, parseTree } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';

import { type Addition, addToSettings, changeSettings } from '../../src/settings/edit-settings.ts';

const plain = (text: string): unknown => parse(text, [], { allowTrailingComma: true });

// Values of jsonc-parser's SyntaxKind, a const enum that isolated modules cannot read.
const comma = 5;
const lineBreak = 14;
const blank = 15;
const endOfFile = 17;

/** What a person wrote, piece by piece: everything but blanks, line ends and commas. */
function piecesOf(text: string): readonly string[] {
  const scanner = createScanner(text.replace(/^\ufeff/u, ''), false);
  const pieces: string[] = [];
  for (let token: number = scanner.scan(); token !== endOfFile; token = scanner.scan()) {
    if (token !== comma && token !== lineBreak && token !== blank)
      pieces.push(scanner.getTokenValue().trimEnd());
  }
  return pieces;
}

/** Whether all of the first stands in the second, in its order. */
function isWithin(some: readonly string[], all: readonly string[]): boolean {
  let next = 0;
  for (const piece of all) if (piece === some[next]) next += 1;
  return next === some.length;
}

const key = fc.constantFrom('a', 'b', 'c', 'A key', '__proto__x', 'ä"\\');
const gap = fc.constantFrom('', ' ', '\n', '\r\n  ', '\n\t', ' /* c */ ', ' // c\n', '\n// d\r\n');
const scalar = fc.constantFrom('1', 'true', 'null', '"x"', '"// no comment"', '"}"', '"\\u00e4"');

/** JSON with comments as people write it: any layout, comments anywhere, commas at the end. */
const { value: jsonc } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    holder(
      '{',
      '}',
      fc.tuple(key, gap, tie('value')),
      ([name, space, inner]) => `${JSON.stringify(name)}:${space}${inner}`,
    ),
    holder('[', ']', tie('value'), (item) => item),
  ),
}));

function holder<Item>(
  open: string,
  close: string,
  item: fc.Arbitrary<Item>,
  write: (item: Item) => string,
): fc.Arbitrary<string> {
  const items = fc.uniqueArray(fc.tuple(gap, item, gap), {
    maxLength: 3,
    selector: ([, one]) => (Array.isArray(one) ? one[0] : {}),
  });
  return fc.tuple(items, gap, fc.boolean()).map(([all, last, hasComma]) => {
    const inner = all.map(([before, one, after]) => `${before}${write(one)}${after}`).join(',');
    return `${open}${inner}${hasComma && all.length > 0 ? ',' : ''}${last}${close}`;
  });
}

const document = fc
  .tuple(
    fc.constantFrom('', '\ufeff', '// head\n', '\ufeff/* head */\n'),
    fc.record(
      { mcpServers: object(jsonc), mcp: object(jsonc), inputs: list(jsonc), theme: jsonc },
      { requiredKeys: [] },
    ),
    gap,
  )
  .map(([head, keys, space]) => {
    const members = Object.entries(keys).map(([name, text]) => `${space}"${name}": ${text}`);
    return `${head}{${members.join(',')}${space}}\n`;
  });

function object(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return holder(
    '{',
    '}',
    fc.tuple(key, value),
    ([name, text]) => `${JSON.stringify(name)}: ${text}`,
  );
}

function list(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return holder('[', ']', value, (text) => text);
}

// A text with `__proto__` is not read as settings, so none is generated.
const harmless = fc.jsonValue().filter((json) => !JSON.stringify(json).includes('"__proto__":'));

const addition: fc.Arbitrary<Addition> = fc.oneof(
  fc.record({ path: fc.tuple(fc.constant('mcpServers'), key), value: harmless }),
  fc.record({ path: fc.tuple(fc.constant('mcp'), key), value: harmless }),
  fc.record({ path: fc.constant(['inputs', -1]), value: harmless }),
);

/** The same addition made to a plain value; undefined when something is there already. */
function added(before: unknown, { path: [first, second], value }: Addition): unknown {
  const root = before as Record<string, unknown>;
  const held = root[String(first)];
  if (second === -1) return { ...root, inputs: [...((held as unknown[]) ?? []), value] };
  const entries = Object.entries((held as object) ?? {});
  if (entries.some(([name]) => name === second)) return undefined;
  return { ...root, [String(first)]: Object.fromEntries([...entries, [second, value]]) };
}

describe('additions to a settings file', () => {
  it('add exactly the requested values and keep every other character', () => {
    fc.assert(
      fc.property(document, fc.array(addition, { maxLength: 4 }), (text, additions) => {
        let expected: unknown = plain(text);
        for (const one of additions) if (expected !== undefined) expected = added(expected, one);
        const edited = addToSettings(text, additions);
        if (expected === undefined) {
          expect(edited).toBeUndefined();
          return;
        }
        expect(plain(edited ?? '')).toEqual(JSON.parse(JSON.stringify(expected)));
        expect(isWithin(piecesOf(text), piecesOf(edited ?? ''))).toBe(true);
        expect((edited ?? '').startsWith('\ufeff')).toBe(text.startsWith('\ufeff'));
        if (additions.length === 0) expect(edited).toBe(text);
      }),
      { numRuns: 400 },
    );
  });
});

describe('removals from a settings file', () => {
  it('remove exactly the named item and keep the comments before and after it', () => {
    fc.assert(
      fc.property(document, key, fc.constantFrom('mcpServers', 'mcp'), (text, name, section) => {
        const body = text.replace(/^\ufeff/u, '');
        const root = parseTree(body, [], { allowTrailingComma: true });
        const item = root && findNodeAtLocation(root, [section, name])?.parent;
        fc.pre(item?.parent?.children !== undefined);
        const { children, offset, length } = item.parent;
        const edited = changeSettings(text, [{ path: [section, name], value: undefined }]) ?? '';
        const expected = plain(text) as Record<string, Record<string, unknown>>;
        delete expected[section]?.[name];
        expect(plain(edited)).toEqual(expected);
        const next = children[children.indexOf(item) + 1]?.offset ?? offset + length - 1;
        const kept = [...piecesOf(body.slice(0, item.offset)), ...piecesOf(body.slice(next))];
        expect(isWithin(kept, piecesOf(edited))).toBe(true);
        expect(edited.startsWith('\ufeff')).toBe(text.startsWith('\ufeff'));
      }),
      { numRuns: 400 },
    );
  });

  it('restore what an addition of one word changed, to the byte', () => {
    const whole = fc.tuple(object(object(jsonc)), gap, fc.constantFrom('\n', '\r\n'));
    fc.assert(
      fc.property(whole, ([servers, space, eol]) => {
        const text = `{${space}"mcpServers":${servers}}`.replaceAll(/\r?\n/gu, eol);
        const root = parseTree(text, [], { allowTrailingComma: true });
        const entries = (root && findNodeAtLocation(root, ['mcpServers'])?.children) ?? [];
        const [name, entry] = entries.at(-1)?.children ?? [];
        fc.pre(entry?.type === 'object' && entry.children?.length !== 0);
        // A comma at the beginning of a line moves.
        fc.pre(!/^(?:\s|\/\*.*?\*\/)*,/mu.test(text));
        const path = ['mcpServers', String(name?.value), 'enabled'];
        const disabled = changeSettings(text, [{ path, value: false }]) ?? '';
        expect(disabled).not.toBe(text);
        expect(changeSettings(disabled, [{ path, value: undefined }])).toBe(text);
      }),
      { numRuns: 400 },
    );
  });

  const written = [
    '{',
    '  // servers',
    '  "mcpServers": {',
    '    // about a',
    '    "a": { "command": "a" }, // a itself',
    '    // about b',
    '    "b": {',
    '      "command": "b", // its program',
    '    }, // b itself',
    '    /* about c */',
    '    "c": { "command": "c" } // c itself',
    '  }',
    '}',
    '',
  ];
  it.each([
    ['a', [4], []],
    ['b', [6, 7, 8], []],
    // The comma before the last item goes with it.
    ['c', [10], [[8, '    } // b itself']]],
  ] as const)('remove %s with its own line alone', (name, gone, changed) => {
    for (const eol of ['\n', '\r\n']) {
      const lines = new Map<number, string>(written.entries());
      for (const index of gone) lines.delete(index);
      for (const [index, line] of changed) lines.set(index, line);
      const path = ['mcpServers', name];
      expect(changeSettings(written.join(eol), [{ path, value: undefined }])).toBe(
        [...lines.values()].join(eol),
      );
    }
  });

  it.each([
    ['{ "a": 1, "b": 2 }', 'a', '{ "b": 2 }'],
    ['{ "a": 1, "b": 2 }', 'b', '{ "a": 1 }'],
    ['{ "a": 1, /* of b */ "b": 2, }', 'a', '{ /* of b */ "b": 2, }'],
    ['{\n\t"a": 1\n}', 'a', '{}'],
    ['{\n  "a": 1\n  , "b": 2\n}', 'a', '{\n  "b": 2\n}'],
  ])('leave %j without %s as %j', (text, name, expected) => {
    expect(changeSettings(text, [{ path: [name], value: undefined }])).toBe(expected);
  });
});
