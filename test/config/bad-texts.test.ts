import { describe, expect, it } from 'vitest';

import { parseSettings } from '../../src/config/parse-settings.ts';
import { decodeSettings } from '../../src/config/settings-bytes.ts';

const origin = { file: '/settings/troupe.json', scope: 'config', projectRoot: '/project' } as const;
const nested = (depth: number) => `{ "x": ${'['.repeat(depth - 1)}${']'.repeat(depth - 1)} }`;

describe('a text that is wrong as a whole', () => {
  it.each<[what: string, text: string, line: number, key: string | undefined, next: string]>([
    ['empty', '', 1, undefined, 'write at least {}'],
    ['white space', ' \n ', 1, undefined, 'write at least {}'],
    ['a comment alone', '// later', 1, undefined, 'mend it'],
    ['null', 'null', 1, undefined, 'write { "mcpServers": {} }'],
    ['a list', '\n[]', 2, undefined, 'write { "mcpServers": {} }'],
    ['a text', '"x"', 1, undefined, 'write { "mcpServers": {} }'],
    ['a number', '7', 1, undefined, 'write { "mcpServers": {} }'],
    ['cut off', '{\n"mcpServers": {\n"a":', 3, undefined, 'mend it here or just above'],
    ['without a comma', '{\n"a": 1\n"b": 2 }', 3, undefined, 'comma expected'],
    ['with a second text behind it', '{}\n{}', 2, undefined, 'mend it'],
    ['with two byte order marks', '\ufeff\ufeff{}', 1, undefined, 'mend it'],
    ['with a NUL', '{\n\0}', 2, undefined, 'save it as UTF-8'],
    ['nested too deeply', `\n${nested(257)}`, 2, undefined, 'flatten it'],
    ['nested beyond any stack', `\n${'['.repeat(200_000)}`, 2, undefined, 'flatten it'],
    ['longer than a megabyte', `{}${' '.repeat(1_000_000)}`, 1, undefined, 'split them'],
    ['servers in a list', '{\n"mcpServers": [] }', 2, 'mcpServers', 'write { "name"'],
    ['servers twice', '{ "mcpServers": {},\n"mcpServers": {} }', 2, 'mcpServers', 'join the two'],
    ['limits twice', '{ "mcp": {},\n"mcp": {} }', 2, 'mcp', 'join the two'],
    ['limits in a list', '{\n"mcp": [] }', 2, 'mcp', 'write { "excluded": [] }'],
    ['one name for a list', '{ "mcp": {\n"allowed": "db" } }', 2, 'mcp.allowed', 'write ["db"]'],
    [
      'an empty name in a list',
      '{ "mcp": { "allowed": ["db",\n""] } }',
      2,
      'mcp.allowed.1',
      'write ["db"]',
    ],
    ['null in a list', '{ "mcp": { "excluded": [null] } }', 1, 'mcp.excluded.0', 'write ["db"]'],
    [
      'a list twice',
      '{ "mcp": { "excluded": [],\n"excluded": ["a"] } }',
      2,
      'mcp.excluded',
      'keep one of the two',
    ],
    [
      'a misspelt limit',
      '{ "mcp": {\n"exclude": ["a"] } }',
      2,
      'mcp.exclude',
      'did you mean "excluded"?',
    ],
  ])('gives no document when it is %s', (_what, text, line, key, next) => {
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
  it.each<[what: string, text: string, line: number, key: string, next: string]>([
    [
      'servers under another name',
      '{\n"servers": { "a": { "host": "x" } } }',
      2,
      'servers',
      'did you mean "mcpServers"?',
    ],
    ['servers misspelt', '{\n"mcp-server": {} }', 2, 'mcp-server', 'did you mean "mcpServers"?'],
    ['an unknown key of mcp', '{ "mcp": {\n"colour": 1 } }', 2, 'mcp.colour', 'remove it'],
    ['a misspelt key of mcp', '{ "mcp": {\n"slot": {} } }', 2, 'mcp.slot', 'did you mean "slots"?'],
    [
      'slots as a number',
      '{ "mcp": {\n"slots": 3 } }',
      2,
      'mcp.slots',
      'write { "local": 3, "remote": 20 }',
    ],
    ['no slot', '{ "mcp": { "slots": {\n"local": 0 } } }', 2, 'mcp.slots.local', 'from 1 to 1000'],
    [
      'an unknown slot',
      '{ "mcp": { "slots": {\n"both": 1 } } }',
      2,
      'mcp.slots.both',
      'write { "local": 3',
    ],
    [
      'a gate in quotes',
      '{ "mcp": {\n"startupGateMs": "250" } }',
      2,
      'mcp.startupGateMs',
      'write 250',
    ],
    [
      'a gate of an hour',
      '{ "mcp": { "startupGateMs": 3600000 } }',
      1,
      'mcp.startupGateMs',
      'from 0 to 60000',
    ],
    [
      'an unknown preset',
      '{ "mcp": { "policy": "strict" } }',
      1,
      'mcp.policy',
      'must be one of "default"',
    ],
    [
      'a preset with a slip of the pen',
      '{ "mcp": { "policy": "ClaudCode" } }',
      1,
      'mcp.policy',
      'did you mean "claudeCode"?',
    ],
    [
      'a number of the policy that cannot be meant',
      '{ "mcp": { "policy": {\n"restart": {\n"maxAttempts": -1 } } } }',
      3,
      'mcp.policy.restart.maxAttempts',
      'from 0 to 1000, without quotes, or null for no limit',
    ],
  ])('is reported and otherwise ignored: %s', (_what, text, line, key, next) => {
    const { document, problems } = parseSettings(text, origin);
    expect(document?.mcp).toEqual({});
    expect(problems).toEqual([
      { file: '/settings/troupe.json', line, key, message: expect.stringContaining(next) },
    ]);
  });

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
