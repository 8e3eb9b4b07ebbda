/**
 * Answers the questions of servers during a call of the command line: at its terminal, or else in another
 * one, with a command that is printed. The call goes on waiting until then.
 */

import { randomUUID } from 'node:crypto';
import type { Question, QuestionHandler } from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { defined } from '../../policies/defined.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/client.ts';
import { controlHandler } from '../control/commands.ts';
import { identityOf } from '../control/running-troupe.ts';
import type { ControlServer } from '../control/server.ts';
import { callSocketPath } from '../control/socket-path.ts';
import { answerHint, createQuestionPrompt, type OpenAddress, questionLines } from './question.ts';

/**
 * Handles the questions about a call that runs in the running troupe. Another client may answer first.
 * @returns the id to send with the call
 */
export function answerHere(
  session: CliSession,
  client: ControlClient,
  server: string,
  open: OpenAddress,
): string {
  const prompt = createQuestionPrompt(session, open);
  const requestId = randomUUID();
  const asking = new Map<string, AbortController>();
  const answer = async (question: Question): Promise<void> => {
    if (prompt === undefined || question.kind === 'sampling') return show(session, question);
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

function show({ launch, host, output }: CliSession, question: Question): void {
  const hint = answerHint(question, { launch, cwd: host.cwd });
  const lines = [...questionLines(question), `  answer: ${hint}`, '  waiting for the answer'];
  output.note(lines.join('\n'));
}

export interface CallQuestions {
  readonly onQuestion: QuestionHandler;
  close(): void;
}

/**
 * Handles the questions about a call of a troupe in this process. Without a terminal, it opens a socket for
 * `troupe answer` with the first question.
 */
export function createCallQuestions(
  session: CliSession,
  troupe: () => Troupe,
  open: OpenAddress,
): CallQuestions {
  const prompt = createQuestionPrompt(session, open);
  if (prompt !== undefined) return { onQuestion: prompt, close: () => undefined };
  let opening: Promise<ControlServer> | undefined;
  return {
    async onQuestion(question) {
      try {
        opening ??= openSocket(session, troupe());
        await opening;
      } catch (error) {
        const why = error instanceof TroupeError ? error.message : String(error);
        session.output.note(`declined a question of ${question.server}: ${why}`);
        return { action: 'decline' };
      }
      show(session, { ...question, id: `${process.pid}.${question.id}` });
      return undefined;
    },
    close() {
      opening?.then(
        (server) => server.close(),
        () => undefined,
      );
    },
  };
}

async function openSocket({ launch, host }: CliSession, troupe: Troupe): Promise<ControlServer> {
  // Loaded late: it needs Zod, which no other call should wait for.
  const { openControlServer } = await import('../control/server.ts');
  const run = controlHandler(troupe, identityOf(launch, host.version));
  return openControlServer(callSocketPath(launch, process.pid), (command, ...rest) => {
    if (command === 'identify' || command === 'questions' || command === 'answer')
      return run(command, ...rest);
    throw usageError('this is a single call, which only takes answers; run troupe up for more');
  });
}
