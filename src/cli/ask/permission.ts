/** Asks the user at the terminal whether a call is allowed. */

import { writeJson } from '../../domain/data/exact-json.ts';
import { printableLine, spelledOut, spelledOutWithin } from '../../domain/data/printable.ts';
import type { PermissionAnswer, PermissionRequest } from '../../domain/permission.ts';
import type { CliSession } from '../command.ts';
import { createPrompt, readChoice, type Terminal } from './terminal.ts';

type CallQuestion = Pick<PermissionRequest, 'server' | 'tool' | 'arguments'> &
  Partial<Pick<PermissionRequest, 'description'>>;

// Enough to recognize a name or a description.
const maxShownLength = 400;
// As much as fits a screen. Longer arguments are shown by both ends, and in full on demand.
const maxArgumentsLength = 1_600;

const answers: Readonly<Record<string, PermissionAnswer>> = {
  y: 'allow',
  t: 'allowTool',
  s: 'allowServer',
};

/** Returns undefined when the user cannot be asked. Ctrl-C denies the call. */
export function createPermissionPrompt(session: Pick<CliSession, 'host' | 'output'>) {
  return createPrompt(session, { onInterrupt: () => undefined }, 'deny', ask);
}

async function ask(question: CallQuestion, { say, read }: Terminal): Promise<PermissionAnswer> {
  const { server, tool, arguments: args, description } = question;
  const shown = (text: string): string => printableLine(text, maxShownLength);
  say(`Allow ${shown(server)} to run ${shown(tool)}?`);
  if (description !== undefined) say(`  description: ${shown(description)}`);
  const all = writeJson(args);
  const part = spelledOutWithin(all, maxArgumentsLength);
  say(`  arguments: ${part}`);
  const isWhole = part === spelledOut(all);
  const more = isWhole ? '' : 'a = show all arguments, ';
  for (;;) {
    const said = await readChoice(
      { say, read },
      `  [${more}y = yes, t = always this tool, s = always this server, Enter = no] > `,
      isWhole ? /^(?:y(?:es)?|no?|t|s)$/u : /^(?:y(?:es)?|no?|t|s|a)$/u,
    );
    if (said !== 'a') return answers[said?.charAt(0) ?? ''] ?? 'deny';
    say(`  arguments: ${spelledOut(all)}`);
  }
}
