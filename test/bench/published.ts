/** Finds what users of the package run: `dist`, unless it is older than the sources. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import type * as Package from '../../src/index.ts';
import { compiledFolder, rootFolder } from '../lab/build.ts';

interface PackageJson {
  readonly exports: { readonly '.': { readonly default: string } };
  readonly bin: { readonly troupe: string };
}

export interface Published {
  readonly main: string;
  readonly cli: string;
  /** For the report. */
  readonly about: string;
}

const manifest = (): PackageJson =>
  JSON.parse(readFileSync(join(rootFolder, 'package.json'), 'utf8')) as PackageJson;

function newestIn(folder: string): number {
  const entries = readdirSync(join(rootFolder, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'));
  return Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs));
}

/** Decides in the bench's own process; its children are told. */
export function findPublished(): Published {
  const { exports, bin } = manifest();
  const main = join(rootFolder, exports['.'].default);
  const sources = {
    main: join(compiledFolder, 'src/index.js'),
    cli: join(compiledFolder, 'src/cli/main.js'),
  };
  if (!existsSync(main)) return { ...sources, about: 'the compiled sources; there is no dist' };
  const newest = Math.max(...['src', 'machines', 'actors'].map(newestIn));
  if (statSync(main).mtimeMs < newest)
    return {
      ...sources,
      about: 'the compiled sources; dist is older, run `npm run build` to measure it',
    };
  return { main, cli: join(rootFolder, bin.troupe), about: 'dist, as published' };
}

const mainVariable = 'MCP_TROUPE_BENCH_MAIN';
const cliVariable = 'MCP_TROUPE_BENCH_CLI';

/** Makes this process and its children use it. */
export function choosePublished({ main, cli }: Published): void {
  process.env[mainVariable] = pathToFileURL(main).href;
  process.env[cliVariable] = cli;
}

/** The file of the command line. */
export function publishedCli(): string {
  return process.env[cliVariable] ?? join(rootFolder, 'src/cli/main.ts');
}

/** Imports the package as a host does; the sources where nothing was chosen. */
export async function importPublished(): Promise<typeof Package> {
  const chosen = process.env[mainVariable];
  const imported: unknown = await (chosen === undefined
    ? import('../../src/index.ts')
    : import(chosen));
  return imported as typeof Package;
}
