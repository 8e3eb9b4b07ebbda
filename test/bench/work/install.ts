/** What an installation adds to an empty project: packages and megabytes. Needs the registry. */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { compiledFolder, rootFolder } from '../build.ts';
import { entryOf } from '../contenders.ts';
import { copyPublished } from '../published-files.ts';
import type { Values, Work } from '../work.ts';

const run = promisify(execFile);

/** Packs ours as it would be published, from a copy, because `dist` belongs to other work. */
async function packOurs(folder: string): Promise<string> {
  const copy = join(folder, 'package');
  await copyPublished(rootFolder, copy, ['dist']);
  const build = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(copy, 'dist')];
  await run(join(rootFolder, 'node_modules/.bin/tsc'), build, { cwd: rootFolder });
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: copy });
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error(`npm pack left nothing in ${compiledFolder}.`);
  return join(folder, tarball);
}

async function weigh(folder: string): Promise<{ bytes: number; packages: number }> {
  let bytes = 0;
  let packages = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    bytes += (await stat(path)).size;
    if (/node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/u.test(path)) packages += 1;
  }
  return { bytes, packages };
}

async function install(contender: string): Promise<Values> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
  try {
    const { packages } = entryOf(contender);
    const wanted = packages === 'ours' ? [await packOurs(folder)] : packages;
    const project = await mkdtemp(join(folder, 'project-'));
    await writeFile(join(project, 'package.json'), '{ "private": true }\n');
    await run('npm', ['install', '--ignore-scripts', '--no-audit', ...wanted], { cwd: project });
    const seen = await weigh(join(project, 'node_modules'));
    return { packages: seen.packages, size: seen.bytes / 1024 / 1024 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const installWork: Work = {
  name: 'install',
  measures: [
    { id: 'packages', title: 'installed: packages', unit: '' },
    { id: 'size', title: 'installed: size', unit: 'MB' },
  ],
  rounds: { full: 1, quick: 1 },
  isOptional: true,
  async run({ contenders }) {
    const values: Record<string, Values> = {};
    for (const contender of contenders) values[contender] = await install(contender);
    return [values];
  },
};
