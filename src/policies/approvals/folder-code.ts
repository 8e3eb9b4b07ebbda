/**
 * Knows which files of a folder decide what a package runner runs there. `npx good@1.0.0` is a
 * whole command line, and yet the folder in which it starts may hold an `.npmrc` that names another
 * shell, a `node_modules` with another `good`, or a `python -m` module of that name.
 */

import { isRecord } from '../../domain/data/is-record.ts';
import { parsedJson } from '../../domain/data/parsed-json.ts';
import { programOf } from './package-runner.ts';
import {
  dockerTaking,
  elsewhere,
  files,
  folderSwitch,
  manifestKeys,
  nodeSwitches,
  plainFiles,
  pythons,
  scriptPrograms,
  shells,
  shims,
  wrapperFiles,
} from './runner-files.ts';

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

type Rule = (words: readonly string[]) => readonly Reads[];

const rules: ReadonlyMap<string, Rule> = new Map(
  Object.entries<Rule>({
    ...rulesFrom(plainFiles, (upward) => [{ upward }]),
    ...rulesFrom(wrapperFiles, ofWrapper),
    npx: (words) => ofPackages(files.npm, words),
    npm: (words) => ofManager(files.npm, words),
    pnpx: (words) => ofPackages(files.pnpm, words),
    pnpm: (words) => ofManager(files.pnpm, words),
    yarn: (words) => ofManager(files.yarn, words),
    yarnpkg: (words) => ofManager(files.yarn, words),
    bunx: (words) => ofPackages(files.bun, words),
    bun: (words) => ofManager(files.bun, words),
    node: ofNode,
    nodejs: ofNode,
    tsx: (words) => [{ upward: files.typeScript }, ...ofNode(words)],
    'ts-node': (words) => [{ upward: files.typeScript }, ...ofNode(words)],
    uvx: (words) => [{ upward: files.uv }, ...pythonAmong(words)],
    uv: ofUv,
    pipx: ofPipx,
    dotnet: ([command]) =>
      /^(?:tool|run)$/u.test(command ?? '') ? [{ upward: files.dotnet }] : [],
    docker: ofDocker,
    podman: ofDocker,
    nerdctl: ofDocker,
  }),
);

function rulesFrom(
  table: Readonly<Record<string, readonly string[]>>,
  rule: (upward: readonly string[], words: readonly string[]) => readonly Reads[],
): Readonly<Record<string, Rule>> {
  return Object.fromEntries(
    Object.entries(table).map(([name, upward]) => [name, (words) => rule(upward, words)]),
  );
}

// No honest command line is longer, or starts more than a few.
const maxWords = 500;
const maxRunners = 8;

/**
 * Returns what a command line's package runner reads of its folder; undefined if it has no runner.
 *
 * @param env - the process's own variables, which may name another folder
 */
export function folderReadsOf(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): FolderReads | undefined {
  const found = [
    ...readsIn([command, ...args.slice(0, maxWords)]),
    ...readsInTexts(command, args),
    ...ofNode(wordsOf([env['NODE_OPTIONS'] ?? ''], /[\s"]+/u)),
  ];
  if (found.length === 0) return undefined;
  const all = (list: (reads: Reads) => readonly string[] | undefined): readonly string[] => [
    ...new Set(found.flatMap((reads) => list(reads) ?? [])),
  ];
  const isWhole = found.some((it) => isOfManifest(it) && it.manifestKeys === undefined);
  const texts = [args, wordsOf(args), Object.entries(env).flat()];
  return {
    upward: [...shims, ...all(({ upward }) => upward)],
    here: all(({ here }) => here),
    hasModules: found.some(({ hasModules }) => hasModules === true),
    ...(!isWhole && { manifestKeys: all((it) => it.manifestKeys) }),
    folders: [...new Set(texts.flatMap(foldersIn))],
  };
}

function isOfManifest({ upward = [] }: Reads): boolean {
  return upward.includes('package.json');
}

function readsIn(line: readonly string[]): readonly Reads[] {
  const [first = '', ...rest] = line;
  const program = nameOf(first);
  const own = readsAt(line);
  if (elsewhere.test(program)) return own;
  // A package may be a program that runs other words in turn.
  const isWrapper = [program, ...(own.length === 0 ? [] : namesIn(rest))].some(runsWords);
  if (isWrapper) return [...own, ...readsAmong(wordsOf(rest))];
  const end = rest.indexOf('--');
  return end === -1 ? own : [...own, ...readsIn(rest.slice(end + 1))];
}

function runsWords(program: string): boolean {
  return shells.test(program) || Object.hasOwn(wrapperFiles, program);
}

/** A whole command line may be one of the words, as in `--stdio "npx server"`. */
function readsInTexts(command: string, args: readonly string[]): readonly Reads[] {
  if (elsewhere.test(nameOf(command))) return [];
  return (
    args
      // A capital begins a sentence, which is no command.
      .filter((text) => /\S\s+\S/u.test(text) && !/^[A-Z][a-z]*\s/u.test(text))
      .slice(0, maxRunners)
      .flatMap((text) => readsIn(wordsOf([text.replace(/^--?[\w-]+=/u, '')])))
  );
}

function readsAmong(words: readonly string[]): readonly Reads[] {
  return [...words.keys()]
    .filter((at) => ruleOf(words[at]) !== undefined)
    .slice(0, maxRunners)
    .flatMap((at) => readsAt(words.slice(at)));
}

function nameOf(word: string): string {
  const name = programOf(word).toLowerCase();
  return scriptPrograms.get(name) ?? name;
}

/** Splits what a shell would split, and more: a word too many only looks for a file that does not exist. */
function wordsOf(texts: readonly string[], between = /[\s;&|()'"`<>=]+/u): readonly string[] {
  return texts
    .flatMap((text) => text.split(between, maxWords))
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
  upward: readonly string[],
  words: readonly string[],
  runsScripts = false,
): readonly Reads[] {
  const packages = namesIn(words).map((name) => `node_modules/${name}/package.json`);
  const keys = runsScripts ? manifestKeys.scripts : manifestKeys.packages;
  return [{ upward: [...upward, ...packages], manifestKeys: keys }];
}

/** A program with commands, of which some run packages only. */
function ofManager(upward: readonly string[], words: readonly string[]): readonly Reads[] {
  const command = words.find((word) => !word.startsWith('-')) ?? '';
  return ofPackages(upward, words, !/^(?:exec|x|dlx)$/u.test(command));
}

function ofWrapper(own: readonly string[], words: readonly string[]): readonly Reads[] {
  if (own.length === 0) return [];
  const programs = own.includes('.venv') ? venvPrograms(words) : [];
  return [{ upward: [...own, ...programs], manifestKeys: manifestKeys.packages }];
}

/** Node finds modules of a bare name from the folder in which it starts. */
function ofNode(words: readonly string[]): readonly Reads[] {
  // A word after a switch may be its value or the script, so both are taken for both.
  const at = words.findIndex(
    (word, index) =>
      !word.startsWith('-') && !nodeSwitches.mayTakeNext.test(words[index - 1] ?? ''),
  );
  const own = at === -1 ? words : words.slice(0, at);
  const given = (kind: RegExp): readonly string[] =>
    own.flatMap((word, index) => {
      const found = kind.exec(word);
      return found === null ? [] : (found[1] ?? words[index + 1] ?? '');
    });
  const code = given(nodeSwitches.code).filter((text) => loads.test(text.replace(ownLoads, '')));
  const modules = [...given(nodeSwitches.module), ...code.flatMap(quotedIn)];
  const script = words.findIndex(
    (word, index) =>
      (at === -1 || index <= at) && scriptPrograms.has(word.replace(/^.*[/\\]/su, '')),
  );
  return [
    ...ofModules(modules),
    ...(code.length > 0 ? [{ upward: ['node_modules'] }] : []),
    ...given(nodeSwitches.variables).map((file) => ({ here: [file] })),
    ...(own.some((word) => /^--run(?:=|$)/u.test(word)) ? ofPackages(files.npm, [], true) : []),
    ...(script === -1 ? [] : readsAt(words.slice(script))),
  ];
}

const loads = /\b(?:require|import|createRequire|getBuiltinModule)\b/u;
/** Those of Node's own modules that run no other code. */
const ownModules =
  '(?:node:)?(?:assert|buffer|console|crypto|dns|events|fs|https?|net|os|path|querystring|readline|stream|string_decoder|timers|tls|url|util|zlib)(?:/promises)?';
const ownName = `(?:'${ownModules}'|"${ownModules}")`;
/** Loads of these, with their names written out. */
const ownLoads = new RegExp(
  String.raw`\b(?:require|import)\s*\(\s*${ownName}\s*\)|\bimport\s+(?:[\w*{}\s,]{1,400}\sfrom\s*)?${ownName}`,
  'gu',
);

function quotedIn(code: string): readonly string[] {
  return [...code.matchAll(/['"`]([^'"`]+)['"`]/gu)].map(([, text = '']) => text);
}

function ofModules(modules: readonly string[]): readonly Reads[] {
  if (!modules.some((name) => /^[#@\w](?!\w*:)/u.test(name))) return [];
  const places = modules
    .flatMap((name) => /^(?:@[\w.~-]+\/)?\w[\w.~-]*(?![\w.~:-])/u.exec(name)?.[0] ?? [])
    .flatMap((name) => ['', '.js', '/package.json'].map((end) => `node_modules/${name}${end}`));
  const upward = [...places, ...files.typeScript, 'package.json'];
  return [{ upward, manifestKeys: manifestKeys.modules }];
}

function ofUv(words: readonly string[]): readonly Reads[] {
  const at = words.findIndex((word) => word === 'run' || word === 'tool');
  if (at === -1) return [];
  const rest = words.slice(at + 1);
  const inner = pythonAmong(rest);
  if (words[at] === 'tool') return [{ upward: files.uv }, ...inner];
  const module = rest.findIndex((word) => word === '-m' || word === '--module');
  return [
    { upward: [...files.uvProject, ...venvPrograms(rest)] },
    ...inner,
    ...(module === -1 ? [] : ofModule(rest[module + 1])),
  ];
}

function venvPrograms(words: readonly string[]): readonly string[] {
  return namesIn(words).flatMap((name) => [`.venv/bin/${name}`, `.venv/Scripts/${name}.exe`]);
}

/** Compose starts what a file of the folder says, with the folders of this machine that it names. */
function ofDocker(words: readonly string[]): readonly Reads[] {
  const command = words.find(
    (word, at) => !word.startsWith('-') && !dockerTaking.test(words[at - 1] ?? ''),
  );
  return command === 'compose' ? [{ upward: files.compose }] : [];
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
function ofPython(given: readonly string[]): readonly Reads[] {
  // With it, `py` chooses a version.
  const words = given.filter((word) => !word.startsWith('-V:'));
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
  const modules = [`${place}.py`, `${place}/__init__.py`, `${place}/__main__.py`];
  const here = parts.length === 0 ? [] : [`${parts[0]}/__init__.py`, ...modules];
  return [{ upward: files.pyenv, here, hasModules: true }];
}

/** The folders that switches, variables and `cd` name. */
function foldersIn(words: readonly string[]): readonly string[] {
  return words.flatMap((word, at) => {
    if (folderSwitch.test(word)) return words[at + 1] ?? [];
    return /^-C(.+)$/su.exec(word)?.[1] ?? [];
  });
}

/** Returns the part of a `package.json` that decides what runs; undefined if nothing in it does. */
export function decidingPart(text: string, keys: readonly string[]): string | undefined {
  const manifest = parsedJson(text);
  if (!isRecord(manifest)) return text;
  const part = keys.flatMap((key) => (Object.hasOwn(manifest, key) ? [[key, manifest[key]]] : []));
  // A `bin` that is a string is named after the package.
  return part.length === 0 ? undefined : JSON.stringify([manifest['name'], part]);
}
