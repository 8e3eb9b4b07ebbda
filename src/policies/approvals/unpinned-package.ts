/** Finds packages without a fixed version in a command line, whose content may change later. */

import { type Ecosystem, type PackageRunner, packageRunnerOf } from './package-runner.ts';

/** Returns a sentence about each package or image without a fixed version. */
export function unpinnedPackages(command: string, args: readonly string[]): readonly string[] {
  const used = packageRunnerOf(command, args);
  if (used === undefined) return [];
  const { runner } = used;
  return packagesIn(used.args, runner)
    .filter((name) => !isPinned(name, runner.of))
    .map((name) => `"${name}" ${adviceFor[runner.of]}`);
}

const adviceFor: Readonly<Record<Ecosystem, string>> = {
  npm: 'has no exact version: what runs may change without notice; write name@1.2.3',
  python: 'has no exact version: what runs may change without notice; write name==1.2.3',
  image: 'has no fixed tag: what runs may change without notice; write name:1.2.3 or name@sha256:…',
};

/** Returns the packages given by switches, or else the first word that belongs to no switch. */
export function packagesIn(
  words: readonly string[],
  { naming = [], taking = [] }: PackageRunner,
): readonly string[] {
  const named: string[] = [];
  let before: 'naming' | 'taking' | undefined;
  for (const word of words) {
    if (before === 'naming') named.push(word);
    const isOfSwitch = before !== undefined;
    before = undefined;
    if (isOfSwitch) continue;
    if (!word.startsWith('-')) return named.length > 0 ? named : [word];
    const [name, value] = nameAndValue(word);
    if (naming.includes(name) && value !== undefined) named.push(value);
    else if (naming.includes(name)) before = 'naming';
    else if (taking.includes(name) && value === undefined) before = 'taking';
  }
  return named;
}

function nameAndValue(word: string): readonly [name: string, value?: string] {
  const at = word.indexOf('=');
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}

function isPinned(name: string, ecosystem: Ecosystem): boolean {
  if (/^git\+|^https?:|^github:/u.test(name)) return /[@#][0-9a-f]{40}(?:$|#)/u.test(name);
  switch (ecosystem) {
    case 'npm':
      // A local folder or archive has no version.
      return /^(?:\.{0,2}\/|file:)/u.test(name) || /.@v?\d+\.\d+\.\d+[\w.+-]*$/u.test(name);
    case 'python':
      return /^(?:\.{0,2}\/|file:)/u.test(name) || /.(?:===?|@)\d[\w.+!-]*$/u.test(name);
    case 'image':
      return /@sha256:[0-9a-f]{64}$/u.test(name) || /:(?!latest$)[\w][\w.-]*$/u.test(name);
  }
}
