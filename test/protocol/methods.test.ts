import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { specTypeSchemas } from '@modelcontextprotocol/client';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

import { claimedVersionOf, routingHeaders } from '../../src/protocol/headers.ts';
import { metaKeys } from '../../src/protocol/meta.ts';
import { existsIn, methodNamed, methods } from '../../src/protocol/methods.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names: ReadonlySet<string> = new Set(Object.values(methods).map(({ name }) => name));
/** Where the two names that are plain words mean something else: a key of the table, a phase, a kind of health check. */
const otherMeaning: ReadonlySet<string> = new Set([
  'actors/session/probe.ts ping',
  'src/protocol/mcp-client.ts ping',
  'actors/session/opening-steps.ts initialize',
  'src/policies/failures/failure-table.ts initialize',
  'machines/session/session-setup.ts ping',
  'src/domain/policy.ts ping',
  'src/settings/policy-schema.ts ping',
]);

describe('the table of methods', () => {
  it('is the only place that spells their names', () => {
    const files = ['src', 'actors', 'machines', 'visualizations'].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .map((file) => path.posix.join(folder, file))
        .filter((file) => /\.tsx?$/u.test(file) && file !== 'src/protocol/methods.ts'),
    );
    const found = files.flatMap((file) => spelledIn(file).map((name) => `${file} ${name}`));
    expect(new Set(found)).toEqual(otherMeaning);
  });

  it('has each method of the specification but those of tasks', () => {
    const specified = Object.values(specTypeSchemas).flatMap((schema) => methodOf(schema));
    expect(specified.length).toBeGreaterThan(25);
    const missing = specified.filter((name) => !names.has(name));
    expect(missing.filter((name) => !/^(?:notifications\/)?tasks\//u.test(name))).toEqual([]);
    expect([...names].filter((name) => !specified.includes(name))).toEqual([]);
    expect(names.size).toBe(Object.keys(methods).length);
  });

  it('is found by name, and knows the eras of a method', () => {
    expect(methodNamed('tools/call')).toBe(methods.callTool);
    expect(methodNamed('tools/unknown')).toBeUndefined();
    expect(existsIn(methods.subscribe, 'modern')).toBe(false);
    expect(existsIn(methods.listTools, 'modern')).toBe(true);
  });
});

describe('the routing headers of a modern request', () => {
  const modern = { [metaKeys.protocolVersion]: '2026-07-28' };

  it.each([
    ['tools/call', { name: 'grüße' }, { 'mcp-name': '=?base64?Z3LDvMOfZQ==?=' }],
    ['resources/read', { uri: 'a:b' }, { 'mcp-name': 'a:b' }],
    ['tools/list', { name: 'no target' }, {}],
    ['x/unknown', { name: 'no target' }, {}],
  ])('name the target of %s', (method, params, expected) => {
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, _meta: modern },
    } as const;
    expect(routingHeaders(message)).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...expected,
    });
  });

  it('are absent where no version is claimed', () => {
    const call = { jsonrpc: '2.0', method: 'ping' } as const;
    for (const message of [
      { jsonrpc: '2.0', id: 1, result: {} } as const,
      call,
      { ...call, id: 1 },
      { ...call, id: 1, params: { _meta: { [metaKeys.protocolVersion]: 7 } } } as const,
    ]) {
      expect(claimedVersionOf(message)).toBeUndefined();
      expect(routingHeaders(message)).toEqual({});
    }
  });
});

/** The names of methods among the string literals of a file. */
function spelledIn(file: string): readonly string[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  // Parsing is slow, and few files may have one.
  if (![...names].some((name) => text.includes(name))) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && names.has(node.text)) found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function methodOf(schema: unknown): readonly string[] {
  const { shape } = schema as {
    readonly shape?: { readonly method?: { readonly value?: string } };
  };
  const name = shape?.method?.value;
  return name === undefined ? [] : [name];
}
