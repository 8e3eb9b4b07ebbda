/** Installs the peers' packages when they are first compared, so that no other install grows. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { rootFolder } from '../lab/build.ts';
import { entryOf } from './contenders.ts';

// The compiled benchmark is in a folder beside it, so that its imports find these packages here.
const folder = join(rootFolder, 'node_modules/.cache');

function isInstalled(wanted: string): boolean {
  const at = wanted.lastIndexOf('@');
  const file = join(folder, 'node_modules', wanted.slice(0, at), 'package.json');
  if (!existsSync(file)) return false;
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return version === wanted.slice(at + 1);
}

export async function installPeers(names: readonly string[]): Promise<void> {
  const wanted = names.flatMap((name) => entryOf(name).install ?? []);
  if (wanted.every(isInstalled)) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const words = [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--engine-strict=false',
  ];
  await promisify(execFile)('npm', [...words, '--prefix', folder, ...wanted]);
}
