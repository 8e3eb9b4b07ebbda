/** Asks whether to do what was just shown. */

import { usageError } from '../../domain/user-errors.ts';
import type { CliSession } from '../command.ts';
import { createPrompt, readChoice } from './terminal.ts';

/** Whether a user sees our output and can answer: agents and scripts have no terminal. */
export function isAtTerminal({ host, output }: CliSession): boolean {
  const { stdin, stderr } = host;
  return 'isTTY' in stdin && stdin.isTTY === true && stderr.isTTY === true && output.interactive;
}

/**
 * Returns whether the user agrees. Ctrl-C and the end of the input count as no.
 * @throws TroupeError `USAGE` without a terminal
 */
export async function isAgreed(session: CliSession, question: string): Promise<boolean> {
  const ignoreInterrupt = { onInterrupt: () => undefined };
  const prompt = isAtTerminal(session)
    ? createPrompt(session, ignoreInterrupt, '', (text: string, terminal) =>
        readChoice(terminal, text, /^(?:y(?:es)?|no?)$/u),
      )
    : undefined;
  if (prompt === undefined)
    throw usageError('cannot ask without a terminal; use --yes to write this');
  const answer = await prompt(`${question} [y/N] `, new AbortController());
  return answer?.startsWith('y') ?? false;
}
