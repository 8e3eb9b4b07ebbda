/**
 * Writes the pictures of the charts beside the inspector's page, and `charts.json` with
 * their facts: the last step of `npm run build:page`.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageFiles } from './charts/page-pictures.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'dist/inspector/charts');

await mkdir(folder, { recursive: true });
for (const [name, text] of await pageFiles(root)) await writeFile(join(folder, name), text);
