/** Hosts and commands that share a troupe in the background, as real processes. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { controlSocketPath } from '../../../src/cli/control/socket-path.ts';
import { realOrPlanned } from '../../../src/cli/launch.ts';
import { initialize } from '../../fixtures/initialize.ts';
import type { Program } from '../../support/compiled-program.ts';
import { createPlace, type Place } from '../cli-process.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface SharedPlace extends Place {
  /** Starts a host's `troupe serve` over stdio. */
  host(options?: HostOptions): Promise<Host>;
  /** Runs a command that may use the troupe in the background, or start it. */
  command(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
  /** The troupes in the background. */
  backgrounds(): readonly number[];
}

export interface HostOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly words?: readonly string[];
}

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Host = Awaited<ReturnType<typeof hostOf>>;

/** A place whose troupes in the background are killed when the test ends. */
export function sharedPlace(program: Program): SharedPlace {
  const place = createPlace(program);
  place.writeProject({});
  mkdirSync(path.join(place.folder, 'state'));
  const backgrounds = (): readonly number[] => backgroundsOf(place);
  onTestFinished(() => {
    for (const pid of backgrounds()) process.kill(pid, 'SIGKILL');
  });
  const folders = ['--project', place.folder, '--state-dir', path.join(place.folder, 'state')];
  const start = (words: readonly string[], own: Readonly<Record<string, string>> = {}) => {
    const { MCP_TROUPE_NO_BACKGROUND: _alone, ...env } = process.env;
    const child = spawn(process.execPath, [...program.words, ...words, ...folders], {
      cwd: root,
      env: { ...env, ...own },
      stdio: 'pipe',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  return {
    ...place,
    backgrounds,
    host: ({ env, words = ['--config', place.settings] } = {}) =>
      hostOf(start(['serve', ...words], env)),
    async command(words, env) {
      const child = start(words, env);
      child.stdin.end();
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      const [exitCode] = (await once(child, 'close')) as [number | null];
      return { exitCode, stdout, stderr };
    },
  };
}

/** The path of the place's control socket. */
export function socketOf({ folder }: Place): string {
  return controlSocketPath({
    projectRoot: realOrPlanned(folder),
    stateFolder: realOrPlanned(path.join(folder, 'state')),
  });
}

function backgroundsOf({ folder }: Place): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/u.test(entry))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes('__background') && words.some((word) => word.includes(folder));
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function hostOf(child: ReturnType<typeof spawn> & { stdin: object; stdout: object }) {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('no pipes');
  const answers = new Map<unknown, (answer: Record<string, unknown>) => void>();
  let rest = '';
  let notes = '';
  stderr.setEncoding('utf8').on('data', (text: string) => (notes += text));
  stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line) as Record<string, unknown>;
      answers.get(message['id'])?.(message);
    }
  });
  const exited = once(child, 'exit');
  let id = 1;
  const send = (message: object): void => void stdin.write(`${JSON.stringify(message)}\n`);
  const answerTo = async (asked: number): Promise<Record<string, unknown>> => {
    const answered = new Promise<Record<string, unknown>>((resolve) => answers.set(asked, resolve));
    const ended = exited.then(() => Promise.reject(new Error(`the gateway ended: ${notes}`)));
    return Promise.race([answered, ended]);
  };
  const request = (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    id += 1;
    const answer = answerTo(id);
    send({ jsonrpc: '2.0', id, method, params });
    return answer;
  };
  const introduced = answerTo(1);
  send({ ...initialize(), id: 1 });
  await introduced;
  send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const end = async (): Promise<unknown> => {
    const [exitCode, signal] = (await exited) as [number | null, string | null];
    return exitCode ?? signal;
  };
  return {
    pid: child.pid,
    call: (tool: string, args: object = {}) =>
      request('tools/call', { name: `db__${tool}`, arguments: args }),
    list: () => request('tools/list'),
    /** What the gateway wrote to its host's log. */
    notes: () => notes,
    /** Closes stdin; resolves with the exit code. */
    leave(): Promise<unknown> {
      stdin.end();
      return end();
    },
    /** Sends a signal; resolves with the exit code. */
    stop(signal: NodeJS.Signals): Promise<unknown> {
      child.kill(signal);
      return end();
    },
  };
}
