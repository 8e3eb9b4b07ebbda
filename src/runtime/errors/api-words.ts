/**
 * Writes the next steps of errors for a program: methods instead of commands. The command line uses
 * the runtime's own errors.
 */

import { TroupeError } from '../../domain/troupe-error.ts';
import type { Troupe } from '../troupe.ts';

const steps: readonly (readonly [RegExp, string])[] = [
  [/ \(--timeout\)/gu, ''],
  [/\(onQuestion, or troupe up and troupe questions\)/u, '(onQuestion)'],
  [/\bStart it again: troupe up\b/u, 'Create a new one.'],
  [/\bEnable it: troupe enable \S+/u, 'Enable it there.'],
  [/\btroupe enable (\S+)/u, 'enable $1 in its settings'],
  [/\btroupe (start|restart|stop) ([^\s,;]+)/u, "troupe.send({ type: 'server.$1', server: '$2' })"],
  [/\btroupe status ([^\s,;]+)/u, "troupe.status('$1')"],
  [/\btroupe status\b/u, 'troupe.snapshot()'],
  [/\btroupe (tools|resources|prompts)\b(?: [^\s,;]+)?/u, 'troupe.$1()'],
  [/\btroupe login ([^\s,;]+)/u, "troupe.login('$1')"],
  [/\btroupe approve [^\s,;:]+/u, 'decide with troupe.approvals() and troupe.send()'],
  [/\btroupe questions\b/u, 'troupe.questions()'],
  [/\btroupe answer ([^\s,;]+)/u, "troupe.answer('$1', answer)"],
];

/** Returns a message with methods in place of commands. */
export function apiWords(message: string): string {
  return steps.reduce((text, [command, method]) => text.replace(command, method), message);
}

/** Lets every method of a troupe, and of its views, throw and reject with errors that name methods. */
export function withApiWords<Methods extends Partial<Troupe>>(troupe: Methods): Methods {
  const methods = Object.entries(troupe).filter(
    (entry): entry is [string, (...args: readonly unknown[]) => unknown] =>
      typeof entry[1] === 'function',
  );
  const worded = methods.map(([name, method]) => [
    name,
    (...args: readonly unknown[]): unknown => {
      try {
        const result = method(...args);
        if (name === 'openClient' || name === 'view') return withApiWords(result as Troupe);
        return result instanceof Promise ? result.catch(throwInApiWords) : result;
      } catch (error) {
        return throwInApiWords(error);
      }
    },
  ]);
  return Object.assign(troupe, Object.fromEntries(worded));
}

/** The same error, because callers may compare it, or its cause, with another. */
function throwInApiWords(error: unknown): never {
  if (error instanceof TroupeError) {
    const { message, stack } = error;
    error.message = apiWords(message);
    if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
  }
  throw error;
}
