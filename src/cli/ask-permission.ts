/** Asks the person at the terminal whether a call may go out. Nobody is asked where there is none. */

import {
  type AskPermission,
  type PermissionAnswer,
  type PermissionRequest,
} from '../domain/permission.ts';
import { printableLine } from '../policies/printable.ts';
import { readLine } from './ask-input.ts';
import type { CliSession } from './cli-session.ts';

export type CallQuestion = Pick<PermissionRequest, 'server' | 'tool' | 'arguments'> &
  Partial<Pick<PermissionRequest, 'description'>>;

// As much of the arguments as fits a screen; whoever called has written them.
const maxShownLength = 400;

const answers: Readonly<Record<string, PermissionAnswer>> = {
  y: 'allow',
  t: 'allowTool',
  s: 'allowServer',
};

/** Undefined when nobody can be asked. */
export function createPermissionPrompt({
  host,
  output,
}: Pick<CliSession, 'host' | 'output'>):
  | ((question: CallQuestion, signal: AbortSignal) => Promise<PermissionAnswer>)
  | undefined {
  const { stdin, stderr } = host;
  const isTerminal = 'isTTY' in stdin && stdin.isTTY === true && stderr.isTTY === true;
  if (!isTerminal || output.json) return undefined;
  return async ({ server, tool, arguments: args, description }, signal) => {
    const say = (line: string): void => void stderr.write(`${line}\n`);
    const shown = (text: string): string => printableLine(text, maxShownLength);
    say(`May ${shown(tool)} of ${shown(server)} be called?`);
    if (description !== undefined) say(`  it says: ${shown(description)}`);
    say(`  with ${shown(JSON.stringify(args))}`);
    const question = '  y = yes, t = always this tool, s = always this server, Enter = no > ';
    const line = await readLine(question, false, { host, signal, onInterrupt: () => undefined });
    return answers[line?.trim().toLowerCase() ?? ''] ?? 'deny';
  };
}

/** The same for a troupe in this process. */
export function askAtTerminal(session: Pick<CliSession, 'host' | 'output'>): {
  readonly askPermission?: AskPermission;
} {
  const prompt = createPermissionPrompt(session);
  if (prompt === undefined) return {};
  return { askPermission: (request, { signal }) => prompt(request, signal) };
}
