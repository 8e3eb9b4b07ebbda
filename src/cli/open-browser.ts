/**
 * Opens a file in the browser of this system; without a shell, which would read it as words. Never
 * an address with a secret: what a program is started with, every user of the machine can read.
 */

import { spawn } from 'node:child_process';

type Opener = readonly [program: string, ...words: readonly string[]];

/** What opens files here; the file comes behind it. */
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
