/**
 * Files that lead a browser to an address with a token. Every user of the machine can read a
 * program's arguments, but only the owner can read a file in a private folder. The browser therefore
 * gets the file, which is removed once its token is spent.
 */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CliSession } from '../command.ts';
import { makePrivateFolder } from '../control/socket-path.ts';

// Files left behind by a killed troupe lead nowhere; they are removed after a day.
const leftoverMs = 86_400_000;

/**
 * Writes a file, readable only by its owner, that leads to this address until the token is spent.
 * @param stateFolder - the file goes into its folder `inspector`
 * @returns the file's path
 */
export async function writeAddressFile(
  inspector: { whenSpent(address: string, callback: () => void): void },
  url: string,
  stateFolder: string,
): Promise<string> {
  const file = await writePage(url, path.join(stateFolder, 'inspector'));
  // Synchronous: when we stop, asynchronous work may not finish.
  inspector.whenSpent(url, () => rmSync(file, { force: true }));
  return file;
}

/**
 * Opens an address of another program in a browser. Nothing of it appears in a program's arguments.
 * @param signal - aborted when the address is no longer of use
 * @returns whether a browser was started
 */
export async function openPage(
  { host, launch }: CliSession,
  url: string,
  signal: AbortSignal,
): Promise<boolean> {
  const file = await writePage(url, path.join(launch.stateFolder, 'login'));
  signal.addEventListener('abort', () => rmSync(file, { force: true }), { once: true });
  return (host.openFile ?? openBrowser)(file);
}

async function writePage(url: string, folder: string): Promise<string> {
  makePrivateFolder(folder);
  await removeLeftovers(folder);
  const file = path.join(folder, `${randomUUID()}.html`);
  await writeFile(file, pageLeadingTo(url), { flag: 'wx', mode: 0o600 });
  return file;
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > leftoverMs)
      await rm(file, { force: true });
  }
}

function pageLeadingTo(address: string): string {
  const url = address.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}"><title>mcp-troupe</title>
<p><a href="${url}">Continue</a></html>
`;
}

/**
 * Prints an address, and opens it in a browser when a file is given.
 * @param file - leads to the address; a browser gets this and never the address, because every user
 *   of the machine can see a program's arguments. Empty: a browser was requested, but there is no file
 */
export async function showAddress(
  { host, output }: CliSession,
  url: string,
  file: string | undefined,
): Promise<void> {
  output.document({ url });
  output.lines([url]);
  if (file === undefined) return;
  const open = host.openFile ?? openBrowser;
  if (file === '' || !(await open(file)))
    output.note('cannot start a browser; open the address yourself');
}

type Opener = readonly [program: string, ...words: readonly string[]];

/** Returns the command that opens files on a platform; the file is its last argument. */
export function openerOf(platform: NodeJS.Platform): Opener {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

/**
 * Opens a file in the system's browser, without a shell, which would split the path into words.
 * @returns whether the program started
 */
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
