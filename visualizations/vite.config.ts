/**
 * Builds the inspector's page into dist/inspector: one script and one style sheet. The page
 * requests nothing from elsewhere. `scripts/page-pictures.ts` puts the pictures of the charts
 * beside it. Then `--mode chart` builds the element `<troupe-chart>` for other pages, with a
 * server's pictures in its script.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';
import type { ChartFacts } from './page/model/chart-facts.ts';
import { pageStyleOf } from './page-style.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const page = here('page');
const pictures = here('charts');

const output = here('../dist/inspector');

const pageBuild: UserConfig = {
  root: page,
  base: './',
  // Served on any port, under a policy that allows scripts and styles only from files.
  build: {
    outDir: output,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // For the element too, which contains no other packages.
    license: { fileName: 'THIRD-PARTY-LICENSES.md' },
  },
  plugins: [chartStyle()],
};

const elementBuild: UserConfig = {
  root: page,
  build: {
    outDir: output,
    emptyOutDir: false,
    target: 'es2023',
    // The first versions with `light-dark()`; its fallback in others needs styles on the page.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: false,
    reportCompressedSize: true,
    rollupOptions: {
      input: `${page}/embed/troupe-chart.ts`,
      output: { entryFileNames: 'troupe-chart.js' },
    },
  },
  plugins: [chartStyle(), serverPictures()],
};

export default defineConfig(({ mode }) => (mode === 'chart' ? elementBuild : pageBuild));

/** Moves the pictures' styles into the page's, because its policy forbids styles inside a picture. */
function chartStyle(): Plugin {
  return {
    name: 'chart-style',
    async load(id) {
      if (id.split('?')[0] !== `${page}/styles/picture.css`) return undefined;
      return pageStyleOf(await readFile(`${pictures}/slots.svg`, 'utf8'));
    },
  };
}

/** A server's pictures that fit on a screen, without what only the inspector's page needs. */
function serverPictures(): Plugin {
  const charts = `${output}/charts`;
  return {
    name: 'server-pictures',
    async load(id) {
      if (id !== `${page}/embed/server-pictures.ts`) return undefined;
      const facts = JSON.parse(await readFile(`${charts}/charts.json`, 'utf8')) as ChartFacts;
      const all = facts.machines['server']?.pictures ?? [];
      const files = all.flatMap(({ sizes }) => Object.keys(sizes)).filter(isOverview);
      const texts = files.map(async (file) => {
        const text = await readFile(`${charts}/${file}`, 'utf8');
        return [file, text.replace(/<style>[^<]*<\/style>| data-transitions="[^"]*"/gu, '')];
      });
      const drawings = Object.fromEntries(await Promise.all(texts)) as unknown;
      const overviews = all.map((each) => ({
        ...each,
        sizes: Object.fromEntries(Object.entries(each.sizes).filter(([file]) => isOverview(file))),
      }));
      return `export const pictures = ${JSON.stringify(overviews)};
export const drawings = ${JSON.stringify(drawings)};`;
    },
  };
}

function isOverview(file: string): boolean {
  return /\.(?:overview|narrow)\.svg$/u.test(file);
}
