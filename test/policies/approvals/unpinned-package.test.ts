import { describe, expect, it } from 'vitest';
import { unpinnedPackages } from '../../../src/policies/approvals/unpinned-package.ts';

const sha = 'a'.repeat(40);
const digest = `sha256:${'b'.repeat(64)}`;

const open: readonly (readonly [line: string, name: string])[] = [
  ['npx -y @my-org/db', '@my-org/db'],
  ['npx db@latest', 'db@latest'],
  ['npx db@^1.2.3', 'db@^1.2.3'],
  ['npx db@1', 'db@1'],
  ['npx -c run -y db', 'db'],
  ['npx --package=db -- db-server', 'db'],
  ['npx -p db db-server', 'db'],
  ['/usr/local/bin/npx db', 'db'],
  ['npx.cmd db', 'db'],
  ['cmd /c npx db', 'db'],
  ['npm exec db', 'db'],
  ['pnpm dlx db', 'db'],
  ['yarn dlx db', 'db'],
  ['bunx db', 'db'],
  ['npx github:me/db', 'github:me/db'],
  ['uvx db', 'db'],
  ['uvx db@latest', 'db@latest'],
  ['uvx --python 3.12 db', 'db'],
  ['uvx --from db>=1 serve', 'db>=1'],
  ['uvx --from git+https://example.test/db serve', 'git+https://example.test/db'],
  ['uv tool run db', 'db'],
  ['pipx run db', 'db'],
  ['docker run -i --rm mcp/db', 'mcp/db'],
  ['docker run -i -e KEY mcp/db:latest', 'mcp/db:latest'],
  ['docker run --name=db registry:5000/db serve', 'registry:5000/db'],
  ['podman run db', 'db'],
];
const fixed = [
  'npx -y @my-org/db@1.2.3',
  'npx db@v1.2.3-beta.1',
  'npx ./db',
  'npx file:db',
  'npx',
  'npx -p',
  'npx -c x',
  'cmd',
  'docker run --name=db mcp/db:1.2.3',
  `npx github:me/db#${sha}`,
  'uvx db==1.2.3',
  'uvx db@1.2.3',
  'uvx ./db',
  `uvx --from git+https://example.test/db@${sha} serve`,
  'docker run -i mcp/db:1.2.3',
  `docker run mcp/db@${digest}`,
  'docker ps',
  'node server.js',
  'npm start',
  '/',
];

const wordsOf = (line: string): [string, string[]] => {
  const [command = '', ...args] = line.split(' ');
  return [command, args];
};

describe('a command line', () => {
  it.each(open)('%s is reported as unpinned', (line, name) => {
    const [warning, ...more] = unpinnedPackages(...wordsOf(line));
    expect(warning).toContain(`"${name}" has no`);
    expect(more).toEqual([]);
  });

  it.each(fixed)('%s is accepted as pinned', (line) => {
    expect(unpinnedPackages(...wordsOf(line))).toEqual([]);
  });

  it('gets a warning for each unpinned package', () => {
    expect(
      unpinnedPackages('npx', ['-p', 'one', '--package', 'two@1.0.0', '-p=three', 'x']),
    ).toHaveLength(2);
  });
});
