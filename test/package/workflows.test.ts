/** The workflows of GitHub Actions, which run nowhere but there: what they name has to exist. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Job {
  readonly uses?: string;
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> };
  readonly steps?: readonly { readonly run?: string }[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(root + path, 'utf8');
const workflowOf = (name: string): Workflow => parse(read(`.github/workflows/${name}`)) as Workflow;
const { scripts, publishConfig } = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly publishConfig: unknown;
};

describe.each(readdirSync(`${root}.github/workflows`))('the workflow %s', (name) => {
  const { permissions, jobs } = workflowOf(name);

  it('may only read, and runs only scripts that exist', () => {
    expect(permissions).toEqual({ contents: 'read' });
    const lines = Object.values(jobs).flatMap(({ steps = [] }) => steps.map(({ run = '' }) => run));
    const named = lines.flatMap((line) => [...line.matchAll(/npm (?:run )?([\w:]+)/gu)]);
    const own = new Set(['ci', 'pkg', 'publish']);
    const unknown = named.filter(([, script = '']) => !own.has(script) && !(script in scripts));
    expect(unknown).toEqual([]);
  });
});

describe('the workflows', () => {
  it('test on Linux, macOS and Windows with Node 20, 22 and 24', () => {
    expect(workflowOf('test.yml').jobs['test']?.strategy?.matrix).toEqual({
      os: ['ubuntu-latest', 'macos-latest', 'windows-latest'],
      node: [20, 22, 24],
    });
  });

  it('publish a tag with provenance, and only after the tests', () => {
    const { on, jobs } = workflowOf('publish.yml');
    expect(on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
    expect(jobs['test']?.uses).toBe('./.github/workflows/test.yml');
    expect(jobs['publish']?.needs).toBe('test');
    expect(jobs['publish']?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(publishConfig).toEqual({ access: 'public', provenance: true });
  });
});
