import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../scripts/docs/command-table.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';
import { anchorsOf, fencesOf, prose, readDocuments, root } from './documents.ts';

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

async function readManifest(path = 'package.json'): Promise<Manifest & { license: string }> {
  return JSON.parse(await readFile(join(root, path), 'utf8'));
}

/** Links to files and headings of this repository. */
function linksOf(text: string): readonly string[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link ?? '')
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** Resolves a link of a document to a path from the repository's root. */
function targetOf(path: string, link: string): { target: string; anchor: string | undefined } {
  const [file = '', anchor] = link.split('#');
  return { target: file === '' ? path : normalize(join(dirname(path), file)), anchor };
}

describe('documentation', () => {
  it('links only to files and headings that exist', async () => {
    const documents = await readDocuments();
    const broken = documents.flatMap(({ path, text }) =>
      linksOf(text)
        .filter((link) => {
          const { target, anchor } = targetOf(path, link);
          if (!existsSync(join(root, target))) return true;
          const found = documents.find((document) => document.path === target);
          return anchor !== undefined && found !== undefined && !anchorsOf(found.text).has(anchor);
        })
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  it('lists every page in its index', async () => {
    const documents = await readDocuments();
    const index = documents.find(({ path }) => path === 'docs/README.md')?.text ?? '';
    const pages = documents.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
    const missing = pages
      .map((path) => path.slice('docs/'.length))
      .filter((page) => page !== 'README.md' && !index.includes(`(${page})`));
    expect(missing).toEqual([]);
  });

  it('links from packaged pages only to packaged files or files that need a clone', async () => {
    const { files } = await readManifest();
    const isIn = (target: string): boolean =>
      files.includes(target) ||
      files.includes(`${dirname(target)}/*.ts`) ||
      (files.includes(`${dirname(target)}/*.md`) &&
        target.endsWith('.md') &&
        !files.includes(`!${target}`));
    const needsClone =
      /^(?:CONTRIBUTING\.md|docs\/(?:parity\.md)?|(?:visualizations|test\/museum|docs\/(?:decisions|pictures))\/.*)$/;
    // The README says that its first steps are taken in a clone.
    const isForClone = (path: string, target: string): boolean =>
      needsClone.test(target) || (path === 'README.md' && target.startsWith('examples/'));
    const lost = (await readDocuments())
      .filter(({ path }) => isIn(path))
      .flatMap(({ path, text }) =>
        linksOf(text)
          .map((link) => targetOf(path, link).target)
          .filter((target) => !isIn(target) && !isForClone(path, target))
          .map((target) => `${path}: ${target}`),
      );
    expect(lost).toEqual([]);
  });

  it('mentions only scripts that package.json defines', async () => {
    const { scripts } = await readManifest();
    const named = (await readDocuments()).flatMap(({ text }) =>
      [...text.matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)].map(([, name]) => name ?? ''),
    );
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it('mentions only commands that exist', async () => {
    const known = new Set(['help', ...commandsOf().map((command) => command.name())]);
    const named = (await readDocuments()).flatMap(({ text }) =>
      [...text.matchAll(/(?:`troupe |\bnpx troupe |\btroupe -- )([a-z]+)/g)].map(
        ([, name]) => name ?? '',
      ),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it('shows only valid settings', async () => {
    const examples = (await readDocuments()).flatMap(({ text }) => fencesOf(text, 'jsonc'));
    const origin = { file: 'example', scope: 'config', projectRoot: '/' } as const;
    const read = examples.map((text) => parseSettings(text, origin));
    expect(read.flatMap(({ problems }) => problems)).toEqual([]);
    const invalid = read
      .flatMap(({ document }) => document?.servers ?? [])
      .filter(({ desired }) => desired.invalid !== undefined);
    // The guide contains one mistake on purpose.
    expect(invalid.map(({ desired }) => desired.name)).toEqual(['typo']);
  });

  it('lists at most 120 names in the main entry, and no name without a comment', async () => {
    const reports = (await readDocuments()).filter(({ path }) => /^docs\/api.*\.md$/.test(path));
    expect(reports.map(({ path }) => path)).toContain('docs/api/inspection.md');
    for (const { path, text } of reports) {
      const names = [...text.matchAll(/^export [a-z ]+ (\w+)/gm)].map(([, name]) => name);
      if (path === 'docs/api.md') expect(names.length).toBeLessThanOrEqual(120);
      const bare = [...text.matchAll(/^\/\/ @public \(undocumented\)\nexport (.*)$/gm)];
      expect(bare.map(([, declared]) => declared)).toEqual([]);
    }
  });

  it('contains no machine-specific paths or registry URLs', async () => {
    const own = /\/(?:home|root|Users|work)\/|registry\.|localhost:\d/;
    const found = (await readDocuments()).filter(({ text }) => own.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it('states the version and licence of every package that the code runs on', async () => {
    const { dependencies } = await readManifest();
    const page = await readFile(join(root, 'docs/decisions/runtime-dependencies.md'), 'utf8');
    for (const [name, version] of Object.entries(dependencies)) {
      const { license } = await readManifest(`node_modules/${name}/package.json`);
      const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
      expect(row, `${name} has no row in runtime-dependencies.md`).toBeDefined();
      expect(row).toContain(`| ${version} |`);
      expect(row).toContain(`| ${license} |`);
    }
  });
});
