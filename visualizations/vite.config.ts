/**
 * Builds the inspector's page into dist/inspector: one script and one style sheet.
 * Nothing in it asks for anything elsewhere. `scripts/page-pictures.ts` puts the
 * pictures of the charts beside it.
 */

import { readFile } from 'node:fs/promises';
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
  plugins: [chartStyle()],
});

/** Puts the style of the pictures into the page's: its policy allows no style inside of a picture. */
function chartStyle(): Plugin {
  return {
    name: 'chart-style',
    async load(id) {
      if (id !== `${page}/styles/picture.css`) return undefined;
      return pageStyleOf(await readFile(`${pictures}/slots.svg`, 'utf8'));
    },
  };
}
