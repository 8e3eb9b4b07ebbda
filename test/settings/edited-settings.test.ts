import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryTexts, readTreeByEntry } from '../../src/settings/incremental-parse.ts';
import {
  type ParsedSettings,
  parseSettings,
  parseSettingsFile,
  SettingsMemory,
} from '../../src/settings/parse-settings.ts';
import { memberOf, membersOf, placedAt, type TreeNode } from '../../src/settings/settings-tree.ts';
import { ownText } from '../../src/settings/text-bounds.ts';

const pause = async (): Promise<void> => {};

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Everything observable, including what is reported about the folder. */
function plain({ document, problems }: ParsedSettings) {
  const servers = document?.servers.map(({ folder, ...server }) => ({
    ...server,
    folder: folder && [folder.path, folder.problemOf('missing'), folder.problemOf('notFolder')],
  }));
  return { problems, document: document && { ...document, servers } };
}

const entries = [
  '{}',
  '{ "command": "npx", "args": ["-y", "@my-org/db@1.2.3"], "env": { "A": "${A}" } }',
  '{\n  "command": "node", // a comment\n  "cwd": "sub",\n  "policy": { "startup": { "mode": "lazy" } }\n}',
  '{ "url": "https://example.com/mcp", "headers": { "X": "${input:id}" } }',
  '{ "url": "https://example.com/mcp",\n "headers": { "X": { "command": ["pass", "x"] } } }',
  '{ "command": "node", "comand": 1 }',
  '{ "command": "node", "tools": {\n "exclude": ["a"],\n "incluide": [] } }',
  '{ "command": "node", "httpUrl": "https://example.com" }',
  '{ "command": "$HOME/x", "timeout": 5, "env": { "A": "$B" } }',
  '{ "type": "stdio", "command": "\\u006eode", "command": "twice" }',
  '{ "command": "a]}[", "args": ["/* no comment */", "\\""] /* { */ }',
  '{ "command": ["node", "x"], "enabled": false }',
  '"text"',
  '[1, 2]',
  '12 ',
  'nul',
  '{ "command": "no end }',
];
const gaps = ['', ' ', '\n', '\n\n  ', ' // }{\n', ' /* "x": */ ', '\r\n', ' // a\rb\n', '\u00a0'];
const heads = [
  '"mcpServers": {',
  '"servers": {',
  '"mcp": { "policy": { "startup": { "gateMs": 5 } } }, "mcpServers": {',
  '"inputs": [{ "type": "promptString", "id": "id" }], "mcpServers": {',
  '"projects": { "/project": { "mcpServers": { "inner": { "command": "x" } } } }, "mcpServers": {',
  '"$version": 3, "mcpServers": {',
  '"mcpServer": {}, "mcpServers": {',
  '"mcpServers": {}, "mcpServers": {',
  '"context_servers": {',
  '"deep": [[[["x"]]]], "mcpServers": {',
];
const names = ['a', 'b', 'c d', 'é', 'mcp__x', '\\u0061', '__proto__'];
const tails = ['}', '},', '} x', ''];

interface Member {
  readonly name: string;
  readonly entry: string;
  /** Before and after the name, before and after the value. */
  readonly gaps: readonly string[];
}
const member = fc.record({
  name: fc.constantFrom(...names),
  entry: fc.constantFrom(...entries.slice(0, 12), ...entries.slice(0, 12), ...entries),
  gaps: fc.array(fc.constantFrom(...' \n \n \n '.split(''), ...gaps), {
    minLength: 4,
    maxLength: 4,
  }),
});
const text = fc
  .record({
    head: fc.constantFrom(heads[0] ?? '', heads[0] ?? '', ...heads),
    members: fc.array(member, { maxLength: 6 }),
    tail: fc.constantFrom('}', '}', '}', ...tails),
  })
  .map(({ head, members, tail }) => {
    const written = members.map(
      ({ name, entry, gaps: [first, second, third, last] }: Member) =>
        `${first}"${name}"${second}:${third}${entry}${last}`,
    );
    return `{${head}${written.join(',')}${tail}}`;
  });

const origins = [
  { file: '/home/me/troupe.json', scope: 'user' },
  { file: '/home/me/servers.json', scope: 'config' },
  { file: '/project/.mcp.json', scope: 'project' },
  { file: '/home/me/.cursor/mcp.json', scope: 'user' },
  { file: 'host settings', scope: 'api' },
] as const;

const toml = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('"node"', '1', '"x"\ncwd = "s"')))
  .map((all) =>
    all.map(([name, value]) => `\n[mcp_servers.${name}]\ncommand = ${value}\n`).join(''),
  );
const yaml = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('node', '[1]', 'x\n    cwd: s')))
  .map((all) =>
    ['mcpServers:', ...all.map(([name, value]) => `  ${name}:\n    command: ${value}`)].join('\n'),
  );

describe('settings that are edited again and again', () => {
  it.each(origins)('mean the same as in a first reading of $file', async ({ file, scope }) => {
    const origin = { file, scope, projectRoot: '/project' } as const;
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 2, maxLength: 6 }), async (edits) => {
        const memory = new SettingsMemory();
        for (const edit of edits) {
          const found = await parseSettingsFile(edit, origin, { memory, pause });
          expect(plain(found)).toEqual(plain(parseSettings(edit, origin)));
        }
      }),
      { numRuns: 100 },
    );
  });

  it.each(origins)('mean that too after edits inside entries of $file', async ({ file, scope }) => {
    const origin = { file, scope, projectRoot: '/project' } as const;
    const entry = fc.constantFrom(
      ...entries,
      '{ "url": "https://example.com/mcp" }',
      '{ "command": "node", "args": [] }, "f": {}',
      '{ "command": "node" } // "',
      '{ "command": "node" },',
      '{ "command": "node" }, "b": { "command": "node" }',
      '{ "command": "\u0000" }',
      '{ "command": "node", "timeoutMs": 0 }',
    );
    const edit = fc.tuple(fc.nat(4), fc.oneof({ arbitrary: entry, weight: 3 }, fc.constant('')));
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 8 }), async (edits) => {
        const memory = new SettingsMemory();
        const current = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, value: '{}' }));
        for (const [at, value] of [[0, '{}'] as const, ...edits]) {
          const edited = current[at];
          // Without a text, the entry gets another name, or its own back.
          if (edited !== undefined && value === '') edited.name = edited.name === 'x' ? 'c' : 'x';
          else if (edited !== undefined) edited.value = value;
          const written = current.map((one) => `  "${one.name}": ${one.value}`).join(',\n');
          const all = `{ "mcp": {},\n"mcpServers": {\n${written}\n} }`;
          const found = await parseSettingsFile(all, origin, { memory, pause });
          expect(plain(found)).toEqual(plain(parseSettings(all, origin)));
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['TOML', toml, '/home/me/.codex/config.toml'],
    ['YAML', yaml, '/home/me/agent.yaml'],
  ] as const)('mean the same as in a first reading of %s', async (_language, texts, file) => {
    const origin = { file, scope: 'user', projectRoot: '/project' } as const;
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 2, maxLength: 5 }), async (edits) => {
        const memory = new SettingsMemory();
        for (const edit of edits) {
          const found = await parseSettingsFile(edit, origin, { memory, pause });
          expect(plain(found)).toEqual(plain(await parseSettingsFile(edit, origin)));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('mean what the latest text says after one in another language', async () => {
    const origin = { file: '/home/me/agent.yaml', scope: 'user', projectRoot: '/project' } as const;
    const json = '{"mcpServers":{}}';
    const memory = new SettingsMemory();
    const found: ParsedSettings[] = [];
    for (const edit of [json, 'mcpServers: {}\nmcp:\n  excluded: [a]\n', json])
      found.push(await parseSettingsFile(edit, origin, { memory, pause }));
    expect(found.map(({ document }) => document?.mcp)).toEqual([{}, { excluded: ['a'] }, {}]);
  });

  it("keep their entries' texts in memory, but not the trees", async () => {
    const texts = new EntryTexts();
    const treesOf = (body: string): readonly WeakRef<TreeNode>[] => {
      const { value: root } = readTreeByEntry(body, ownText, texts).next();
      const servers = memberOf(root as TreeNode, 'mcpServers');
      return membersOf(servers?.node).map((entry) => {
        const { node } = placedAt(entry, ['mcpServers', entry.name]);
        return new WeakRef(node);
      });
    };
    const trees = treesOf('{"mcpServers":{"a":{"command":"x"},"b":{"command":"y"}}}');
    await new Promise(setImmediate);
    collectGarbage();
    expect(trees.map((tree) => tree.deref())).toEqual([undefined, undefined]);
    expect(texts.get('"a":{"command":"x"}')).toMatchObject({ name: 'a' });
  });
});
