/**
 * Writes the generated parts of the documentation: `tsx scripts/generate-docs.ts`.
 * With `--check` it changes nothing, names the stale documents and exits with 1
 * when there are any.
 */

import { fileURLToPath } from 'node:url';
import { staleDocs, writeDocs } from './docs/generated-docs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

if (process.argv.includes('--check')) {
  const stale = await staleDocs(root);
  for (const path of stale) process.stderr.write(`stale: ${path} (run \`npm run docs\`)\n`);
  if (stale.length > 0) process.exitCode = 1;
} else {
  for (const path of await writeDocs(root)) process.stdout.write(`written: ${path}\n`);
}
