/**
 * Processes on Windows, which has neither process groups nor signals.
 *
 * Windows starts only programs, but npm installs scripts for `cmd.exe`, which parses their
 * arguments again. `cross-spawn` finds them and escapes what `cmd.exe` would interpret; arguments
 * that cannot be escaped safely are refused. A process is ended with its descendants by `taskkill`,
 * which finds them only while the process itself is running.
 */

import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';

import type { ProcessSystem, StdioLaunch } from './system.ts';

// A healthy machine needs a fraction of a second, and the next step waits for this one.
const taskkillMs = 3_000;

const realPorts = {
  /** The Windows folder. System programs are started only from there. */
  root: process.env['SystemRoot'] ?? 'C:\\Windows',
  /** Resolves once the program has ended, whatever its exit code. */
  run: (file: string, args: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      execFile(file, args, { timeout: taskkillMs, windowsHide: true }, () => resolve());
    }),
  runNow: (file: string, args: readonly string[]): void => {
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
        // A detached process would show its own console and outlive us.
        detached: false,
        windowsVerbatimArguments: isScript,
      };
    },

    async signal({ leader, hasExited }, name, scope) {
      // The process id may belong to another process by now.
      if (hasExited()) return;
      await run(
        system32('taskkill.exe'),
        killWords([leader], scope !== 'child', name === 'SIGKILL'),
      );
    },

    // Orphaned processes cannot be found.
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

/** Without `/F`, a process is asked to close, which has no effect on programs without a window. */
function killWords(pids: readonly number[], isTree: boolean, isForced: boolean): readonly string[] {
  const targets = pids.flatMap((pid) => ['/PID', String(pid)]);
  return [...targets, ...(isTree ? ['/T'] : []), ...(isForced ? ['/F'] : [])];
}

// Arguments for the scripts that npm installs in a project are escaped twice, once for each parse.
const escapedTwice = /node_modules[\\/]\.bin[\\/][^\\/]+\.cmd$/iu;

/**
 * Throws if a script would not get an argument unchanged. A script passes its arguments on, and
 * `cmd.exe` parses them again: a quotation mark in an argument ends the quotation, so whatever
 * follows could be a command. A line break ends the first parse, and `%` names a variable even
 * within quotation marks.
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
