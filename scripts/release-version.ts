/** Writes the version of package.json into the source; a part of `npm run release:version`. */

import { readFile, writeFile } from 'node:fs/promises';

const { version } = JSON.parse(
  await readFile(new URL('../package.json', import.meta.url), 'utf8'),
) as { readonly version: string };
const source = new URL('../src/domain/version.ts', import.meta.url);
const text = await readFile(source, 'utf8');
await writeFile(source, text.replace(/version = '[^']*'/, `version = '${version}'`));
