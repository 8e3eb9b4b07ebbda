/** Tells which words of a local server's entry mean a file of the folder in which its process starts. */

import type { StdioSpec } from '../../domain/server-spec.ts';
import { folderReadsOf } from '../../policies/approvals/folder-code.ts';
import { packageRunnerOf, programOf } from '../../policies/approvals/package-runner.ts';
import { packagesIn } from '../../policies/approvals/unpinned-package.ts';

// The first word that is no switch is the program that they run, whatever it is called.
const interpreters =
  /^(?:node|bun|deno|tsx|ts-node|python[\d.]*|pypy[\d.]*|py|ruby|php|perl|lua|java|dotnet|rscript|(?:ba|da|z|k)?sh|fish|pwsh|powershell)$/iu;

/**
 * Returns whether a server may be another one when it starts in another folder. A plain word counts as a value and not
 * as a path, except for the program of an interpreter; and a package runner's package is the same everywhere if it is
 * named and not a path.
 */
export function dependsOnFolder(spec: StdioSpec): boolean {
  const { command, args, env } = spec;
  const used = packageRunnerOf(command, args);
  if (mayBePath(command) && /[\\/]/u.test(command)) return true;
  if (Object.values(env).some(mayBePath)) return true;
  if (used === undefined) return runsFolder(command, args) || args.some(mayBePath);
  if (used.runner.of === 'image') return argsHere(spec).some(mayBePath);
  const packages = packagesIn(used.args, used.runner);
  return used.args.some((word) => !isNamed(word, packages) && mayBePath(word));
}

/** The arguments without those after an image, which are read in the container. */
export function argsHere({ command, args }: StdioSpec): readonly string[] {
  const used = packageRunnerOf(command, args);
  if (used?.runner.of !== 'image') return args;
  const packages = packagesIn(used.args, used.runner);
  const end = used.args.findIndex((word) => packages.includes(word));
  return end === -1 ? args : args.slice(0, end - used.args.length);
}

/** Whether a command runs what its folder holds, such as a Python module or a script. */
function runsFolder(command: string, args: readonly string[]): boolean {
  if (folderReadsOf(command, args) !== undefined) return true;
  const script = args.find((word) => !word.startsWith('-'));
  return (
    script !== undefined && interpreters.test(programOf(command)) && !/^(?:[\\/]|\w:)/u.test(script)
  );
}

function isNamed(word: string, packages: readonly string[]): boolean {
  const [, name = ''] = /^(?:--?[\w-]+=)?(.*)$/su.exec(word) ?? [];
  return packages.includes(name) && /^(?:@[\w.~-]+\/)?[\w~][\w.~-]*(?:[@=<>!~[].*)?$/u.test(name);
}

/** Whether a string may hold a relative path: `./x`, `--root=../x`, `dist/index.js`, `server.js`, `.env`. */
function mayBePath(text: string): boolean {
  return text
    .replace(
      /\$\{[^${}]*?(?::-([^${}]*))?\}/gu,
      (_, fallback: string | undefined) => fallback ?? '/',
    )
    .replace(/\b[a-z][\w+.-]{0,20}:\/\/[^\s,;]*/giu, '')
    .split(/[:;,=]/u)
    .some((part) => /^(?![\\/~@-])(?:\.\.?$|.*[\\/]|\.\w|.*\.[a-z]\w{0,9}$)/isu.test(part));
}

/** The script that an interpreter runs, as the position of its argument; -1 without one. */
export function scriptAt(command: string, args: readonly string[]): number {
  if (!interpreters.test(programOf(command))) return -1;
  const at = args.findIndex(
    (word, index) =>
      !/^-|^run$/u.test(word) &&
      !/^(?:-[rIWX]|--(?:require|import|loader|title))$/u.test(args[index - 1] ?? ''),
  );
  // Code or a module follows, perhaps behind other letters, as in `bash -lc`.
  return /^-(?:[a-z]*[mcep]|-eval|-print|command)$/iu.test(args[at - 1] ?? '') ? -1 : at;
}
