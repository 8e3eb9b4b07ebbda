/**
 * Reads all of the page's files when the inspector starts. Only these paths can be requested, so no spelling of
 * a path reaches another file.
 */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

const typeOf: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webmanifest': 'application/manifest+json',
};

/** Where a build puts the page: beside the compiled code, or in `dist` when the sources run. */
const pageFolders = ['../../inspector/', '../../dist/inspector/'].map((place) =>
  fileURLToPath(new URL(place, import.meta.url)),
);

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>mcp-troupe inspector</title>
<p>The inspector page is not built. Run <code>npm run build</code>, then <code>troupe inspect</code> again.</p></html>
`;

/** Returns files by the path that a browser requests; the page itself is `/`. */
export async function readPageFiles(
  folders: readonly string[] = pageFolders,
): Promise<ReadonlyMap<string, PageFile>> {
  for (const folder of folders) {
    const files = await filesIn(folder, '/');
    const page = files.get('/index.html');
    if (page !== undefined) return new Map([...files, ['/', page]]);
  }
  return new Map([['/', { type: 'text/html; charset=utf-8', body: Buffer.from(notBuilt) }]]);
}

async function filesIn(folder: string, prefix: string): Promise<Map<string, PageFile>> {
  const files = new Map<string, PageFile>();
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const file = path.join(folder, entry.name);
    const type = typeOf[path.extname(entry.name)];
    if (entry.isDirectory()) {
      for (const each of await filesIn(file, `${prefix}${entry.name}/`)) files.set(...each);
    } else if (entry.isFile() && type !== undefined) {
      files.set(prefix + entry.name, { type, body: await readFile(file) });
    }
  }
  return files;
}
