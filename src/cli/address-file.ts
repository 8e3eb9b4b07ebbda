/**
 * Files that lead a browser to an address with a token. What a program is started with every user
 * of the machine can read; a file in a private folder only its owner can. So a browser is given
 * the file, which is removed when its token is spent.
 */

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makePrivateFolder } from './control-socket-path.ts';

// What a troupe that was killed left behind leads nowhere; a day later nobody wonders about it.
const leftoverMs = 86_400_000;

/**
 * Writes a file, open to its owner alone, that leads to this address until it is spent.
 * @param stateFolder - the file goes into a folder `inspector` of it
 * @returns its path
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
  // At once when we stop: nothing that is asynchronous may be done by then.
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

/** @param url - of ours: it holds nothing that HTML reads as its own */
function pageLeadingTo(url: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${url}"><title>Troupe inspector</title>
<p><a href="${url}">Open the inspector</a></html>
`;
}
