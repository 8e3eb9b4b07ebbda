import { afterEach, describe, expect, it, vi } from 'vitest';
import { Composer, Lexer, Parser } from 'yaml';
import { readTomlTree } from '../../src/settings/formats/toml-tree.ts';
import { readYamlTree } from '../../src/settings/formats/yaml-tree.ts';
import { parseSettingsFile } from '../../src/settings/parse-settings.ts';
import { readTree, type TreeReading } from '../../src/settings/settings-tree.ts';
import { yamlText } from '../../src/settings/text-bounds.ts';

afterEach(() => void vi.restoreAllMocks());

const project = { file: '/project/.mcp.json', scope: 'project', projectRoot: '/project' } as const;
const own = { file: '/home/me/agent.yaml', scope: 'config', projectRoot: '/project' } as const;

const faultOf = (reading: TreeReading): string =>
  'fault' in reading ? `${reading.fault.line}: ${reading.fault.message}` : 'none';

/** What is said of a whole text. */
async function verdictOf(text: string, origin: typeof project | typeof own): Promise<string> {
  const { document, problems } = await parseSettingsFile(text, origin);
  return document === undefined ? problems.map(({ message }) => message).join() : 'read';
}

// Of these, the first two ended the process and the next two stood still for 4 to 40 s.
const deepYaml = `${'- '.repeat(1_000)}x\n---\na: ${'['.repeat(60_000)}`;
const deepFlow = `a: ${'['.repeat(60_000)}`;
const manyAliases = `x: &a 1\ny: [${'*a,'.repeat(8_000)}]\n`;
const manyQuotes = `${'"'.repeat(200_000)}:\n`;
// Each of its keys is a map; writing them out as names doubles with every level.
const mapsAsKeys = `x: 1\ny: ${'{'.repeat(120)}a: b${'}: c'.repeat(119)}}\n`;
const hostileYaml: readonly (readonly [string, string, string])[] = [
  ['nests block and flow sequences', deepYaml, 'flatten it'],
  ['nests flow sequences', deepFlow, 'flatten it'],
  ['holds thousands of aliases', manyAliases, 'more than 100 aliases'],
  ['consists of quotes', manyQuotes, 'more than 10000 tokens'],
  ['uses maps as map keys', mapsAsKeys, 'a key is a list or a map'],
  ['nests block maps across many lines', 'a: : : :\n'.repeat(1_000), 'flatten it'],
  ['nests by indentation', indented(500), 'flatten it'],
  ['consists of comments', '#\n'.repeat(100_000), 'nothing but comments'],
  ['mixes blank lines and comments', `a:\n${'\n'.repeat(9_000)}${' #\n'.repeat(9_000)}`, 'tokens'],
  ['exceeds the length limit for YAML', `a: "${'x'.repeat(256_000)}"\n`, 'longer than 256000'],
];

function indented(depth: number): string {
  return Array.from({ length: depth }, (_, index) => `${' '.repeat(index)}a:\n`).join('');
}

describe("a project's .mcp.json that contains YAML", () => {
  it.each(hostileYaml)('never reaches the YAML parser when it %s', async (_what, text) => {
    const lex = vi.spyOn(Lexer.prototype, 'lex');
    expect(await verdictOf(text, project)).toMatch(/JSON|tokens|nested|longer|comments/u);
    expect(lex).not.toHaveBeenCalled();
  });
});

describe('a YAML file', () => {
  it.each(hostileYaml)('is refused when it %s', async (_what, text, reason) => {
    expect(await verdictOf(text, own)).toContain(reason);
  });

  it.each(hostileYaml)('takes a bounded number of parser steps when it %s', async (_what, text) => {
    const next = vi.spyOn(Parser.prototype, 'next');
    await verdictOf(text, own);
    expect(next.mock.calls.length).toBeLessThanOrEqual(yamlText.tokens);
  });

  it.each([deepYaml, deepFlow, manyAliases, manyQuotes])(
    'is not composed once it exceeds a bound: %#',
    (text) => {
      const compose = vi.spyOn(Composer.prototype, 'compose');
      expect(readYamlTree(text)).toHaveProperty('fault');
      expect(compose).not.toHaveBeenCalled();
    },
  );

  it('resolves each alias to the last anchor of that name above it', () => {
    const text = 'a: &x 1\nb: &y { c: &x 2 }\nd: *x\ne: &x 3\nf: *y\ng: *x\nh: &x 4\n';
    const reading = readYamlTree(text);
    if ('fault' in reading || reading.root.kind !== 'object') throw new Error('it is not read');
    const values = reading.root.members.map(({ name, node }) => [name, node]);
    expect(Object.fromEntries(values)).toMatchObject({ d: { value: 2 }, g: { value: 3 } });
  });

  it('is accepted with a hundred aliases at the maximum depth', () => {
    const text = `x: &a 1\ny: [${'*a,'.repeat(100)}]\nz: ${'['.repeat(255)}${']'.repeat(255)}\n`;
    expect(faultOf(readYamlTree(text))).toBe('none');
  });
});

describe('a TOML file', () => {
  const heads = (count: number, parts: number): string =>
    Array.from({ length: count }, (_, at) => `[k${at}.${'a.'.repeat(parts)}a]\n`).join('');

  it.each([
    ['many deep tables', heads(2_000, 250), 'more than 40000 tokens'],
    ['many pairs', 'a = 1\n'.repeat(20_000), 'more than 40000 tokens'],
    [
      'a number with a million digits',
      `a = ${'9'.repeat(900_000)}\n`,
      'longer than 1000 characters',
    ],
    ['a key with many parts', `${'a.'.repeat(300)}a = 1\n`, 'flatten it'],
    [
      'deep tables within deep tables',
      `[${'a.'.repeat(200)}a]\n${'b.'.repeat(200)}b = 1\n`,
      'flatten',
    ],
    ['deep arrays', `a = ${'['.repeat(60_000)}`, 'flatten it'],
  ])('is refused for %s', (_what, text, reason) => {
    expect(faultOf(readTomlTree(text))).toContain(reason);
  });

  it('keeps correct line numbers after a table name of any length', () => {
    const reading = readTomlTree(`["${'x'.repeat(500_000)}"]\nk1 = 1\nk2 = 2\n`);
    expect(reading).toMatchObject({
      root: { members: [{ line: 1, node: { members: [{ line: 2 }, { line: 3 }] } }] },
    });
  });
});

describe("a project folder's JSON file", () => {
  const servers = (count: number): string =>
    Array.from({ length: count }, (_, at) => `"s${at}": { "command": "x" }`).join(',');
  const object = (...members: string[]): string => `{ ${members.join(', ')} }`;

  it.each([
    ['too many tokens for a folder', `[${'1,'.repeat(30_000)}1]`, '40000 tokens'],
    ['too many characters for a folder', `{ "a": "${'x'.repeat(256_000)}" }`, '256000'],
    ['too many servers for a folder', object(`"mcpServers": {${servers(1_001)}}`), '1000 servers'],
    ['endless brackets', '['.repeat(200_000), 'flatten it'],
    ['a number with a thousand digits', `{ "a": ${'9'.repeat(1_001)} }`, '1000 characters'],
  ])('is refused for %s', async (_what, text, reason) => {
    expect(await verdictOf(text, project)).toContain(reason);
  });

  it('is read up to the folder’s limits, with a string or a comment counted as one token', async () => {
    const quiet = `/* ${'[ '.repeat(9_000)} */ "a": "${'[{,:'.repeat(9_000)}"`;
    expect(await verdictOf(`{ ${quiet}, "mcpServers": {${servers(1_000)}} }`, project)).toBe(
      'read',
    );
  });
});

describe('the result of reading a file', () => {
  /** Calls from so far down the stack that a parser which recurses without a bound has no room. */
  function from<Result>(depth: number, call: () => Result): Result {
    return depth === 0 ? call() : from(depth - 1, call);
  }

  it.each([
    ...hostileYaml.map(([what, text]) => [`YAML that ${what}`, () => readYamlTree(text)] as const),
    ['deep TOML', () => readTomlTree(`a = ${'['.repeat(250)}${']'.repeat(250)}`)] as const,
    ['deep JSON', () => readTree(`${'['.repeat(250)}${']'.repeat(250)}`)] as const,
    ['deep YAML', () => readYamlTree(`a: ${'['.repeat(250)}${']'.repeat(250)}`)] as const,
  ])('does not depend on the remaining stack: %s', (_what, read) => {
    expect(faultOf(from(4_000, read))).toBe(faultOf(read()));
  });
});
