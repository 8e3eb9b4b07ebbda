/** Asks the person at the terminal whether a call may go out. Nobody is asked where there is none. */

import {
  type AskPermission,
  type PermissionAnswer,
  type PermissionRequest,
} from '../../domain/permission.ts';
import { printableLine, spelledOut, spelledOutWithin } from '../../policies/text/printable.ts';
import type { CliSession } from '../cli-session.ts';
import { readLine } from './input.ts';

export type CallQuestion = Pick<PermissionRequest, 'server' | 'tool' | 'arguments'> &
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
    const all = JSON.stringify(args);
    const part = spelledOutWithin(all, maxArgumentsLength);
    say(`  with ${part}`);
    const isWhole = part === spelledOut(all);
    const more = isWhole ? '' : 'a = show all arguments, ';
    const question = `  ${more}y = yes, t = always this tool, s = always this server, Enter = no > `;
    for (;;) {
      const line = await readLine(question, false, { host, signal, onInterrupt: () => undefined });
      const said = line?.trim().toLowerCase() ?? '';
      if (isWhole || said !== 'a') return answers[said] ?? 'deny';
      say(`  with ${spelledOut(all)}`);
    }
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
