import { describe, expect, it } from 'vitest';
import type { ServerSpec, StdioSpec } from '../../../src/domain/server-spec.ts';
import { compareFacts, specFactsOf } from '../../../src/policies/approvals/spec-facts.ts';

const local: StdioSpec = {
  type: 'stdio',
  command: 'node',
  args: ['db.js', '--read-only'],
  env: { KEY: 'one' },
  cwd: '/project',
  era: 'auto',
};
const remote: ServerSpec = {
  type: 'http',
  url: 'https://example.test/mcp?api_key=hunter2&page=1',
  headers: { Authorization: 'Bearer hunter2' },
  era: 'auto',
};

describe('the facts about a server that the user saw', () => {
  it.each<[string, Partial<StdioSpec>, unknown]>([
    [
      'an argument',
      { args: ['db.js', '--write'] },
      [{ field: 'args[1]', before: '--read-only', now: '--write' }],
    ],
    ['one argument less', { args: ['db.js'] }, [{ field: 'args[1]', before: '--read-only' }]],
    [
      'one argument more',
      { args: ['db.js', '--read-only', 'x'] },
      [{ field: 'args[2]', now: 'x' }],
    ],
    [
      'the value of a variable',
      { env: { KEY: 'two' } },
      [{ field: 'env.KEY', before: '', now: '' }],
    ],
    ['the folder', { cwd: '/' }, [{ field: 'cwd', before: '/project', now: '/' }]],
    [
      'where its values come from, without what they may be',
      {
        values: {
          literal: true,
          envFile: { path: '/project/.env' },
          inputs: {
            scope: 'project',
            definitions: [{ id: 'a', type: 'promptString', password: true, default: 'hunter2' }],
          },
        },
      },
      [
        { field: 'values', now: 'literal' },
        { field: 'envFile', now: '/project/.env' },
        { field: 'inputs.a', now: '' },
      ],
    ],
    ['values that need nothing more', { values: {} }, []],
    ['nothing', {}, []],
  ])('reports %s', (_what, change, expected) => {
    const now = specFactsOf({ ...local, ...change });
    expect(compareFacts(specFactsOf(local), now)).toEqual(expected);
  });

  it('reports a different program behind the command', () => {
    const changes = compareFacts(
      specFactsOf(local, { executable: '/usr/bin/node' }),
      specFactsOf(local, { executable: '/tmp/node' }),
    );
    expect(changes).toEqual([{ field: 'executable', before: '/usr/bin/node', now: '/tmp/node' }]);
  });

  it('reports different names in the variables file', () => {
    const changes = compareFacts(
      specFactsOf(local, { envFileNames: ['A'] }),
      specFactsOf(local, { envFileNames: ['A', 'B'] }),
    );
    expect(changes).toEqual([{ field: 'envFileNames', before: 'A', now: 'A, B' }]);
  });

  it('contains no secret in any field', () => {
    const specs: ServerSpec[] = [
      remote,
      { ...local, args: ['--token', 'hunter2', '--password=hunter2'], env: { A: 'hunter2' } },
      { ...remote, type: 'ws', url: 'wss://me:hunter2@example.test/' },
    ];
    expect(JSON.stringify(specs.map((spec) => specFactsOf(spec)))).not.toContain('hunter2');
  });

  it('reports a changed secret without its value', () => {
    const other = { ...remote, url: remote.url.replace('hunter2', 'hunter3') };
    const shown = 'https://example.test/mcp?api_key=[redacted]&page=1';
    expect(compareFacts(specFactsOf(remote), specFactsOf(other))).toEqual([
      { field: 'url', before: shown, now: shown },
    ]);
  });

  it('identifies a server inside the host by its name', () => {
    const facts = specFactsOf({ type: 'memory', server: 'notes', era: 'auto' });
    expect(facts.map(({ field, shown }) => `${field} ${shown}`)).toEqual([
      'type memory',
      'server notes',
      'era auto',
    ]);
  });
});
