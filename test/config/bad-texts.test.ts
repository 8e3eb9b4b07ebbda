import { describe, expect, it } from 'vitest';

import { parseSettings } from '../../src/config/parse-settings.ts';
import { decodeSettings } from '../../src/config/settings-bytes.ts';
import { badTexts, harmlessMistakes, nested } from './bad-text-rows.ts';

const origin = { file: '/settings/troupe.json', scope: 'config', projectRoot: '/project' } as const;
describe('a text that is wrong as a whole', () => {
  it.each(badTexts)('gives no document when it is %s', (_what, text, line, key, next) => {
    const { document, problems } = parseSettings(text, origin);
    expect(document).toBeUndefined();
    expect(problems).toEqual([
      {
        file: '/settings/troupe.json',
        line,
        ...(key === undefined ? {} : { key }),
        message: expect.stringContaining(next),
      },
    ]);
  });

  it('gives no document when it names more servers than anyone can manage', () => {
    const entries = Array.from({ length: 10_001 }, (_, index) => `"s${index}":{}`);
    const text = (count: number) => `{ "mcpServers": {${entries.slice(0, count).join(',')}} }`;
    expect(parseSettings(text(10_000), origin).document?.servers).toHaveLength(10_000);
    expect(parseSettings(text(10_001), origin)).toEqual({
      problems: [expect.objectContaining({ message: expect.stringContaining('split the file') })],
    });
  });

  it('is read at the very limits', () => {
    expect(parseSettings(nested(256), origin).document).toBeDefined();
    expect(parseSettings(`{}${' '.repeat(999_998)}`, origin).document).toBeDefined();
  });
});

describe('a text with a mistake that harms nobody', () => {
  it.each(harmlessMistakes)(
    'is reported and otherwise ignored: %s',
    (_what, text, line, key, next) => {
      const { document, problems } = parseSettings(text, origin);
      expect(document?.mcp).toEqual({});
      expect(problems).toEqual([
        { file: '/settings/troupe.json', line, key, message: expect.stringContaining(next) },
      ]);
    },
  );

  it('is not even reported when it is a key of a host that keeps more in the file', () => {
    const text = '{ "$schema": "x", "theme": "dark", "model": { "name": "m" }, "mcpServers": {} }';
    expect(parseSettings(text, origin).problems).toEqual([]);
  });
});

describe('bytes of a settings file', () => {
  const bytes = (...values: readonly number[]) => Uint8Array.from(values);

  it.each([
    ['UTF-16, low byte first', bytes(0xff, 0xfe, 0x7b, 0x00), 'UTF-16; save it as UTF-8'],
    ['UTF-16, high byte first', bytes(0xfe, 0xff, 0x00, 0x7b), 'UTF-16; save it as UTF-8'],
    ['UTF-16 without a mark', bytes(0x7b, 0x00, 0x7d, 0x00), 'save it as UTF-8'],
    ['filled with NUL', new Uint8Array(64), 'save it as UTF-8'],
    ['not UTF-8', bytes(0x7b, 0xc3, 0x28, 0x7d), 'save it as UTF-8'],
    ['more than a megabyte', new Uint8Array(1_000_001).fill(0x20), 'split them'],
  ])('are refused when they are %s', (_what, content, next) => {
    expect(decodeSettings(content)).toEqual({ message: expect.stringContaining(next) });
  });

  it('are read with a byte order mark, which the parser takes off', () => {
    const decoded = decodeSettings(bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d));
    expect(decoded).toEqual({ text: '\ufeff{}' });
    expect(parseSettings('\ufeff{}', origin).document).toBeDefined();
  });
});
