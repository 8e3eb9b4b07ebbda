/**
 * Writes the diagrams of all charts: `tsx scripts/diagrams.ts`. With `--check` it
 * changes nothing, names the stale files and exits with 1 when there are any.
 */

import { fileURLToPath } from 'node:url';
import { staleDiagrams, writeDiagrams } from './diagram-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

if (process.argv.includes('--check')) {
  const stale = await staleDiagrams(root);
  for (const path of stale) console.error(`stale: ${path} (run \`npm run diagrams\`)`);
  if (stale.length > 0) process.exitCode = 1;
} else {
  for (const path of await writeDiagrams(root)) console.log(`written: ${path}`);
}
