/** The open questions of servers, while the page follows a running troupe. */

import { useEffect } from 'preact/hooks';
import type { Question } from '../../../src/domain/question.ts';
import { command } from './api.ts';
import { canAct, change, current, usePage } from './store.ts';

// A server's status names only its first question, so others are found by asking again.
const askingPauseMs = 2_000;
// A status may name a more urgent step instead.
const quietPauseMs = 10_000;
const answerCommand = 'troupe answer ';

/** Keeps the page's list of questions up to date. */
export function useQuestions(): readonly Question[] {
  const canAnswer = usePage(canAct);
  const asking = usePage((state) => (state.revision, stepsIn(state.live.servers.values())));
  useEffect(() => {
    if (!canAnswer) {
      if (current().questions.length > 0) change({ questions: [] });
      return undefined;
    }
    void readQuestions();
    const pauseMs = asking === '' ? quietPauseMs : askingPauseMs;
    const timer = setInterval(() => void readQuestions(), pauseMs);
    return () => clearInterval(timer);
  }, [canAnswer, asking]);
  return usePage((state) => state.questions);
}

let readCount = 0;

export async function readQuestions(): Promise<void> {
  readCount += 1;
  const own = readCount;
  try {
    const { questions } = await command<{ questions: readonly Question[] }>('questions');
    // A later request, or an answer, made this list old.
    if (own !== readCount) return;
    if (questions.length > 0 || current().questions.length > 0) change({ questions });
  } catch {
    // The list is read again soon; the banner shows a lost connection.
  }
}

/** Removes a question that was answered, and closes the dialog after the last one. */
export function forgetQuestion(id: string): void {
  readCount += 1;
  const questions = current().questions.filter((each) => each.id !== id);
  change({ questions, ...(questions.length === 0 && { dialog: undefined }) });
}

/** The commands that answer the first question of each server; a new one means a new question. */
function stepsIn(servers: Iterable<{ readonly action?: string }>): string {
  return [...servers].flatMap(({ action }) => (isAnswer(action) ? [action] : [])).join();
}

function isAnswer(action: string | undefined): action is string {
  return action?.startsWith(answerCommand) === true;
}
