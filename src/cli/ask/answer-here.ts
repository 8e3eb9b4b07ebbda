/** The terminal of a call also answers what the server asks for it, while the troupe runs elsewhere. */

import { randomUUID } from 'node:crypto';

import type { Question } from '../../domain/question.ts';
import type { CliSession } from '../cli-session.ts';
import type { ControlClient } from '../control/client.ts';
import { createQuestionPrompt } from './question.ts';

/**
 * Puts what the server asks for this call to whoever sits here, if anybody does. Somebody else may be
 * quicker. Gives the name that the call then goes by.
 */
export function answerHere(session: CliSession, client: ControlClient): string | undefined {
  const prompt = createQuestionPrompt(session, {
    hold: () => () => undefined,
    onInterrupt: () => process.kill(process.pid, 'SIGINT'),
  });
  if (prompt === undefined) return undefined;
  const requestId = randomUUID();
  const open = new Map<string, AbortController>();
  const ask = async (question: Question): Promise<void> => {
    const controller = new AbortController();
    open.set(question.id, controller);
    const answer = await prompt(question, { signal: controller.signal });
    open.delete(question.id);
    if (answer === undefined || controller.signal.aborted) return;
    const { id } = question;
    const { action } = answer;
    const content = 'content' in answer ? answer.content : undefined;
    await client.request('answer', { id, action, ...(content === undefined ? {} : { content }) });
  };
  const follow = client.follow(['question.asked', 'question.settled'], (event) => {
    if (event.type === 'question.settled') open.get(event.id)?.abort();
    if (event.type !== 'question.asked' || event.question.requestId !== requestId) return;
    // Answered elsewhere meanwhile, or the call is over: then there is nothing to be said.
    ask(event.question).catch(() => undefined);
  });
  // The end of the troupe is told to the call itself.
  follow.catch(() => undefined);
  return requestId;
}
