/** The thirty servers of a soak: stdio and HTTP, every fifth of them faulty. */

import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { startHttpHost } from '../../test/lab/http-host.ts';

export type Settings = Readonly<Record<string, unknown>>;

export interface Member {
  readonly name: string;
  /** Tools that calls ask for. */
  readonly tools: readonly string[];
  readonly isFaulty: boolean;
  /** The entry in the settings; another edition is another generation. */
  readonly entry: (edition: number) => Settings;
  /** Another server under the same name, which costs next to nothing to start. */
  readonly standIn: (edition: number) => Settings;
}

export interface Cast {
  readonly members: readonly Member[];
  /** In the environment of every local server and of whatever it starts. */
  readonly mark: string;
  end(): Promise<void>;
}

const localCount = 14;
const remoteCount = 10;

const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const hostile = fileOf('test/faults/servers/hostile-stdio.mjs');

type Part = Pick<Member, 'name' | 'entry'>;

function local(name: string, mark: string, words: readonly string[]): Part {
  return {
    name,
    // Servers ignore the last two words; the fingerprint does not.
    entry: (edition) => ({
      command: process.execPath,
      args: [...words, '--edition', String(edition)],
      env: { SOAK: mark },
    }),
  };
}

function remote(name: string, address: string): Part {
  return { name, entry: (edition) => ({ type: 'http', url: `${address}?edition=${edition}` }) };
}

const numbered = (count: number, prefix: string): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Starts the processes that serve HTTP, and describes all thirty. */
export async function startCast(): Promise<Cast> {
  const echoes = await startHttpHost(fileOf('test/bench/servers/http-echo.mjs'));
  const resets = await startHttpHost(fileOf('test/faults/servers/hostile-http.mjs'), [
    '0',
    'reset-call',
  ]);
  const hosts = [echoes, resets];
  const mark = randomUUID();
  const healthy = { tools: ['echo'], isFaulty: false };
  const faulty = { tools: ['echo'], isFaulty: true };
  const parts: readonly Omit<Member, 'standIn'>[] = [
    ...numbered(localCount, 'local').map((name) => ({
      ...local(name, mark, [fileOf('test/bench/servers/stdio-echo.mjs')]),
      ...healthy,
    })),
    ...numbered(remoteCount, 'remote').map((name) => ({
      ...remote(name, `${echoes.origin}/${name}`),
      ...healthy,
    })),
    { ...local('crashes', mark, [hostile, 'crash-after', '--n', '20']), ...faulty },
    // A call of `slow` is never answered there, and one of `echo` ends the process.
    {
      ...local('hangs', mark, [hostile, 'crash-on-call']),
      ...faulty,
      tools: ['slow', 'slow', 'echo'],
    },
    { ...local('floods', mark, [hostile, 'list-changed-storm', '--n', '1000']), ...faulty },
    { ...local('flaps', mark, [hostile, 'exit-1']), ...faulty },
    { ...local('silent', mark, [hostile, 'hang-init']), ...faulty },
    { ...remote('resets', `${resets.origin}/mcp`), ...faulty },
  ];
  return {
    members: parts.map((part) => ({
      ...part,
      standIn: remote(part.name, `${echoes.origin}/stand-in/${part.name}`).entry,
    })),
    mark,
    end: async () => {
      await Promise.all(hosts.map((host) => host.stop()));
    },
  };
}
