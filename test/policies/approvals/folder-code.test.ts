import { describe, expect, it } from 'vitest';
import { decidingPart, folderReadsOf } from '../../../src/policies/approvals/folder-code.ts';

const reads = (line: string) => {
  const [command = '', ...args] = line.split(' ');
  return folderReadsOf(command, args);
};
const all = (line: string): readonly string[] => {
  const found = reads(line);
  return [...(found?.upward ?? []), ...(found?.here ?? [])];
};

describe('a package runner', () => {
  it.each([
    ['npx -y good@1.0.0', '.npmrc', 'node_modules/good/package.json'],
    ['npx --package=@my/good@1.0.0 good', 'node_modules/@my/good/package.json'],
    ['C:\\nodejs\\NPX.CMD -y good', 'node_modules/.bin/'],
    ['npm exec good', 'package.json'],
    ['npm run good', 'package.json'],
    ['pnpx good', '.pnpmfile.cjs'],
    ['pnpm dlx good', 'pnpm-workspace.yaml'],
    ['yarn dlx good', '.yarnrc.yml'],
    ['yarnpkg dlx good', '.yarn/releases/'],
    ['bunx good', 'bunfig.toml'],
    ['bun server.ts', '.env'],
    ['deno run -A jsr:@good/server', 'deno.json'],
    ['uvx good', 'uv.toml'],
    ['uvx --from good python -m good', 'good.py'],
    ['uv tool run good', 'pyproject.toml'],
    ['uv --directory /server run good', '.venv/bin/good'],
    ['uv run -m good', 'good/__main__.py'],
    ['uv run python -m good', 'good.py'],
    ['pipx run good==1.0.0', 'good'],
    ['dnx Good.Server', 'NuGet.Config'],
    ['docker compose run --rm good', 'compose.yaml'],
    ['docker-compose run good', 'docker-compose.override.yml'],
    ['bundle exec good', 'Gemfile'],
    ['cargo run', '.cargo/config.toml'],
    ['go run example.test/good@v1.0.0', 'go.work'],
    ['make -s good', 'Makefile'],
    ['just good', 'justfile'],
    ['Rscript -e good::server()', '.Rprofile'],
    ['npx good', '.tool-versions'],
  ])('%s reads %s', (line, ...files) => {
    expect(all(line)).toEqual(expect.arrayContaining(files));
  });

  it.each([
    'cmd /c npx -y good',
    'env A=1 npx good',
    'nice -n 5 npx good',
    'sh -c exec npx good',
    'mise x -- npx good',
    'doppler run -- npx good',
  ])('is found in %s', (line) => {
    expect(all(line)).toContain('.npmrc');
  });

  it('is found in the text for a shell', () => {
    const found = folderReadsOf('bash', ['-lc', 'cd app&&X=1 "npx" good; (uvx other)']);
    expect(found?.upward).toEqual(expect.arrayContaining(['.npmrc', 'uv.toml']));
    expect(found?.folders).toEqual(['app']);
  });

  it.each([
    'node server.js',
    'docker run -i image npx good',
    'kubectl exec pod -- npx good',
    'uv pip list',
    'pipx list',
    'tool -- other',
    '',
  ])('is not found in %j', (line) => {
    expect(reads(line)).toBeUndefined();
  });

  it('may start in the folders that switches name', () => {
    expect(folderReadsOf('uv', ['--directory', '/a b', 'run', 'x'])?.folders).toContain('/a b');
    expect(reads('npx --prefix=/other good')?.folders).toEqual(['/other']);
    expect(reads('npx good --cwd')?.folders).toEqual([]);
  });

  it('is found in a bounded number of words', () => {
    const words = Array.from({ length: 100_000 }, () => 'uv run');
    expect(folderReadsOf('sh', words)).toBeDefined();
  });
});

describe('Python', () => {
  it.each([
    'python -m good.sub',
    'python3 -um good.sub',
    'python3.11 -mgood.sub',
    'pypy3 -W ignore -X dev -m good.sub',
    'py -3 -Wignore -m good.sub',
    'python --check-hash-based-pycs never -m good.sub',
  ])('looks for modules in its folder: %s', (line) => {
    expect(reads(line)).toMatchObject({
      hasModules: true,
      here: ['good/__init__.py', 'good/sub.py', 'good/sub/__init__.py', 'good/sub/__main__.py'],
    });
  });

  it.each(['python3 -c import\u00a0x', 'python3 -m ../x', 'python3 -m'])(
    'looks for others than the named one: %s',
    (line) => {
      expect(reads(line)).toMatchObject({ hasModules: true, here: [] });
    },
  );

  it.each(['python3 server.py -m x', 'python3 -I -m x', 'python3 -Pm x', 'python3', 'python3 -V'])(
    'looks for none: %s',
    (line) => {
      expect(reads(line)).toBeUndefined();
    },
  );
});

describe('a package.json', () => {
  const keysOf = (line: string): readonly string[] => reads(line)?.manifestKeys ?? [];
  const text = JSON.stringify({ name: 'x', scripts: { start: 'evil' }, dependencies: { y: '1' } });

  it('decides for npx only by what npx reads', () => {
    const keys = keysOf('npx good');
    expect(decidingPart(text, keys)).toBeUndefined();
    expect(decidingPart('{ "name": "x", "bin": "evil" }', keys)).toContain('evil');
  });

  it('decides by its scripts for a program that runs them', () => {
    expect(decidingPart(text, keysOf('npm start exec'))).toContain('evil');
    expect(decidingPart(text, keysOf('npm'))).toContain('evil');
    expect(decidingPart(text, keysOf('npm --silent exec x'))).toBeUndefined();
  });

  it('decides as a whole for Deno, and if it cannot be parsed', () => {
    expect(reads('deno run x')).not.toHaveProperty('manifestKeys');
    expect(reads('sh -c npx x; deno run y')).not.toHaveProperty('manifestKeys');
    expect(decidingPart('{', keysOf('npx good'))).toBe('{');
  });
});
