/**
 * Asks a person at a terminal for the inputs of settings, one after the other.
 * What is typed for a secret one is not shown. Nobody is asked where input or
 * output is no terminal.
 */

import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { AskForInput, InputRequest } from '../../domain/input.ts';
import { printableLine } from '../../policies/text/printable.ts';
import type { CliHost } from '../cli-host.ts';
import type { CliSession } from '../cli-session.ts';

export interface PromptPorts {
  /** Takes everything else off the terminal; the function that is returned puts it back. */
  readonly hold: () => () => void;
  /** Ctrl-C, which reaches nobody else while a line is typed. */
  readonly onInterrupt: () => void;
}

// Who mistyped three times does not know the answer.
const maxTries = 3;
const maxShownLength = 200;

/** Undefined when nobody can be asked. */
export function createInputPrompt(
  { host, output }: Pick<CliSession, 'host' | 'output'>,
  ports: PromptPorts,
): AskForInput | undefined {
  if (!isAtTerminal({ host, output })) return undefined;
  let before: Promise<unknown> = Promise.resolve();
  return (request, { signal }) => {
    const answer = before.then(async () => {
      if (signal.aborted) return undefined;
      const release = ports.hold();
      try {
        return await ask(request, host, signal, ports.onInterrupt);
      } finally {
        release();
      }
    });
    before = answer.catch(() => undefined);
    return answer;
  };
}

/** Somebody reads what is asked and can type an answer. */
export function isAtTerminal({ host, output }: Pick<CliSession, 'host' | 'output'>): boolean {
  const { stdin, stderr } = host;
  return 'isTTY' in stdin && stdin.isTTY === true && stderr.isTTY === true && !output.json;
}

async function ask(
  request: InputRequest,
  host: CliHost,
  signal: AbortSignal,
  onInterrupt: () => void,
): Promise<string | undefined> {
  const { stderr } = host;
  const say = (line: string): void => void stderr.write(`${line}\n`);
  const { file, scope } = request.source;
  const name = printableLine(request.server, maxShownLength);
  say(`Server ${name} needs the input "${request.id}" (of ${file ?? `${scope} settings`})`);
  if (request.description !== undefined) say(`  ${request.description}`);
  if (request.type === 'command') {
    say('  It is a command of an editor, which cannot be run here; make it a "promptString".');
    return undefined;
  }
  for (const [index, { label }] of (request.options ?? []).entries())
    say(`  ${index + 1}) ${label}`);
  for (let tries = 0; tries < maxTries; tries += 1) {
    const line = await readLine(questionOf(request), request.password, {
      host,
      signal,
      onInterrupt,
    });
    if (line === undefined) return undefined;
    const value = valueOf(line, request);
    if (value !== undefined || request.options === undefined) return value;
    say(`  Write a number from 1 to ${request.options.length}.`);
  }
  return undefined;
}

function questionOf({ default: byDefault, password, options }: InputRequest): string {
  const hint = options === undefined ? (password ? 'not shown' : '') : 'number';
  const preset =
    byDefault === undefined || password
      ? ''
      : `Enter for ${printableLine(byDefault, maxShownLength)}`;
  const words = [hint, preset].filter((word) => word !== '').join(', ');
  return words === '' ? '  > ' : `  (${words}) > `;
}

/** Nothing typed and no default: it is not given. */
function valueOf(line: string, request: InputRequest): string | undefined {
  if (line === '') return request.default;
  if (request.options === undefined) return line;
  return (
    request.options[Number(line) - 1]?.value ??
    request.options.find(({ label, value }) => label === line || value === line)?.value
  );
}

export interface LinePorts {
  readonly host: CliHost;
  readonly signal: AbortSignal;
  readonly onInterrupt: () => void;
}

/** One line that is typed; undefined when the input ends or nobody wants it any more. */
export function readLine(
  question: string,
  isHidden: boolean,
  { host: { stdin, stderr }, signal, onInterrupt }: LinePorts,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The question itself is written by us, so that nothing that is typed need pass.
    const echo = new Writable({
      write(chunk: Buffer, _encoding, done) {
        if (!isHidden) stderr.write(chunk);
        done();
      },
    });
    if (isHidden) stderr.write(question);
    const lines = createInterface({ input: stdin, output: echo, terminal: true, historySize: 0 });
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
