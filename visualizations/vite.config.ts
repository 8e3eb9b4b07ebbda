/**
 * Builds the inspector's page into dist/inspector: one script, one style sheet, and
 * beside them the pictures of the charts. Nothing in it asks for anything elsewhere.
 */

import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { pageStyleOf } from './page-style.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const page = here('inspector');
const pictures = here('.');

export default defineConfig({
  root: page,
  base: './',
  // Served at any port, under a policy that allows scripts and styles from files only.
  build: {
    outDir: here('../dist/inspector'),
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  plugins: [chartFiles()],
});

/**
 * Puts the pictures beside the page, and their style into the page's: the policy
 * of the page allows no style inside of a picture.
 */
function chartFiles(): Plugin {
  return {
    name: 'chart-files',
    async load(id) {
      if (id !== `${page}/styles/picture.css`) return undefined;
      return pageStyleOf(await readFile(`${pictures}/slots.svg`, 'utf8'));
    },
    async generateBundle() {
      for (const name of await readdir(pictures)) {
        if (!name.endsWith('.svg') && name !== 'charts.json') continue;
        const source = await readFile(`${pictures}/${name}`);
        this.emitFile({ type: 'asset', fileName: `charts/${name}`, source });
      }
    },
  };
}
