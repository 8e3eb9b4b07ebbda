/**
 * Knows which files of a folder decide what a package runner runs there. `npx good@1.0.0` is a
 * whole command line, and yet the folder in which it starts may hold an `.npmrc` that names another
 * shell, a `node_modules` with another `good`, or a `python -m` module of that name.
 */

import { isRecord } from '../is-record.ts';
import { parsedJson } from '../parsed-json.ts';
import { programOf } from './package-runner.ts';

/** What a runner reads of the folder in which it starts, as paths with `/`. */
export interface FolderReads {
  /** Read in the folder and in every folder above it. A path that ends in `/` is a folder of programs. */
  readonly upward: readonly string[];
  /** Read in the folder alone. */
  readonly here: readonly string[];
  /** Whether every Python module in the folder can take another's place. */
  readonly hasModules: boolean;
  /** The keys of a `package.json` that decide; absent if all may. */
  readonly manifestKeys?: readonly string[];
  /** Folders that the words name in place of the one in which the process starts. */
  readonly folders: readonly string[];
}

type Reads = Partial<Omit<FolderReads, 'folders'>>;

// A shim of asdf or mise may stand in for any of the programs.
const shims = ['.tool-versions'];
const npmFiles = ['.npmrc', 'package.json', 'node_modules', 'node_modules/.bin/'];
const pnpmFiles = [...npmFiles, 'pnpm-workspace.yaml', '.pnpmfile.cjs', '.pnpmfile.mjs'];
const yarnFiles = [
  ...[...npmFiles, '.yarnrc', '.yarnrc.yml', '.pnp.cjs', '.pnp.loader.mjs'],
  ...['.yarn/releases/', '.yarn/plugins/', '.yarn/plugins/@yarnpkg/'],
];
const bunFiles = [
  ...[...npmFiles, 'bunfig.toml', 'tsconfig.json'],
  ...['.env', '.env.local', '.env.development', '.env.production'],
];
const pyenvFiles = ['.python-version', '.python-versions'];
const uvFiles = ['uv.toml', 'pyproject.toml', ...pyenvFiles];
const uvProjectFiles = [
  ...[...uvFiles, 'uv.lock', 'setup.py', 'setup.cfg'],
  ...['.venv', '.venv/pyvenv.cfg', '.venv/bin/python', '.venv/Scripts/python.exe'],
];
const composeFiles = ['compose', 'docker-compose'].flatMap((name) =>
  ['.yaml', '.yml', '.override.yaml', '.override.yml'].map((ending) => name + ending),
);
/** The files of programs whose words do not matter. */
const plainFiles: Readonly<Record<string, readonly string[]>> = {
  deno: [...npmFiles, 'deno.json', 'deno.jsonc', 'deno.lock'],
  dnx: [
    ...['NuGet.Config', 'nuget.config', 'NuGet.config', 'global.json'],
    ...['.config/dotnet-tools.json', 'dotnet-tools.json'],
  ],
  bundle: ['Gemfile', 'Gemfile.lock', 'gems.rb', 'gems.locked', '.bundle/config', '.ruby-version'],
  cargo: ['.cargo/config.toml', '.cargo/config', 'Cargo.toml', 'rust-toolchain', 'build.rs'],
  go: ['go.mod', 'go.work'],
  make: ['GNUmakefile', 'makefile', 'Makefile'],
  just: ['justfile', 'Justfile', '.justfile', '.env'],
  rscript: ['.Rprofile', '.Renviron'],
  r: ['.Rprofile', '.Renviron'],
  'docker-compose': [...composeFiles, '.env'],
};

// Without these, a package.json says what a project needs and not what a runner runs.
const ownKeys = ['bin', 'directories', 'workspaces', 'packageManager', 'devEngines', 'volta'];
const toolKeys = ['pnpm', 'bun'];
const scriptKeys = ['scripts', 'config'];

type Rule = (words: readonly string[]) => readonly Reads[];

const rules: ReadonlyMap<string, Rule> = new Map(
  Object.entries<Rule>({
    ...Object.fromEntries(
      Object.entries(plainFiles).map(([name, upward]) => [name, () => [{ upward }]]),
    ),
    npx: (words) => ofPackages(npmFiles, words, false),
    npm: (words) => ofManager(npmFiles, words),
    pnpx: (words) => ofPackages(pnpmFiles, words, false),
    pnpm: (words) => ofManager(pnpmFiles, words),
    yarn: (words) => ofManager(yarnFiles, words),
    yarnpkg: (words) => ofManager(yarnFiles, words),
    bunx: (words) => ofPackages(bunFiles, words, false),
    bun: (words) => ofManager(bunFiles, words),
    uvx: (words) => [{ upward: uvFiles }, ...pythonAmong(words)],
    uv: ofUv,
    pipx: ofPipx,
    docker: ofDocker,
    podman: ofDocker,
  }),
);

const pythons = /^(?:python|pypy)\d*(?:\.\d+)*w?$|^py$/u;
const shells = /^(?:(?:ba|da|z|k|a|c|tc)?sh|fish|busybox|cmd|powershell|pwsh)$/u;
// They run the words that follow, as some of the words or as one text.
const wrappers = new RegExp(
  `^(?:${[
    'env|nice|ionice|nohup|time|timeout|stdbuf|setsid|sudo|doas|command|exec|xvfb-run|caffeinate|corepack',
    'mise|asdf|direnv|poetry|pdm|hatch|pipenv|rye|pixi|conda|micromamba',
  ].join('|')})$`,
  'u',
);
// No honest command line is longer, or starts more than a few.
const maxWords = 500;
const maxRunners = 8;
// What follows `--` runs in a container or on another machine.
const elsewhere = /^(?:docker|podman|nerdctl|kubectl|oc|ssh|lxc)$/u;

/** Returns what a command line's package runner reads of its folder; undefined if it has no runner. */
export function folderReadsOf(command: string, args: readonly string[]): FolderReads | undefined {
  const found = readsIn([command, ...args.slice(0, maxWords)]);
  if (found.length === 0) return undefined;
  const all = (list: (reads: Reads) => readonly string[] | undefined): readonly string[] => [
    ...new Set(found.flatMap((reads) => list(reads) ?? [])),
  ];
  const isWhole = found.some((it) => isOfManifest(it) && it.manifestKeys === undefined);
  return {
    upward: [...shims, ...all(({ upward }) => upward)],
    here: all(({ here }) => here),
    hasModules: found.some(({ hasModules }) => hasModules === true),
    ...(!isWhole && { manifestKeys: all(({ manifestKeys }) => manifestKeys) }),
    folders: [...new Set([...foldersIn(args), ...foldersIn(wordsOf(args))])],
  };
}

function isOfManifest({ upward = [] }: Reads): boolean {
  return upward.includes('package.json');
}

function readsIn(line: readonly string[]): readonly Reads[] {
  const [first = '', ...rest] = line;
  const program = nameOf(first);
  if (shells.test(program) || wrappers.test(program)) return readsAmong(wordsOf(rest));
  const own = readsAt(line);
  if (own.length > 0 || elsewhere.test(program)) return own;
  const end = rest.indexOf('--');
  return end === -1 ? [] : readsIn(rest.slice(end + 1));
}

function readsAmong(words: readonly string[]): readonly Reads[] {
  return [...words.keys()]
    .filter((at) => ruleOf(words[at]) !== undefined)
    .slice(0, maxRunners)
    .flatMap((at) => readsAt(words.slice(at)));
}

function nameOf(word: string): string {
  return programOf(word).toLowerCase();
}

/** Splits what a shell would split, and more: a word too many only looks for a file that does not exist. */
function wordsOf(texts: readonly string[]): readonly string[] {
  return texts
    .flatMap((text) => text.split(/[\s;&|()'"`<>=]+/u, maxWords))
    .filter((word) => word !== '')
    .slice(0, maxWords);
}

function readsAt([first, ...words]: readonly string[]): readonly Reads[] {
  return ruleOf(first)?.(words) ?? [];
}

function ruleOf(word = ''): Rule | undefined {
  const program = nameOf(word);
  return pythons.test(program) ? ofPython : rules.get(program);
}

/** @param runsScripts - whether the program may run a script of the folder, and not only packages */
function ofPackages(
  files: readonly string[],
  words: readonly string[],
  runsScripts: boolean,
): readonly Reads[] {
  const manifestKeys = [...ownKeys, ...toolKeys, ...(runsScripts ? scriptKeys : [])];
  const packages = namesIn(words).map((name) => `node_modules/${name}/package.json`);
  return [{ upward: [...files, ...packages], manifestKeys }];
}

/** A program with commands, of which some run packages only. */
function ofManager(files: readonly string[], words: readonly string[]): readonly Reads[] {
  const command = words.find((word) => !word.startsWith('-')) ?? '';
  return ofPackages(files, words, !/^(?:exec|x|dlx)$/u.test(command));
}

function ofUv(words: readonly string[]): readonly Reads[] {
  const at = words.findIndex((word) => word === 'run' || word === 'tool');
  if (at === -1) return [];
  const rest = words.slice(at + 1);
  const inner = pythonAmong(rest);
  if (words[at] === 'tool') return [{ upward: uvFiles }, ...inner];
  const programs = namesIn(rest).flatMap((name) => [
    `.venv/bin/${name}`,
    `.venv/Scripts/${name}.exe`,
  ]);
  const module = rest.findIndex((word) => word === '-m' || word === '--module');
  return [
    { upward: [...uvProjectFiles, ...programs] },
    ...inner,
    ...(module === -1 ? [] : ofModule(rest[module + 1])),
  ];
}

/** Compose starts what a file of the folder says, with the folders of this machine that it names. */
function ofDocker(words: readonly string[]): readonly Reads[] {
  return words.includes('compose') ? [{ upward: [...composeFiles, '.env'] }] : [];
}

/** A file of the folder with the name of the package wins. */
function ofPipx(words: readonly string[]): readonly Reads[] {
  const at = words.indexOf('run');
  return at === -1 ? [] : [{ here: ['__pypackages__', ...namesIn(words.slice(at + 1))] }];
}

/** The first names of packages or programs among the words, without versions. */
function namesIn(words: readonly string[]): readonly string[] {
  return words
    .slice(0, maxNamed)
    .map((word) => word.replace(/^--?[\w-]+=/u, ''))
    .flatMap((word) => /^((?:@[\w.~-]+\/)?[\w~][\w.~-]*)(?:[@=].*)?$/u.exec(word)?.[1] ?? [])
    .slice(0, maxNames);
}

// The package is named by the first words or by a switch; what follows is the server's own.
const maxNames = 8;
const maxNamed = 32;

/** Python looks for modules in the folder in which it starts, before all others, unless told not to. */
function ofPython(words: readonly string[]): readonly Reads[] {
  let at = 0;
  for (;;) {
    const word = words[at] ?? '';
    const [, flags, kind = '', value] = /^-(?!-)([^mcWX]*)([mcWX]?)(.*)$/su.exec(word) ?? [];
    const isLong = word === '--check-hash-based-pycs';
    // A script: modules come from its own folder.
    if ((flags === undefined && !isLong) || /[IP]/u.test(flags ?? '')) return [];
    if (kind === 'm') return ofModule(value === '' ? words[at + 1] : value);
    if (kind === 'c') return ofModule();
    at += isLong || (kind !== '' && value === '') ? 2 : 1;
  }
}

function pythonAmong(words: readonly string[]): readonly Reads[] {
  const at = words.findIndex((word) => pythons.test(nameOf(word)));
  return at === -1 ? [] : ofPython(words.slice(at + 1));
}

function ofModule(module = ''): readonly Reads[] {
  const parts = /^[\w-]+(?:\.[\w-]+)*$/u.test(module) ? module.split('.') : [];
  const place = parts.join('/');
  const files = [`${place}.py`, `${place}/__init__.py`, `${place}/__main__.py`];
  const here = parts.length === 0 ? [] : [`${parts[0]}/__init__.py`, ...files];
  return [{ upward: pyenvFiles, here, hasModules: true }];
}

const folderSwitch = /^(?:-C|--(?:directory|project|prefix|cwd|dir|chdir)|cd)$/u;

/** The folders that switches and `cd` name. */
function foldersIn(words: readonly string[]): readonly string[] {
  return words.flatMap((word, at) => (folderSwitch.test(word) ? (words[at + 1] ?? []) : []));
}

/** Returns the part of a `package.json` that decides what runs; undefined if nothing in it does. */
export function decidingPart(text: string, keys: readonly string[]): string | undefined {
  const manifest = parsedJson(text);
  if (!isRecord(manifest)) return text;
  const part = keys.flatMap((key) => (Object.hasOwn(manifest, key) ? [[key, manifest[key]]] : []));
  // A `bin` that is a text is named after the package.
  return part.length === 0 ? undefined : JSON.stringify([manifest['name'], part]);
}
