/** Recognizes programs that download what they run, such as `npx`, `uvx` and `docker run`. */

export type Ecosystem = 'npm' | 'python' | 'image';

export interface PackageRunner {
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
const runners: readonly PackageRunner[] = [
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

/** Returns the runner that a command line uses and the words after it; undefined if it uses none. */
export function packageRunnerOf(
  command: string,
  args: readonly string[],
): { readonly runner: PackageRunner; readonly args: readonly string[] } | undefined {
  const line = [programOf(command), ...args];
  const [program, flag, ...rest] = line;
  const words = program === 'cmd' && flag?.toLowerCase() === '/c' ? rest : line;
  const runner = runners.find(({ words: first }) => first.every((word, at) => words[at] === word));
  return runner && { runner, args: words.slice(runner.words.length) };
}

/** Returns a program's name without its folder and ending. */
export function programOf(command: string): string {
  return command.replace(/^.*[/\\]/su, '').replace(/\.(?:cmd|exe|bat|ps1)$/iu, '');
}
