/**
 * Processes on Windows, which knows neither process groups nor signals.
 *
 * It starts programs only; what npm installs are scripts for `cmd.exe`, which reads
 * its words anew. `cross-spawn` finds them and escapes what `cmd.exe` would take for its
 * own; what no escaping carries safely into a script is refused. A process is ended with its
 * descendants by `taskkill`, which finds them only while the process itself runs.
 */

import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';

import type { ProcessSystem, StdioLaunch } from './system.ts';

// A healthy machine needs a fraction of a second; who waits for it holds up the next step.
const taskkillMs = 3_000;

export interface WindowsPorts {
  /** The folder of Windows. Programs of the system are started from nowhere else. */
  readonly root: string;
  /** Resolves when the program has ended, however it ended. */
  readonly run: (file: string, args: readonly string[]) => Promise<void>;
  readonly runNow: (file: string, args: readonly string[]) => void;
}

const realPorts: WindowsPorts = {
  root: process.env['SystemRoot'] ?? 'C:\\Windows',
  run: (file, args) =>
    new Promise((resolve) => {
      execFile(file, args, { timeout: taskkillMs, windowsHide: true }, () => resolve());
    }),
  runNow: (file, args) => {
    spawnSync(file, args, { timeout: taskkillMs, windowsHide: true, stdio: 'ignore' });
  },
};

export function createWindowsSystem({ root, run, runNow } = realPorts): ProcessSystem {
  const system32 = (name: string): string => path.win32.join(root, 'System32', name);
  return {
    async startOf(launch) {
      const { command, args, options, file } = await parse(launch);
      if (file === undefined)
        throw Object.assign(new Error(`spawn ${launch.command} ENOENT`), { code: 'ENOENT' });
      const isScript = options.windowsVerbatimArguments === true;
      if (isScript) assertPassable(file, launch.args);
      return {
        command: isScript ? system32('cmd.exe') : command,
        args,
        // Its own console would be shown, and the system would let it outlive us.
        detached: false,
        windowsVerbatimArguments: isScript,
      };
    },

    async signal({ leader, hasExited }, name, scope) {
      // Its number may be another's.
      if (hasExited()) return;
      await run(
        system32('taskkill.exe'),
        killWords([leader], scope !== 'child', name === 'SIGKILL'),
      );
    },

    // Whoever outlives the process that started it cannot be found any more.
    isEmpty: async ({ hasExited }) => hasExited(),

    killAll(leaders) {
      if (leaders.size > 0) runNow(system32('taskkill.exe'), killWords([...leaders], true, true));
    },
  };
}

async function parse({ command, args, env, cwd }: StdioLaunch) {
  const { default: crossSpawn } = await import('cross-spawn');
  return crossSpawn._parse(command, args, { env, cwd });
}

/** Without `/F` a process is asked to close, which programs without a window do not hear. */
function killWords(pids: readonly number[], isTree: boolean, isForced: boolean): readonly string[] {
  const targets = pids.flatMap((pid) => ['/PID', String(pid)]);
  return [...targets, ...(isTree ? ['/T'] : []), ...(isForced ? ['/F'] : [])];
}

// Arguments for the scripts that npm makes for a project are escaped once more, for the second reading.
const escapedTwice = /node_modules[\\/]\.bin[\\/][^\\/]+\.cmd$/iu;

/**
 * A script hands on what it got, and `cmd.exe` reads it a second time: a quotation mark in an
 * argument ends the quotation there, so that what follows could be a command. A line break ends
 * the first reading, and `%` names a variable within quotation marks, too.
 */
function assertPassable(file: string, args: readonly string[]): void {
  const isUnsafe = (arg: string): boolean =>
    /[\r\n%]/u.test(arg) ||
    (!escapedTwice.test(file) && arg.includes('"') && /[&|<>^()]/u.test(arg));
  if (!args.some(isUnsafe)) return;
  throw Object.assign(new Error('an argument cannot be passed to a script of cmd.exe'), {
    code: 'UNSAFE_ARGUMENT',
  });
}
