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
    ['node /usr/lib/node_modules/npm/bin/npx-cli.js -y good', '.npmrc', 'node_modules/.bin/'],
    ['C:\\node.exe --no-warnings C:\\npm\\npm-cli.js exec good', '.npmrc'],
    ['node --import good/register server.js', 'node_modules/good', 'node_modules/good.js'],
    ['node --import=@my/good server.js', 'node_modules/@my/good/package.json'],
    ['node -r #good server.js', 'package.json'],
    ['node --run good', 'package.json', 'node_modules/.bin/'],
    ['node --disable-warning ExperimentalWarning -r good /server.js', 'node_modules/good'],
    ['node --unhandled-rejections strict --import good /server.js', 'node_modules/good'],
    ['node --env-file=.env /server.js', '.env'],
    ['node --env-file-if-exists sub/.env /server.js', 'sub/.env'],
    ['node --eval=require("good")', 'node_modules', 'node_modules/good'],
    ['nodejs -r good /server.js', 'node_modules/good'],
    ['pyw -m good', 'good.py'],
    ['docker --tlscacert ca.pem compose up', 'compose.yaml'],
    ['tsx /server.ts', 'tsconfig.json'],
    ['ts-node -r good /server.ts', 'node_modules/good'],
    ['poetry run good', 'pyproject.toml', '.venv/bin/good'],
    ['pipenv run python -m good', 'Pipfile', 'good.py'],
    ['pdm run good', '.pdm-python'],
    ['hatch run good', 'hatch.toml'],
    ['pixi run good', 'pixi.toml'],
    ['dotnet tool run good', '.config/dotnet-tools.json'],
    ['jbang good@example', 'jbang-catalog.json'],
    ['volta run npx good', 'package.json', '.npmrc'],
    ['fnm exec npx good', '.nvmrc', '.npmrc'],
    ['dotenv npx good', '.env', '.npmrc'],
    ['mise exec good', 'mise.toml'],
    ['cargo run', 'rust-toolchain.toml'],
    ['bunx good', '.env.test', 'jsconfig.json'],
    ['pnpm dlx good', 'package.yaml'],
    ['docker --context far compose up', 'compose.yaml'],
    ['uvx mcp-proxy@1 --port 1 npx good', 'uv.toml', '.npmrc'],
    ['npx x -- uvx good', '.npmrc', 'uv.toml'],
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
    'op run npx good',
    'strace -f npx good',
    'wsl npx good',
    'systemd-run --user npx good',
    'tini -s -- npx good',
    'dumb-init npx good',
    'runuser -u me npx good',
    'xargs npx good',
    'firejail npx good',
    'nvm exec 20 npx good',
    'sh -c node /npm/bin/npx-cli.js good',
  ])('is found in %s', (line) => {
    expect(all(line)).toContain('.npmrc');
  });

  it.each([
    "require('fs')",
    'import { a } from "fs"\nimport * as b from "node:path"; import("fs/promises"); import "node:os"',
    'const { a } = require("node:fs"); a(file, "utf8"); require ( "util" ).inspect()',
  ])('does not decide what Node loads of its own: %s', (text) => {
    expect(folderReadsOf('node', ['-e', text])).toBeUndefined();
  });

  it.each([
    'require(name)',
    'require("fs"\n+"-x")',
    'require("fs" || name)',
    'import(`fs`)',
    '/* import */ const r = require, f = "fs"; r("good")',
    'require("\\u0067ood")',
    'require("module").createRequire("/x/")("good")',
    'import("node:module").then((m) => m.createRequire("/x/")("good"))',
    'process.getBuiltinModule("module").createRequire("/x/")("good")',
    'const m = "#a"; require(m)',
    'require("good", 1)',
    'require("child_process").fork("good")',
    'require.resolve("fs")',
  ])('decides what Node may load: %s', (text) => {
    const upward = folderReadsOf('node', ['-e', text])?.upward;
    expect(upward).toContain('node_modules');
    if (/["#](?:good|#?a)"/u.test(text)) expect(upward).toContain('package.json');
  });

  it('is found in code and in options that Node gets as text', () => {
    const code = 'const a = require("good"); import(`@my/other`)';
    const expected = ['node_modules', 'node_modules/good', 'node_modules/@my/other/package.json'];
    const readBy = (text: string, word = '-e') => folderReadsOf('node', [word, text])?.upward ?? [];
    for (const word of ['-e', '-pe', '--print'])
      expect(readBy(code, word)).toEqual(expect.arrayContaining(expected));
    const options = (text: string) =>
      folderReadsOf('/bin/server', ['x'], { NODE_OPTIONS: text })?.upward ?? [];
    for (const text of ['-r good', '--no-warnings --require "good"', '"--import=good"'])
      expect(options(text)).toContain('node_modules/good');
    expect(options('--max-old-space-size=100')).toEqual([]);
  });

  it('is not found in a sentence', () => {
    for (const text of ['Make sure that it is short.', 'Go to the shop.'])
      expect(folderReadsOf('my-server', ['--prompt', text])).toBeUndefined();
  });

  it('is found in the text for a shell', () => {
    const found = folderReadsOf('bash', ['-lc', 'cd app&&X=1 "npx" good; (uvx other)']);
    expect(found?.upward).toEqual(expect.arrayContaining(['.npmrc', 'uv.toml']));
    expect(found?.folders).toEqual(['app']);
  });

  it('is found in a command line that is one word', () => {
    const bridge = (...args: string[]) => folderReadsOf('npx', ['-y', 'bridge', ...args])?.upward;
    expect(bridge('--stdio', 'uvx good')).toContain('uv.toml');
    expect(bridge('--stdio=uvx good')).toContain('uv.toml');
    expect(bridge('--about', 'see uvx good')).not.toContain('uv.toml');
    expect(folderReadsOf('docker', ['run', 'x', 'uvx good'])).toBeUndefined();
  });

  it.each([
    'node server.js',
    'node server.js --import good',
    'node --import /abs.js --import file:///x.js -r ./x.js --import data:x -r node:fs server.js',
    'node --import',
    'node make.js',
    'node -e 1',
    'docker run --rm compose',
    'dotnet',
    'dotnet server.dll',
    'op read x',
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
    expect(reads('pnpm -C../other dlx good')?.folders).toEqual(['../other']);
    expect(reads('env UV_PROJECT=/other uv run good')?.folders).toEqual(['/other']);
    const env = { A: '/a', UV_PROJECT: '/b', npm_config_prefix: '/c' };
    expect(folderReadsOf('uv', ['run', 'x'], env)?.folders).toEqual(['/b', '/c']);
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
    'py -V:PythonCore/3.12-32 -m good.sub',
    'python3.13t -m good.sub',
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
