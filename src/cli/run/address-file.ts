/**
 * Files that lead a browser to an address with a token. Every user of the machine can read a
 * program's arguments, but only the owner can read a file in a private folder. The browser therefore
 * gets the file, which is removed once its token is spent.
 */

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
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
  const folder = path.join(stateFolder, 'inspector');
  makePrivateFolder(folder);
  await removeLeftovers(folder);
  const file = path.join(folder, `${randomUUID()}.html`);
  await writeFile(file, pageLeadingTo(url), { flag: 'wx', mode: 0o600 });
  // Synchronous: when we stop, asynchronous work may not finish.
  inspector.whenSpent(url, () => rmSync(file, { force: true }));
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

/** @param url - one of ours, without characters that are special in HTML */
function pageLeadingTo(url: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}"><title>Troupe inspector</title>
<p><a href="${url}">Open the inspector</a></html>
`;
}
