/** Finds packages without a fixed version in a command line, whose content may change later. */

type Ecosystem = 'npm' | 'python' | 'image';

interface Runner {
  /** The first words of the command line. */
  readonly words: readonly string[];
  readonly of: Ecosystem;
  /** Switches that name the package. */
  readonly naming?: readonly string[];
  /** Switches that take a value, which is not a package. */
  readonly taking?: readonly string[];
}

const npx = {
  of: 'npm',
  naming: ['-p', '--package'],
  taking: ['-c', '--call', '--registry'],
} as const;
const uvTaking = ['--with', '--python', '-p', '--index-url', '--index', '--directory'];
const runTaking = [
  ...['-e', '--env', '--env-file', '-v', '--volume', '--mount', '--name', '--network', '--net'],
  ...['-p', '--publish', '-u', '--user', '-w', '--workdir', '--entrypoint', '-l', '--label'],
  ...['--add-host', '--platform', '-m', '--memory', '--cpus', '--cap-add', '--cap-drop', '-h'],
  ...['--hostname', '--security-opt', '--tmpfs', '--gpus', '--ulimit', '--pull', '--device'],
];

// Longer prefixes come first.
const runners: readonly Runner[] = [
  { words: ['npx'], ...npx },
  { words: ['npm', 'exec'], ...npx },
  { words: ['npm', 'x'], ...npx },
  { words: ['pnpm', 'dlx'], ...npx },
  { words: ['pnpx'], ...npx },
  { words: ['yarn', 'dlx'], ...npx },
  { words: ['bun', 'x'], ...npx },
  { words: ['bunx'], ...npx },
  { words: ['uvx'], of: 'python', naming: ['--from'], taking: uvTaking },
  { words: ['uv', 'tool', 'run'], of: 'python', naming: ['--from'], taking: uvTaking },
  { words: ['pipx', 'run'], of: 'python', naming: ['--spec'], taking: ['--python', '--pip-args'] },
  { words: ['docker', 'run'], of: 'image', taking: runTaking },
  { words: ['docker', 'container', 'run'], of: 'image', taking: runTaking },
  { words: ['podman', 'run'], of: 'image', taking: runTaking },
];

/** Returns a sentence about each package or image without a fixed version. */
export function unpinnedPackages(command: string, args: readonly string[]): readonly string[] {
  const line = [programOf(command), ...args];
  const [program, flag, ...rest] = line;
  const words = program === 'cmd' && flag?.toLowerCase() === '/c' ? rest : line;
  const runner = runners.find(({ words: first }) => first.every((word, at) => words[at] === word));
  if (runner === undefined) return [];
  return packagesIn(words.slice(runner.words.length), runner)
    .filter((name) => !isPinned(name, runner.of))
    .map((name) => `"${name}" ${adviceFor[runner.of]}`);
}

const adviceFor: Readonly<Record<Ecosystem, string>> = {
  npm: 'has no exact version: what runs may change without notice; write name@1.2.3',
  python: 'has no exact version: what runs may change without notice; write name==1.2.3',
  image: 'has no fixed tag: what runs may change without notice; write name:1.2.3 or name@sha256:…',
};

function programOf(command: string): string {
  return command.replace(/^.*[/\\]/su, '').replace(/\.(?:cmd|exe|bat|ps1)$/iu, '');
}

/** Returns the packages given by switches, or else the first word that belongs to no switch. */
function packagesIn(
  words: readonly string[],
  { naming = [], taking = [] }: Runner,
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
