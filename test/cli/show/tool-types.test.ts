import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { toolTypes } from '../../../src/cli/show/tool-types.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, statusOf, toolOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const tools = [
  {
    ...toolOf('db', 'query', {
      type: 'object',
      properties: {
        sql: { type: 'string', description: 'the query */ evil();\nmore' },
        limit: { type: ['integer', 'null'] },
        mode: { enum: ['a', 'b|c', 3, null, { x: 1 }] },
        'odd key': { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 1 }] } },
        tree: { $ref: '#/$defs/node' },
        both: { allOf: [{ properties: { a: {} } }, { properties: { b: { type: 'boolean' } } }] },
        map: { type: 'object', additionalProperties: { type: 'number' } },
        never: false,
        nested: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
      },
      required: ['sql'],
      $defs: {
        node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, value: {} } },
      },
    }),
    outputSchema: { type: 'object', properties: { rows: { type: 'integer' } }, required: ['rows'] },
  },
  toolOf('my-server', 'no.args', { type: 'object', properties: {}, additionalProperties: false }),
  toolOf('my-server', 'free', {}),
];

const use = `
import type { Troupe } from 'mcp-troupe';
import type { ToolArguments, TypedTroupe } from './tools.ts';
export async function run(troupe: Troupe): Promise<number | undefined> {
  const typed = troupe as TypedTroupe;
  await typed.callTool('NO_ARGS');
  await typed.callTool('NO_ARGS', {}, { timeoutMs: 5 });
  await typed.callServerTool('my-server', 'free', { anything: 1 });
  // @ts-expect-error the query is missing
  await typed.callTool('QUERY');
  // @ts-expect-error not a tool
  await typed.callTool('none');
  // @ts-expect-error not a string
  await typed.callServerTool('db', 'query', { sql: 1 });
  // @ts-expect-error mistyped
  await typed.callServerTool('db', 'query', { sql: 'x', limt: 1 });
  const args: ToolArguments['QUERY'] = {
    sql: 'x', limit: null, mode: 'b|c', 'odd key': ['a', 1], tree: { next: { value: 1 } },
    both: { a: 1, b: true }, map: { x: 1 }, nested: [[1]],
  };
  const { result, meta } = await typed.callServerTool('db', 'query', args);
  return result.structuredContent?.rows ?? meta.attempts;
}
`;

describe('troupe types', () => {
  it('writes declarations that a strict compiler checks calls with', () => {
    const folder = temporaryFolder();
    const [query = { name: '' }, none = { name: '' }] = tools;
    writeFileSync(path.join(folder, 'tools.ts'), toolTypes(tools));
    writeFileSync(
      path.join(folder, 'use.ts'),
      use.replaceAll('QUERY', query.name).replaceAll('NO_ARGS', none.name),
    );
    writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }');
    const root = path.resolve(import.meta.dirname, '../../..');
    mkdirSync(path.join(folder, 'node_modules'));
    symlinkSync(path.join(root, 'node_modules/@types'), path.join(folder, 'node_modules/@types'));
    writeFileSync(
      path.join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: path.join(root, 'tsconfig.json'),
        compilerOptions: {
          noEmit: true,
          skipLibCheck: true,
          types: ['node'],
          // The declarations of the library alone, without what carries them out.
          paths: { 'mcp-troupe': [path.join(root, 'src/runtime/troupe.ts')] },
        },
        include: [],
        files: ['use.ts'],
      }),
    );
    const tsc = path.join(root, 'node_modules/.bin/tsc');
    const { status, stdout, stderr } = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' });
    expect({ status, text: stdout + stderr }).toEqual({ status: 0, text: '' });
  });

  it('writes equal text for equal tools, in whatever order they are listed', () => {
    expect(toolTypes(tools.toReversed())).toBe(toolTypes(tools));
    expect(toolTypes(tools)).toContain('/** the query *\\/ evil(); */');
  });

  it('prints them, or writes --out', async () => {
    const { folder } = await upHere(
      createStandIn({ servers: [statusOf('db', { tools: 1 }), statusOf('down')], tools }),
    );
    const printed = await runCliHere(['types'], { folder });
    expect(printed).toMatchObject({ exitCode: 0, stdout: toolTypes(tools) });
    expect(printed.stderr).toContain('down is ready and lists no tools; it is left out');
    const written = await runCliHere(['types', '--out', 'tools.ts'], { folder });
    expect(written.stdout).toContain('wrote the types of 3 tools to');
    expect(readFileSync(path.join(folder, 'tools.ts'), 'utf8')).toBe(toolTypes(tools));
    expect((await runCliHere(['types', '--out', 'no/such'], { folder })).exitCode).toBe(2);
  });
});
