import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import {
  parseSettings,
  parseSettingsFile,
  SettingsMemory,
} from '../../src/settings/parse-settings.ts';

const fixture = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));

/** Numbers as JSON, YAML and TOML write them; TOML's integers have 64 bits. */
const number = fc.stringMatching(
  /^-?(?:0|[1-9]\d{0,17})(?:\.\d{1,20})?$|^-?[1-9]\.\d{1,20}[eE][+-]?\d{1,3}$/u,
);
const common = ['1915883588174806058', '1.10', '-0.0', '1e400', '12e3', '1E+05', 'true', 'false'];
const ofYaml = ['0123', '0x1F', '0o17', '+5', '.5', '5.', '.inf', '-.INF', '.nan', 'True', '1_000'];
const ofToml = ['0x1F', '0o17', '0b1', '+5', '1_000', 'inf', '-nan', '1979-05-27 07:32:00.123456Z'];

const languages = {
  'troupe.json': { more: ['1915883588174806058123'], write: asJson('{') },
  'gemini.json': { more: [], write: asJson('{ "timeout": 5000,') },
  'goose.yaml': {
    more: ofYaml,
    write: (lines: readonly string[]) =>
      `extensions:\n  db:\n    type: stdio\n    cmd: ${process.execPath}\n    args: ['${fixture}', ok]\n    envs:\n${lines.map((line) => `      ${line.replace('=', ': ')}\n`).join('')}`,
  },
  'codex.toml': {
    more: ofToml,
    write: (lines: readonly string[]) =>
      `[mcp_servers.db]\ncommand = '${process.execPath}'\nargs = ['${fixture}', 'ok']\n[mcp_servers.db.env]\n${lines.join('\n')}\n`,
  },
} as const;

function asJson(head: string) {
  return (lines: readonly string[]): string =>
    `{ "mcpServers": { "db": ${head} "command": "${process.execPath}", "args": ["${fixture}", "ok"], "env": {\n${lines.map((line) => `"${line.replace('=', '": ')}`).join(',\n')} } } } }`;
}

const origin = { file: '/home/me/troupe.json', scope: 'user', projectRoot: '/project' } as const;

async function specOf(text: string, file: string) {
  const { document, problems } = await parseSettingsFile(text, { ...origin, file });
  expect(problems).toEqual([]);
  const { spec, desired } = document?.servers[0] ?? {};
  expect(desired?.invalid).toBeUndefined();
  return { ...(spec as { readonly env?: object; readonly headers?: object }), ...desired };
}

describe('numbers in "env" and "headers"', () => {
  it.each(Object.entries(languages))(
    'reach a process byte for byte as they are written in %s',
    async (name, { more, write }) => {
      const texts = [...common, ...more, ...fc.sample(number, { numRuns: 200, seed: 29 })];
      const folder = mkdtempSync(path.join(tmpdir(), 'written-'));
      const file = path.join(folder, name);
      writeFileSync(file, write([...texts.map((text, index) => `V${index}=${text}`), 'Q="1.10"']));
      const troupe = createTroupe({ bare: true, seed: 1, sources: [file], stateDir: folder });
      onTestFinished(async () => {
        await troupe.stop();
        rmSync(folder, { recursive: true });
      });
      await troupe.waitFor('db', 'ready');
      const { result } = await troupe.callServerTool('db', 'env');
      const seen = JSON.parse(String(result.content[0]?.['text'])) as NodeJS.ProcessEnv;
      expect(texts.map((_, index) => seen[`V${index}`])).toEqual(texts);
      expect(seen['Q']).toBe('1.10');
    },
  );

  it.each([
    [
      'of ours',
      '/home/me/troupe.json',
      '{ "mcpServers": { "a": { "url": "https://h.example", "headers": { "X-A": 1.10, "X-B": 12e3 } } } }',
    ],
    [
      'of VS Code',
      '/p/.vscode/mcp.json',
      '{ "servers": { "a": { "type": "http", "url": "https://h.example", "headers": { "X-A": 1.10, "X-B": 12e3, } } } }',
    ],
    [
      'of opencode',
      '/p/opencode.json',
      '{ "mcp": { "a": { "type": "remote", "url": "https://h.example", "headers": { "X-A": 1.10, "X-B": 12e3 } } } }',
    ],
    [
      'of docker-agent',
      '/p/agent.yaml',
      'agents:\n  root:\n    toolsets:\n      - type: mcp\n        remote: { url: https://h.example, headers: { X-A: 1.10, X-B: 12e3 } }\n',
    ],
    [
      'of Codex',
      '/p/config.toml',
      '[mcp_servers.a]\nurl = "https://h.example"\nhttp_headers = { X-A = 1.10, X-B = 12e3 } # 1.1\n',
    ],
  ])('are sent as they are written in a file %s', async (_what, file, text) => {
    expect((await specOf(text, file)).headers).toEqual({ 'X-A': '1.10', 'X-B': '12e3' });
  });

  it('may be names, too', async () => {
    const text =
      'extensions:\n  1.10:\n    type: stdio\n    cmd: node\n    envs: { 0123: a, true: b }\n';
    const { name, env } = await specOf(text, '/home/me/goose.yaml');
    expect({ name, env }).toEqual({ name: '1.10', env: { '0123': 'a', true: 'b' } });
  });

  it.each([
    [
      'JSON',
      '/home/me/troupe.json',
      '{ "mcpServers": { "a": { "command": "x", "env": { "V": 1.10 } } } }',
    ],
    [
      'YAML',
      '/home/me/goose.yaml',
      'extensions:\n  a:\n    type: stdio\n    cmd: x\n    envs:\n      V: 1.10\n',
    ],
    ['TOML', '/home/me/config.toml', '[mcp_servers.a]\ncommand = "x"\nenv = { V = 1.10 }\n'],
  ])('count as another value when only their text changes in %s', async (_what, file, text) => {
    const upkeep = { memory: new SettingsMemory(), pause: async (): Promise<void> => undefined };
    const generation = async (with_: string) => {
      const parsed = await parseSettingsFile(
        text.replace('1.10', with_),
        { ...origin, file },
        upkeep,
      );
      return parsed.document?.servers[0]?.desired.generation;
    };
    const before = await generation('1.10');
    expect(before).toBeDefined();
    expect(await generation('1.1')).not.toBe(before);
    expect(await generation('"1.10"')).toBe(before);
  });

  it('are refused in an object of the host, which has no source text', () => {
    const settings = { mcpServers: { a: { command: 'x', env: { V: 1.1 } } } };
    const { document } = parseSettings(JSON.stringify(settings), { ...origin, scope: 'api' });
    expect(document?.servers[0]?.desired.invalid?.message).toContain('text in quotes');
  });
});
