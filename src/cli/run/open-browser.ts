/**
 * Opens a file in the system's browser, without a shell, which would split the path into words. Never
 * pass an address with a secret: every user of the machine can read a program's arguments.
 */

import { spawn } from 'node:child_process';

type Opener = readonly [program: string, ...words: readonly string[]];

/** Returns the command that opens files on a platform; the file is its last argument. */
export function openerOf(platform: NodeJS.Platform): Opener {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

/** Settles with whether it began. */
export function openBrowser(
  file: string,
  [program, ...words]: Opener = openerOf(process.platform),
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [...words, file], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
