import { describe, expect, it } from 'vitest';

import { readAnyTree } from '../../src/settings/formats/settings-language.ts';
import {
  type ParsedSettings,
  parseSettings,
  parseSettingsFile,
} from '../../src/settings/parse-settings.ts';
import { decodeSettings, maxSettingsBytes } from '../../src/settings/settings-bytes.ts';
import { type TreeNode, type TreePath, valueOf } from '../../src/settings/settings-tree.ts';
import { programFiles, readProgramFile } from '../support/program-files.ts';
import { badTexts, harmlessMistakes, nested } from './bad-text-rows.ts';

const origin = { file: '/settings/troupe', scope: 'config', projectRoot: '/project' } as const;
describe('an invalid settings file', () => {
  it.each(badTexts)('yields no document when it is %s', (_what, text, line, key, next) => {
    const { document, problems } = parseSettings(text, origin);
    expect(document).toBeUndefined();
    expect(problems).toEqual([
      {
        file: origin.file,
        line,
        ...(key === undefined ? {} : { key }),
        message: expect.stringContaining(next),
      },
    ]);
  });

  it('yields no document with more servers than allowed', () => {
    const entries = Array.from({ length: 10_001 }, (_, index) => `"s${index}":{}`);
    const text = (count: number) => `{ "mcpServers": {${entries.slice(0, count).join(',')}} }`;
    expect(parseSettings(text(10_000), origin).document?.servers).toHaveLength(10_000);
    expect(parseSettings(text(10_001), origin)).toEqual({
      problems: [expect.objectContaining({ message: expect.stringContaining('split the file') })],
    });
  });

  it('is read when it exactly meets the limits', () => {
    expect(parseSettings(nested(256), origin).document).toBeDefined();
    expect(parseSettings(`{}${' '.repeat(999_998)}`, origin).document).toBeDefined();
  });
});

describe('a settings file with a harmless mistake', () => {
  it.each(harmlessMistakes)(
    'is read with the mistake reported: %s',
    (_what, text, line, key, next) => {
      const { document, problems } = parseSettings(text, origin);
      expect(document?.mcp).toEqual({});
      expect(problems).toMatchObject([
        { file: origin.file, line, key, message: expect.stringContaining(next) },
      ]);
    },
  );

  it("does not report a host's other keys", () => {
    const text = '{ "$schema": "x", "theme": "dark", "model": { "name": "m" }, "mcpServers": {} }';
    expect(parseSettings(text, origin).problems).toEqual([]);
    // Claude Code's settings have a command beside the servers.
    const beside = '{ "statusLine": { "command": "x" }, "mcpServers": {} }';
    expect(parseSettings(beside, origin).problems).toEqual([]);
  });
});

describe("a settings file's bytes", () => {
  const bytes = (...values: readonly number[]) => Uint8Array.from(values);

  it.each([
    ['little-endian UTF-16', bytes(0xff, 0xfe, 0x7b, 0x00), 'UTF-16; save it as UTF-8'],
    ['big-endian UTF-16', bytes(0xfe, 0xff, 0x00, 0x7b), 'UTF-16; save it as UTF-8'],
    ['UTF-16 without a byte order mark', bytes(0x7b, 0x00, 0x7d, 0x00), 'save it as UTF-8'],
    ['all NUL', new Uint8Array(64), 'save it as UTF-8'],
    ['not UTF-8', bytes(0x7b, 0xc3, 0x28, 0x7d), 'save it as UTF-8'],
    ['more than allowed', new Uint8Array(maxSettingsBytes + 1).fill(0x20), 'split them'],
  ])('are rejected when they are %s', (_what, content, next) => {
    expect(decodeSettings(content)).toEqual({ message: expect.stringContaining(next) });
  });

  it('are read with a byte order mark, which the parser removes', () => {
    const decoded = decodeSettings(bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d));
    expect(decoded).toEqual({ text: '\ufeff{}' });
    expect(parseSettings('\ufeff{}', origin).document).toBeDefined();
  });
});

const programs = programFiles.map((name) => [name, readProgramFile(name)] as const);
const isYaml = (text: string): boolean => /^(?:agents|extensions|mcpServers):/mu.test(text);
const isJson = (text: string): boolean => /^\s*(?:\/\/.*\s*|\/\*[^]*?\*\/\s*)*\{/u.test(text);

const shared: ReadonlySet<string | number> = new Set([
  'inputs',
  'cwd',
  'projects',
  'codebuddy.mcp.disabledTools',
]);

/** The problems of a file, including its servers'. */
function saidOf({ document, problems }: ParsedSettings) {
  const ofServers = document?.servers.flatMap(({ desired }) => desired.invalid ?? []) ?? [];
  return [...problems, ...ofServers];
}

async function readBytes(bytes: Uint8Array): Promise<ParsedSettings> {
  const decoded = decodeSettings(bytes);
  if ('text' in decoded) return parseSettingsFile(decoded.text, origin);
  return { problems: [{ file: origin.file, message: decoded.message }] };
}

describe('a damaged settings file', () => {
  it.each(programs)(
    'from %s reads the same with a byte order mark or other line endings',
    async (_name, text) => {
      const meaning = async (variant: string) => {
        const { document, problems } = await readBytes(Buffer.from(variant));
        return { servers: document?.servers.map(({ desired, spec }) => [desired, spec]), problems };
      };
      const whole = await meaning(text);
      expect(whole.servers).not.toEqual([]);
      // In YAML each empty line is a token.
      const room = isYaml(text) ? 5_000 : 1_000_000 - Buffer.byteLength(text);
      expect(await meaning(`\ufeff${text}`)).toEqual(whole);
      expect(await meaning(text.replaceAll('\n', '\r\n'))).toEqual(whole);
      expect(await meaning(text + '\n'.repeat(room))).toEqual(whole);
    },
  );

  it.each(programs)(
    'from %s is rejected as a whole with one reason and a remedy',
    async (_name, text) => {
      const big = Buffer.from(text + '\n'.repeat(maxSettingsBytes + 1 - Buffer.byteLength(text)));
      const wide = Buffer.from(text, 'utf16le');
      const damaged: readonly (readonly [Uint8Array, string])[] = [
        [big, 'split them'],
        [wide, 'save it as UTF-8'],
        [Buffer.concat([Buffer.from([0xff, 0xfe]), wide]), 'UTF-16; save it as UTF-8'],
        [Buffer.concat([Buffer.from(text), Buffer.from('# \u00e9', 'latin1')]), 'save it as UTF-8'],
        [Buffer.from(`${text}\0`), 'save it as UTF-8'],
        [Buffer.from(isJson(text) ? `${text}}` : `${text}\n"`), 'fix it'],
      ];
      for (const [bytes, next] of damaged) {
        const { document, problems } = await readBytes(bytes);
        expect(document).toBeUndefined();
        expect(problems).toEqual([
          expect.objectContaining({ file: origin.file, message: expect.stringContaining(next) }),
        ]);
      }
    },
  );

  it.each(programs.filter(([, text]) => isJson(text)))(
    'from %s is rejected wherever it is truncated',
    async (_name, text) => {
      for (let length = 1; length < text.trimEnd().length; length += 7) {
        const { document, problems } = await parseSettingsFile(text.slice(0, length), origin);
        expect(document).toBeUndefined();
        expect(problems).toEqual([
          {
            file: origin.file,
            line: expect.any(Number),
            message: expect.stringMatching(/; (?:fix it here or just above|write at least \{\})$/u),
          },
        ]);
      }
    },
  );

  it.each(programs.filter(([, text]) => isJson(text)))(
    'from %s is reported with a position and a remedy for any value of any key',
    async (_name, text) => {
      const reading = await readAnyTree({ file: origin.file, text });
      if ('fault' in reading) throw new Error(reading.fault.message);
      const before = await parseSettingsFile(text, origin);
      const places = placesIn(reading.root, []);
      expect(places.length).toBeGreaterThan(5);
      for (const path of places) {
        for (const value of [null, 7, 'x y', [], {}, true, [1], { a: 1 }]) {
          const wrong = JSON.stringify(withValue(reading.root, path, value));
          const after = await parseSettingsFile(wrong, origin);
          expect(after.document !== undefined || after.problems.length > 0).toBe(true);
          for (const { file, line, message } of saidOf(after)) {
            expect([file, line]).toEqual([origin.file, 1]);
            expect(message).toMatch(/; | must be |\?$/u);
          }
          // Several servers may need an input or a folder; a project may cover a name of all.
          if (path.length <= 2 || path.some((key) => shared.has(key))) continue;
          const found = new Map(
            after.document?.servers.map(({ desired, spec }) => [desired.name, spec]),
          );
          const others = before.document?.servers.filter(
            ({ desired: { name, source } }) => found.has(name) && !isUnder(path, source.key),
          );
          for (const { desired, spec } of others ?? [])
            expect(found.get(desired.name)).toEqual(spec);
        }
      }
    },
  );
});

function placesIn(node: TreeNode, path: TreePath): readonly TreePath[] {
  if (node.kind === 'scalar') return [];
  const inner =
    node.kind === 'array'
      ? node.items.map((item, index) => [index, item] as const)
      : node.members.map(({ name, node: content }) => [name, content] as const);
  return inner.flatMap(([key, content]) => [[...path, key], ...placesIn(content, [...path, key])]);
}

function withValue(node: TreeNode, path: TreePath, value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (node.kind === 'array')
    return node.items.map((item, index) =>
      withValue(item, index === first ? rest : [], index === first ? value : valueOf(item)),
    );
  if (node.kind === 'scalar') return node.value;
  return Object.fromEntries(
    node.members.map(({ name, node: content }) => [
      name,
      name === first ? withValue(content, rest, value) : valueOf(content),
    ]),
  );
}

function isUnder(path: TreePath, key: string): boolean {
  return `${path.join('.')}.`.startsWith(`${key}.`);
}
