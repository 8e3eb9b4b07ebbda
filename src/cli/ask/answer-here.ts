/**
 * Answers the questions of servers during a call that runs in the running troupe: at this terminal, or else in
 * another one, with a command that is printed. The call goes on waiting until then.
 */

import { randomUUID } from 'node:crypto';
import { defined } from '../../domain/data/defined.ts';
import type { Question, QuestionHandler } from '../../domain/question.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';

interface Asking {
  readonly prompt: QuestionHandler | undefined;
  readonly note: (question: Question) => void;
}

/**
 * Handles the questions about a call that runs in the running troupe. Another client may answer first.
 * @returns the id to send with the call
 */
export function answerHere(
  session: CliSession,
  client: ControlClient,
  server: string,
  open: (address: string) => Promise<boolean>,
): string {
  let loading: Promise<Asking> | undefined;
  const requestId = randomUUID();
  const asking = new Map<string, AbortController>();
  const answer = async (question: Question): Promise<void> => {
    loading ??= loadAsking(session, open);
    const { prompt, note } = await loading;
    if (prompt === undefined || question.kind === 'sampling') return note(question);
    const controller = new AbortController();
    const { id } = question;
    asking.set(id, controller);
    const given = await prompt(question, { signal: controller.signal });
    asking.delete(id);
    if (given === undefined || controller.signal.aborted) return;
    const content = 'content' in given ? given.content : undefined;
    await client.request('answer', defined({ id, action: given.action, content }));
  };
  // A question that names no call may be about this one.
  const isMine = ({ requestId: of, tool, ...question }: Question): boolean =>
    of === undefined ? tool === undefined && question.server === server : of === requestId;
  const follow = client.follow(['question.asked', 'question.settled'], (event) => {
    if (event.type === 'question.settled') asking.get(event.id)?.abort();
    if (event.type !== 'question.asked' || !isMine(event.question)) return;
    // It fails when another client has answered meanwhile or the call is over.
    answer(event.question).catch(() => undefined);
  });
  // The call itself reports that the troupe ended.
  follow.catch(() => undefined);
  return requestId;
}

/** Loaded with the first question: most calls have none. */
async function loadAsking(
  session: CliSession,
  open: (address: string) => Promise<boolean>,
): Promise<Asking> {
  const { createQuestionPrompt, noteQuestion } = await import('./question-prompt.ts');
  return {
    prompt: createQuestionPrompt(session, open),
    note: (question) => noteQuestion(session, question),
  };
}
