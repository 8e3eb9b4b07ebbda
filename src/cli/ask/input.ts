/** Asks the user at a terminal for the inputs that settings need. Secret inputs are not echoed. */

import { printableLine } from '../../domain/data/printable.ts';
import type { AskForInput, InputRequest } from '../../domain/input.ts';
import type { CliSession } from '../command.ts';
import { createPrompt, type PromptOptions, type Terminal } from './terminal.ts';

// After three mistyped answers, a fourth attempt rarely helps.
const maxTries = 3;
const maxShownLength = 200;

/** Returns undefined when the user cannot be asked. */
export function createInputPrompt(
  session: Pick<CliSession, 'host' | 'output'>,
  options: PromptOptions,
): AskForInput | undefined {
  return createPrompt(session, options, undefined, ask);
}

async function ask(request: InputRequest, { say, read }: Terminal): Promise<string | undefined> {
  const { file, scope } = request.source;
  const name = printableLine(request.server, maxShownLength);
  say(`server ${name} needs the input "${request.id}" (from ${file ?? `${scope} settings`})`);
  if (request.description !== undefined) say(`  ${request.description}`);
  if (request.type === 'command') {
    say('  it runs an editor command, which is not possible here; make it a "promptString"');
    return undefined;
  }
  for (const [index, { label }] of (request.options ?? []).entries())
    say(`  ${index + 1}) ${label}`);
  for (let tries = 0; tries < maxTries; tries += 1) {
    const line = await read(questionOf(request), request.password);
    if (line === undefined) return undefined;
    const value = valueOf(line, request);
    if (value !== undefined || request.options === undefined) return value;
    say(`  enter a number from 1 to ${request.options.length}`);
  }
  return undefined;
}

function questionOf({ default: byDefault, password, options }: InputRequest): string {
  const hint = options === undefined ? (password ? 'not shown, ' : '') : 'number, ';
  const preset = password ? 'the default' : printableLine(byDefault ?? '', maxShownLength);
  const enter = byDefault === undefined ? 'Enter skips it' : `Enter for ${preset}`;
  return `  (${hint}${enter}) > `;
}

/** An empty line selects the default, if there is one. */
function valueOf(line: string, request: InputRequest): string | undefined {
  if (line === '') return request.default;
  if (request.options === undefined) return line;
  return (
    request.options[Number(line) - 1]?.value ??
    request.options.find(({ label, value }) => label === line || value === line)?.value
  );
}
