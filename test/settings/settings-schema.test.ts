import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

import { settingsSchemaPath } from '../../scripts/docs/settings-schema.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { serverEntryKeys } from '../../src/settings/entry/schema.ts';
import { convertSettings } from '../../src/settings/formats/convert-settings.ts';
import { foreignEntryKeys, foreignTypes } from '../../src/settings/formats/mcp-servers-rules.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';
import { parsePolicyChoice } from '../../src/settings/policy-choice.ts';
import { policySchemas } from '../../src/settings/policy-schema.ts';
import { readTree, valueOf } from '../../src/settings/settings-tree.ts';
import { fencesOf, readDocuments, root } from '../docs/documents.ts';
import { badEntries, textWith } from './bad-entry-rows.ts';
import { badTexts, harmlessMistakes } from './bad-text-rows.ts';

const origin = { file: '/settings/troupe.json', scope: 'config', projectRoot: '/project' } as const;

const schema: object = JSON.parse(readFileSync(path.join(root, settingsSchemaPath), 'utf8'));
// Words that only editors know, such as `patternErrorMessage`, are no mistakes.
const validate = new Ajv({ strict: false }).compile(schema);

/** What is wrong with a text for the schema; empty = nothing. */
function refusedBySchema(value: unknown): readonly string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** The first thing that the parser says against a text; undefined = nothing. */
function refusedByParser(text: string): string | undefined {
  const { document, problems } = parseSettings(text, origin);
  const invalid = document?.servers.flatMap(({ desired }) => desired.invalid ?? []) ?? [];
  return [...problems, ...invalid][0]?.message;
}

/** The plain value of a text in our own form; undefined of any other. */
function ownSettings(text: string): unknown {
  const tree = readTree(text);
  if ('fault' in tree || tree.root.kind !== 'object') return undefined;
  const names = tree.root.members.map(({ name }) => name);
  if (!names.some((name) => ['mcpServers', 'mcp', 'inputs'].includes(name))) return undefined;
  const conversion = convertSettings(tree.root, { projectRoot: '/project' });
  if (conversion !== undefined && ('fault' in conversion || conversion.format !== 'mcpServers'))
    return undefined;
  return valueOf(tree.root);
}

/** Every text in quotes of the tests and of the documents, and the fixtures and examples. */
async function corpus(): Promise<readonly string[]> {
  const files = ['test', 'examples'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.join(root, folder, file),
    ),
  );
  const texts = files.flatMap((file) => {
    if (/\.(?:json|jsonc|fixture)$/u.test(file)) return [readFileSync(file, 'utf8')];
    const source = file.endsWith('.ts') ? readFileSync(file, 'utf8') : '';
    return source.includes('"mcp') ? quotedIn(source) : [];
  });
  const documents = await readDocuments();
  const fences = documents.flatMap(({ text }) =>
    ['json', 'jsonc'].flatMap((language) => fencesOf(text, language)),
  );
  return [...texts, ...fences];
}

function quotedIn(text: string): readonly string[] {
  const found: string[] = [];
  const source = ts.createSourceFile('x.ts', text, ts.ScriptTarget.ES2023);
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && node.text.includes('"mcp')) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** What JSON Schema cannot say, by what the parser says of it. */
const beyondSchema: readonly (readonly [what: string, words: RegExp])[] = [
  ['a key given twice: both readers see one of them', /keep one of the two|join the two/u],
  ['a character that no text may hold', /holds a NUL or broken Unicode/u],
  ['a key that vanishes', /choose another name/u],
  ['a text that is an address but for its host or port', /"url" is not an address/u],
  ['a word that is known and not supported yet', /is not supported yet/u],
  [
    'a key at the top that was meant to be ours, or below one',
    /did you mean "mcpServers"|below "mcpServers"/u,
  ],
  [
    'an empty command, or one for a shell, in a text',
    /is empty or needs a shell|or its text needs a shell/u,
  ],
  [
    'log-in keys that do not fit together, or an address that is one but for its parts',
    /belongs to a (?:client|key)|"(?:none|private_key_jwt|client_secret_\w+)" (?:sends|needs)|different ports|a scope holds|must not (?:have|hold)|with a path/u,
  ],
  ['a reference that cannot be read, or to an input that is not there', /a reference |no input "/u],
];

const isBeyondSchema = (message: string): boolean =>
  beyondSchema.some(([, words]) => words.test(message));

const inputs = [{ id: 'token', type: 'promptString' }];

// "policy" has a test of its own.
const ownKeys = serverEntryKeys.filter((key) => key !== 'policy');

/** The schema does not look into words of other programs, of which there are too many meanings. */
function isForeign(entry: Readonly<Record<string, unknown>>): boolean {
  return (
    Object.keys(entry).some((key) => foreignEntryKeys.includes(key)) ||
    foreignTypes.includes(String(entry['type'])) ||
    Array.isArray(entry['tools'])
  );
}

/** Values that some key takes and others do not, and values that are nearly right. */
const values: readonly unknown[] = [
  ...[null, true, false, -1, 0, 0.5, 1, 250, 1_000, 1_001, 2_147_483_647, 2_147_483_648],
  ...[
    '',
    ' ',
    'x',
    ' x',
    'a b',
    './a b',
    './a b -c',
    './a b\n',
    '.',
    '..',
    '~',
    '~/x',
    '$X',
    '${X}',
    '${X}/y',
  ],
  ...[
    'stdio',
    'http',
    'streamable-http',
    'streamableHttp',
    'sse',
    'ws',
    'memory',
    'local',
    'remote',
    'grpc',
  ],
  ...['expand', 'literal', 'auto', 'legacy', 'modern', 'eager', 'lazy', 'exclusive', 'default'],
  ...['never', 'failure', 'always', 'x'.repeat(2_048), 'x'.repeat(2_049)],
  ...[
    'http://h',
    'HTTPS://h:1/x?y#z',
    ' http://h ',
    'http:h',
    'ws://h',
    'Wss://h/',
    'ftp://h',
    'file:///x',
  ],
  ...[
    'https://',
    'https://?x',
    'https://me:x@h/',
    'https://me@h',
    'https://@h/',
    'https://h/@x',
    'https://h?a@b',
  ],
  ...[
    'https://${X}/mcp',
    'https://${X:-a@b}/mcp',
    '${X}://h',
    'h/mcp',
    `https://h/${'x'.repeat(8_200)}`,
  ],
  ...[[], ['x'], ['x', ''], [1], ['-y', '${input:token}'], ['${input:other}']],
  ...[
    {},
    { A: '1' },
    { 'A=B': '1' },
    { '': '1' },
    { A: 1 },
    { A: null },
    { A: 'é' },
    { A: '日' },
    { A: 'x\ny' },
  ],
  ...[
    { 'X-Key': '${X}' },
    { 'x y': '1' },
    { Host: '1' },
    { 'mcp-session-id': '1' },
    { A: '!op read x' },
    { A: '!' },
  ],
  ...[
    { A: { command: ['op'] } },
    { A: { command: [] } },
    { A: { command: ['op'], x: 1 } },
    { A: { command: 'op' } },
  ],
  ...[
    { ca: 'ca.pem' },
    { ca: '' },
    { ca: '~/ca.pem' },
    { cert: '$HOME/x' },
    { cert: '${X}', key: 'k', passphrase: { command: ['op'] } },
    { key: 'k' },
    { passphrase: 'x' },
    { ca: 1 },
    { rejectUnauthorized: false },
  ],
  ...['socks5://h:1', 'host:3128', { command: ['op'] }, { command: [] }, '!op read x'],
  ...[
    { include: ['*'] },
    { exclude: 'x' },
    { includes: [] },
    { overrides: { q: { timeoutMs: 5 } } },
  ],
  ...[
    { overrides: { q: { timeoutMs: 0 } } },
    { overrides: { q: {} } },
    { overrides: { q: { x: 1 } } },
  ],
];

/** Whether the parser takes the key beside the least that makes an entry. */
function isRightAlone(key: string, value: unknown): boolean {
  const bases = [{ command: 'npx' }, { url: 'https://host/mcp' }, { url: 'wss://host/mcp' }, {}];
  return bases.some((base) => {
    const settings = { inputs, mcpServers: { db: { ...base, [key]: value } } };
    return refusedByParser(JSON.stringify(settings)) === undefined;
  });
}

const policyValues: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    -1,
    0,
    0.2,
    1,
    15,
    16,
    256,
    257,
    1_000,
    1_001,
    10_000,
    10_001,
    60_000,
    60_001,
  ],
  ...[
    2_147_483_647,
    2_147_483_648,
    Number.MAX_SAFE_INTEGER,
    '',
    'x',
    '{tool}',
    `{tool}${'x'.repeat(251)}`,
  ],
  ...[
    'none',
    'full',
    'any',
    'stop',
    'untilDemanded',
    'immediate',
    'SIGTERM',
    'off',
    'ping',
    'disk',
    'group',
  ],
  ...[
    [],
    [0],
    [1, 2],
    [-1],
    ['{tool}'],
    ['x'],
    ['crashed'],
    ['project', 'user'],
    Array.from({ length: 101 }, () => 1),
  ],
  ...[
    {},
    { limit: 1, windowMs: 1, action: 'fail' },
    { limit: 0, windowMs: 1, action: 'fail' },
    { limit: 1 },
  ],
  ...[
    { retryFromMs: 1, toMs: 1 },
    { retryFromMs: 1, toMs: 1, floorMs: 0 },
    { retryFromMs: 1 },
    { sustainedMs: 1 },
  ],
  ...[
    { initialMs: 1, factor: 2, maxMs: 1 },
    { initialMs: 1, factor: 0, maxMs: 1 },
    { sustainedMs: 0 },
  ],
  ...[
    { initialMs: 1, factor: 2, maxMs: 1, addedJitter: 0.5 },
    { initialMs: 1, factor: 2, maxMs: 1, addedJitter: 2 },
  ],
  ...[[{ by: 'SIGTERM', waitMs: 0 }], [{ by: 'SIGFOO', waitMs: 0 }], [{ by: 'SIGTERM' }]],
  ...[
    [{ kind: 'crashed' }],
    [{ status: 500, kind: 'crashed' }],
    [{ code: 'X' }],
    [{ message: ' ', kind: 'crashed' }],
  ],
  ...[
    [{ code: -32_001, kind: 'unknown' }],
    [{ status: 99, kind: 'unknown' }],
    [{ pattern: 'x', kind: 'unknown' }],
  ],
];

/** What the presets have in any field is right in some field. */
function presetValues(): readonly unknown[] {
  const all = Object.values(presets).flatMap((preset) =>
    Object.values(preset).flatMap((group) => Object.values<unknown>(group)),
  );
  return [...new Map(all.map((value) => [JSON.stringify(value), value])).values()];
}

describe('the editor schema', () => {
  it('accepts every example that the parser accepts in tests, documents and examples', async () => {
    const texts = [...new Set(await corpus())];
    const accepted = texts.filter(
      (text) => ownSettings(text) !== undefined && refusedByParser(text) === undefined,
    );
    const wrong = accepted.flatMap((text) => {
      const errors = refusedBySchema(ownSettings(text));
      return errors.length === 0 ? [] : [{ text, errors }];
    });
    expect(wrong).toEqual([]);
    // Of a handful of texts that would say little.
    expect(accepted.length).toBeGreaterThan(40);
  });

  const mistakes = [
    ...badEntries.map(([what, fields]) => [what, textWith('bad', ...fields)] as const),
    ...[...badTexts, ...harmlessMistakes].map(([what, text]) => [what, text] as const),
  ].filter(([, text]) => 'root' in readTree(text));

  it.each(mistakes)('rejects what the parser rejects: %s', (_what, text) => {
    const message = refusedByParser(text) ?? '';
    const tree = readTree(text);
    const errors = 'root' in tree ? refusedBySchema(valueOf(tree.root)) : [];
    expect({ message, isRefused: errors.length > 0 || isBeyondSchema(message) }).toEqual({
      message: expect.stringMatching(/./u),
      isRefused: true,
    });
  });

  /** Compares the verdicts on one entry. */
  function disagreement(entry: Readonly<Record<string, unknown>>): string | undefined {
    const settings = { inputs, mcpServers: { db: entry } };
    const message = refusedByParser(JSON.stringify(settings));
    const errors = refusedBySchema(settings);
    if (message === undefined) return errors.length === 0 ? undefined : errors.join('; ');
    const isRefused = errors.length > 0 || isForeign(entry) || isBeyondSchema(message);
    return isRefused ? undefined : message;
  }

  it.each(ownKeys)('agrees with the parser on every value of "%s"', (key) => {
    const found = [{ command: 'npx' }, { url: 'https://host/mcp' }, {}].flatMap((base) =>
      values.flatMap((value) => {
        const entry = { ...base, [key]: value };
        const words = disagreement(entry);
        return words === undefined ? [] : [{ entry, words }];
      }),
    );
    expect(found).toEqual([]);
  });

  it("accepts every foreign key's value that the parser accepts", () => {
    const found = foreignEntryKeys.flatMap((key) =>
      values.flatMap((value) => disagreement({ command: 'npx', [key]: value }) ?? []),
    );
    expect(found).toEqual([]);
  });

  it("agrees with the parser on any combination of an entry's keys", () => {
    const entries = fc.record(
      Object.fromEntries(
        ownKeys.map((key) => [
          key,
          fc.constantFrom(...values.filter((value) => isRightAlone(key, value))),
        ]),
      ) as Record<string, fc.Arbitrary<unknown>>,
      { requiredKeys: [] },
    );
    const few = entries.chain((entry) =>
      fc
        .subarray(Object.keys(entry), { maxLength: 4 })
        .map((keys) => Object.fromEntries(keys.map((key) => [key, entry[key]]))),
    );
    fc.assert(
      fc.property(few, (entry) => {
        expect(disagreement(entry)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });

  it.each(['headers', 'oauth'])(
    'refuses an empty "%s" of a local server, as the parser does',
    (key) => {
      const found = [...foreignTypes, undefined].flatMap((type) => {
        const entry = { ...(type !== undefined && { type }), command: 'npx', [key]: {} };
        return refusedByParser(JSON.stringify({ mcpServers: { db: entry } })) === undefined
          ? [entry]
          : [];
      });
      expect(found).toEqual([]);
    },
  );

  it.each(['troupe', 'server'] as const)(
    'agrees with the parser on every policy value of a %s',
    (reach) => {
      const candidates = [...policyValues, ...presetValues()];
      const found = Object.entries(policySchemas).flatMap(([group, fields]) =>
        Object.keys(fields).flatMap((field) =>
          candidates.flatMap((value) => {
            const policy = { [group]: { [field]: value } };
            const isRefused = 'fault' in parsePolicyChoice(policy, reach);
            const errors = refusedBySchema(
              reach === 'troupe'
                ? { mcp: { policy } }
                : { mcpServers: { db: { command: 'npx', policy } } },
            );
            return errors.length > 0 === isRefused ? [] : [{ policy, errors }];
          }),
        ),
      );
      expect(found).toEqual([]);
    },
  );
});
