/** Asks questions at a terminal, one at a time. */

import { createInterface } from 'node:readline';
import { printableLine } from '../../domain/data/printable.ts';
import type { CliHost } from '../cli-host.ts';
import type { CliSession } from '../command.ts';

export interface PromptOptions {
  /** Clears other output from the terminal; the returned function restores it. */
  readonly hold?: () => () => void;
  /** Called for Ctrl-C while a line is typed. Default: sends SIGINT to this process. */
  readonly onInterrupt?: () => void;
}

export interface Terminal {
  readonly say: (line: string) => void;
  /** Reads one line; undefined when the input ends or the question is withdrawn. */
  readonly read: (question: string, isHidden?: boolean) => Promise<string | undefined>;
}

/** Handles Ctrl-C as if no line were being typed. */
export function interruptThis(): void {
  process.kill(process.pid, 'SIGINT');
}

type Prompt<Question, Answer> = (
  question: Question,
  options: { readonly signal: AbortSignal },
) => Promise<Answer>;

/**
 * Wraps `ask` so that questions wait for each other.
 * @param withdrawn - the answer to a question whose signal fired before its turn
 * @returns undefined where the user cannot be asked: input or output is not a terminal, or `--json`
 */
export function createPrompt<Question, Answer>(
  { host, output }: Pick<CliSession, 'host' | 'output'>,
  { hold = () => () => undefined, onInterrupt = interruptThis }: PromptOptions,
  withdrawn: Answer,
  ask: (question: Question, terminal: Terminal) => Promise<Answer>,
): Prompt<Question, Answer> | undefined {
  const { stdin, stderr } = host;
  const isTerminal = 'isTTY' in stdin && stdin.isTTY === true && stderr.isTTY === true;
  if (!isTerminal || output.json) return undefined;
  let previous: Promise<unknown> = Promise.resolve();
  return (question, { signal }) => {
    const answer = previous.then(async () => {
      if (signal.aborted) return withdrawn;
      const release = hold();
      try {
        return await ask(question, {
          say: (line) => void stderr.write(`${line}\n`),
          read: (text, isHidden = false) => readLine(text, isHidden, host, signal, onInterrupt),
        });
      } finally {
        release();
      }
    });
    previous = answer.catch(() => undefined);
    return answer;
  };
}

/** Asks until the answer is one of `answers`, in lower case; '' for Enter. Undefined when the input ends. */
export async function readChoice(
  { say, read }: Terminal,
  question: string,
  answers: RegExp,
): Promise<string | undefined> {
  for (;;) {
    const line = (await read(question))?.trim().toLowerCase();
    if (line === undefined || line === '' || answers.test(line)) return line;
    say(`  answer with one of the letters in brackets, not "${printableLine(line, 100)}"`);
  }
}

function readLine(
  question: string,
  isHidden: boolean,
  { stdin, stderr }: CliHost,
  signal: AbortSignal,
  onInterrupt: () => void,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    // Without an output, nothing that is typed is shown.
    const output = isHidden ? undefined : stderr;
    if (isHidden) stderr.write(question);
    const lines = createInterface({ input: stdin, output, terminal: true, historySize: 0 });
    const leave = (): void => lines.close();
    let line: string | undefined;
    lines.once('line', (typed) => {
      line = typed;
      lines.close();
    });
    lines.once('SIGINT', () => {
      lines.close();
      onInterrupt();
    });
    lines.once('close', () => {
      signal.removeEventListener('abort', leave);
      stdin.pause();
      if (isHidden || line === undefined) stderr.write('\n');
      resolve(line);
    });
    signal.addEventListener('abort', leave, { once: true });
    if (!isHidden) lines.setPrompt(question);
    if (!isHidden) lines.prompt();
  });
}
