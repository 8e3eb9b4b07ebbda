import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compiledCli } from '../cli/compiled-cli.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { root } from './documents.ts';
import { expectedOutput, type GuideStep, stepsOf } from './guide-story.ts';

const guide = readFileSync(path.join(root, 'docs/guide.md'), 'utf8');
// Some twenty processes, one after another, take a second each on a busy machine, and some
// servers wait on purpose. The limits only report a hang.
const limitMs = 150_000;
const stepLimitMs = 30_000;

const cli = compiledCli();

/** A folder in the state after the guide's installation. */
function installedFolder(): { readonly folder: string; readonly env: NodeJS.ProcessEnv } {
  const place = temporaryFolder();
  const folder = path.join(place, 'host');
  const modules = path.join(folder, 'node_modules');
  mkdirSync(path.join(modules, 'mcp-troupe'), { recursive: true });
  for (const name of ['.bin', '@modelcontextprotocol']) {
    symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name));
  }
  const write = (name: string, text: string): void =>
    writeFileSync(path.join(modules, 'mcp-troupe', name), text);
  const entry = (source: string): string =>
    `export * from ${JSON.stringify(path.join(root, 'src', source))};\n`;
  write(
    'package.json',
    '{ "type": "module", "exports": { ".": "./a.js", "./testing": "./b.js" } }',
  );
  write('a.js', entry('index.ts'));
  write('b.js', entry('testing/index.ts'));
  const bin = path.join(place, 'bin');
  mkdirSync(bin);
  // `npx troupe`, without asking npm.
  const words = [process.execPath, ...cli.words].map((word) => `'${word}'`).join(' ');
  writeFileSync(
    path.join(bin, 'npx'),
    `#!/bin/sh\n[ "$1" = troupe ] && shift && exec ${words} "$@"\n`,
  );
  chmodSync(path.join(bin, 'npx'), 0o755);
  return {
    folder,
    env: {
      ...process.env,
      NO_COLOR: '1',
      NODE_OPTIONS: '',
      MCP_TROUPE_HOME: path.join(place, 'state'),
      PATH: `${bin}${path.delimiter}${process.env['PATH']}`,
    },
  };
}

/** Runs the steps in one folder, as a reader with two terminals would. */
class Reader {
  readonly #place = installedFolder();
  readonly #pids = new Map<string, string>();
  #lastExit = 0;
  #up: ReturnType<typeof startUp> | undefined;
  /** Lines that `up` must log before the next step. */
  #first: readonly string[] = [];
  /** Where the unread part of `up`'s log begins. */
  #mark = 0;

  async take(step: GuideStep): Promise<void> {
    if (step.kind === 'wait') await this.#wait(step.logged);
    if (step.kind === 'stop') await this.#stop();
    if (step.kind === 'write') {
      this.#mark = this.#up?.log().length ?? 0;
      writeFileSync(path.join(this.#place.folder, step.file), step.text);
    }
    if (step.kind === 'run') await this.#run(step.command, step.printed);
  }

  async #wait(logged: readonly string[]): Promise<void> {
    if (this.#up === undefined) this.#first = logged;
    else await this.#up.logged(logged, this.#mark);
  }

  async #run(shown: string, printed: readonly string[]): Promise<void> {
    if (!shown.startsWith('npx troupe up')) return this.#compare(shown, shown, printed);
    this.#up = startUp(shown, this.#place);
    await this.#up.logged(this.#first, 0);
    // `status` prints the same table below its own first line.
    this.#compare(shown, 'npx troupe status', ['troupe running, …', ...printed]);
  }

  #compare(shown: string, command: string, printed: readonly string[]): void {
    if (!/^(?:npx troupe (?:status|tools|plan)|printf|echo)\b/.test(command)) {
      this.#mark = this.#up?.log().length ?? 0;
    }
    const { status, stdout } = spawnSync('sh', ['-c', this.#inShell(command)], {
      cwd: this.#place.folder,
      env: { ...this.#place.env, ...(command.startsWith('node ') && fromSources) },
      encoding: 'utf8',
      timeout: stepLimitMs,
    });
    this.#lastExit = status ?? -1;
    const folders = stdout.replaceAll(this.#place.folder, '/projects/host');
    const { pattern, pids } = expectedOutput(printed, this.#pids);
    expect(folders, shown).toMatch(pattern);
    const found = pattern.exec(folders)?.slice(1) ?? [];
    for (const [index, pid] of pids.entries()) this.#pids.set(pid, found[index] ?? '');
  }

  #inShell(command: string): string {
    const real = command.replaceAll(/\b\d{4,}\b/g, (number) => this.#pids.get(number) ?? number);
    return `exec 2>&1\n(exit ${this.#lastExit})\n${real}`;
  }

  async #stop(): Promise<void> {
    expect(await this.#up?.stop()).toBe(130);
    this.#up = undefined;
  }
}

// Here the package is the sources; users have it compiled.
const fromSources = { NODE_OPTIONS: `--import ${import.meta.resolve('tsx')}` };

/** `up` in its own terminal. */
function startUp(command: string, place: ReturnType<typeof installedFolder>) {
  const child = spawn('sh', ['-c', `exec ${command} 2>&1`], {
    cwd: place.folder,
    env: place.env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // A signal that `up` handles, so that no server outlives a failed test.
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
  });
  let log = '';
  let look = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    log += text;
    look();
  });
  return {
    log: () => log,
    logged: (wanted: readonly string[], from: number) =>
      new Promise<void>((resolve, reject) => {
        const missing = (): readonly string[] =>
          wanted.filter((words) => !log.slice(from).includes(`Z ${words}`));
        child.once('exit', () =>
          reject(new Error(`up ended without ${missing().join(', ')}:\n${log}`)),
        );
        look = () => {
          if (missing().length === 0) resolve();
        };
        look();
      }),
    async stop(): Promise<number | null> {
      child.kill('SIGINT');
      await once(child, 'exit');
      return child.exitCode;
    },
  };
}

describe('the guide', () => {
  it('installs the server versions that this repository tests', () => {
    const { devDependencies } = JSON.parse(
      readFileSync(path.join(root, 'package.json'), 'utf8'),
    ) as { readonly devDependencies: Readonly<Record<string, string>> };
    const installed = [...guide.matchAll(/^npm install (@\S+)@(\S+)$/gm)];
    expect(installed).toHaveLength(3);
    for (const [, name = '', version] of installed) expect(devDependencies[name]).toBe(version);
  });

  it("shows every command's real output, from an empty folder to the last program", {
    timeout: limitMs,
  }, async () => {
    const reader = new Reader();
    const steps = stepsOf(guide);
    for (const step of steps) await reader.take(step);
    expect(steps.filter(({ kind }) => kind === 'run').length).toBeGreaterThan(20);
  });
});
