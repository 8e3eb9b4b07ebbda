/** The guide as steps that a test can run: files to write, commands, and their expected output. */

export type GuideStep =
  | { readonly kind: 'write'; readonly file: string; readonly text: string }
  | { readonly kind: 'run'; readonly command: string; readonly printed: readonly string[] }
  /** Texts that `up` must log after the previous step. */
  | { readonly kind: 'wait'; readonly logged: readonly string[] }
  /** Ctrl-C in the terminal of `up`. */
  | { readonly kind: 'stop' };

/**
 * Reads the steps of a document, in order. A block of settings or code whose first
 * line is a comment with a name is a file; a block `console` holds commands behind `$`, each
 * followed by its output. The comments `<!-- after: a; b -->` and `<!-- stop -->` are for this test.
 */
export function stepsOf(guide: string): readonly GuideStep[] {
  const parts = guide.matchAll(
    /^```(jsonc|js|console)\n([\s\S]*?)^```$|^<!-- after: (.*) -->$|^<!-- (stop) -->$/gm,
  );
  return [...parts].flatMap(([, language, content = '', logged, stop]): readonly GuideStep[] => {
    if (stop !== undefined) return [{ kind: 'stop' }];
    if (logged !== undefined) return [{ kind: 'wait', logged: logged.split('; ') }];
    if (language === 'console') return commandsIn(content);
    const [, file] = /^\/\/ (\S+)\n/.exec(content) ?? [];
    return file === undefined ? [] : [{ kind: 'write', file, text: content }];
  });
}

function commandsIn(content: string): readonly GuideStep[] {
  return content
    .split(/^\$ /m)
    .slice(1)
    .map((session) => {
      const [command = '', ...printed] = session.trimEnd().split('\n');
      return { kind: 'run', command, printed };
    });
}

/** What differs between runs, apart from process numbers. */
const variable = [
  [/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`],
  [/^[\da-f]{12}$/, String.raw`[\da-f]{12}`],
  [/^\d+ MB$/, String.raw`\d+ MB`],
  // A minute and some seconds may be under a minute here: `1m 06s`.
  [/^\(?(?:\d+m )?\d+s$/, String.raw`\(?(?:\d+m )?\d+s`],
] as const;

/** A pattern for the output that ignores spaces and times and compares process numbers by identity. */
export interface ExpectedOutput {
  readonly pattern: RegExp;
  /** Process numbers in the guide, in the order of the pattern's groups. */
  readonly pids: readonly string[];
}

/** `known` maps process numbers in the guide to those of this run. */
export function expectedOutput(
  printed: readonly string[],
  known: ReadonlyMap<string, string>,
): ExpectedOutput {
  const pids: string[] = [];
  const lines = printed.map((line) => {
    if (line.trim() === '…') return '(?:.*\n)*?';
    const words = line.match(/\(?\d+m \d+s|\d+ MB|\S+/g) ?? [];
    return ` *${words.map((word) => patternOf(word, known, pids)).join(' +')} *\n`;
  });
  return { pattern: new RegExp(`^${lines.join('')}$`), pids };
}

function patternOf(word: string, known: ReadonlyMap<string, string>, pids: string[]): string {
  const [, pid, rest = ''] = /^(\d{4,})(,?)$/.exec(word) ?? [];
  if (pid !== undefined) {
    const real = known.get(pid);
    if (real !== undefined) return real + rest;
    if (pids.includes(pid)) return `\\${pids.indexOf(pid) + 1}${rest}`;
    pids.push(pid);
    return `(\\d+)${rest}`;
  }
  const [, pattern] = variable.find(([like]) => like.test(word)) ?? [];
  if (pattern !== undefined) return pattern;
  return word.split('…').map(escaped).join('.*');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}
