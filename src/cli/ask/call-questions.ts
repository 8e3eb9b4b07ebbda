/**
 * Answers the questions of servers during a call in this process: at its terminal, or else in another one,
 * with a command that is printed. The call goes on waiting until then.
 */

import type { QuestionHandler } from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import type { CliSession } from '../command.ts';
import { controlHandler } from '../control/commands.ts';
import { identityOf } from '../control/running-troupe.ts';
import type { ControlServer } from '../control/server.ts';
import { callSocketPath } from '../control/socket-path.ts';
import { createQuestionPrompt, noteQuestion, type OpenAddress } from './question-prompt.ts';

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
      noteQuestion(session, { ...question, id: `${process.pid}.${question.id}` });
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
