import { printableLine } from '../../domain/data/printable.ts';
import type { FormValue, Question, QuestionAnswer } from '../../domain/question.ts';
import { argumentsError, usageError } from '../../domain/user-errors.ts';
import { answerHint, questionLines } from '../ask/question-prompt.ts';
import type { CommandDefinition } from '../command.ts';
import { type ControlClient, connectControl } from '../control/control-client.ts';
import { findRunning, withRunning } from '../control/running-troupe.ts';
import { callPids, callSocketPath } from '../control/socket-path.ts';
import type { Launch } from '../launch.ts';
import { argumentsFromWords } from '../tool-arguments.ts';

/** `questions`: lists the open questions of servers. */
export const questionsCommand: CommandDefinition = {
  usage: 'questions',
  summary: 'list the open questions of servers',
  details:
    'A server may ask you to fill in a form or to open a link. A question is cancelled after two minutes, unless the settings say otherwise. ' +
    'The questions of a troupe call that runs without troupe up have its pid before their id, as in 4711.q1.',
  example: 'troupe questions',
  async run({ launch, output }) {
    const questions = await allQuestions(launch);
    output.document({ questions });
    if (questions.length === 0) output.lines(['no open questions']);
    output.lines(questions.flatMap((question) => [...questionLines(question), '']));
    output.lines(questions.map((question) => `answer: ${answerHint(question)}`));
  },
};

type Action = QuestionAnswer['action'];

const done: Readonly<Record<Action, string>> = {
  accept: 'answered',
  decline: 'declined',
  cancel: 'cancelled',
};

/** `answer`: answers a question of a server from any terminal. */
export const answerCommand: CommandDefinition = {
  usage: 'answer <id> [words...]',
  summary: "answer a server's question: accept, decline or cancel, with fields as key=value",
  details:
    'The default is accept. Values are parsed and checked against the form before they are sent. ' +
    'Accept a link after you have opened it and finished there. troupe questions lists open questions.',
  example: 'troupe answer q1 name=Ada',
  run: ({ launch, output }, [id = '', ...words]) =>
    withAsking(launch, id, async (client, ownId) => {
      const { questions } = await client.request('questions', {});
      const question = questions.find((each) => each.id === ownId);
      if (question === undefined) {
        const shown = printableLine(id, 20);
        throw argumentsError(`there is no open question ${shown}; see troupe questions`);
      }
      const answer = answerFrom({ ...question, id }, words);
      await client.request('answer', { id: ownId, ...answer });
      const { server } = question;
      output.document({ question: { id, server, action: answer.action } });
      output.lines([`${done[answer.action]} ${id} of ${server}`]);
    }),
};

/** @throws TroupeError `USAGE` or `INVALID_ARGUMENTS` with the fix */
function answerFrom(
  question: Question,
  words: readonly string[],
): { readonly action: Action; readonly content?: Record<string, FormValue> } {
  const [first = 'accept'] = words;
  const isNamed = first === 'accept' || first === 'decline' || first === 'cancel';
  const action: Action = isNamed ? first : 'accept';
  const fields = isNamed ? words.slice(1) : words;
  if (question.kind === 'form' && action === 'accept') {
    // Missing fields may have defaults; the form checks that.
    const content = argumentsFromWords(fields, { ...question.schema, required: [] });
    return { action, content: content as Record<string, FormValue> };
  }
  if (fields.length > 0)
    throw usageError('this question has no form; leave out the key=value words');
  if (question.kind === 'sampling' && action === 'accept')
    throw usageError(
      `a model's message cannot be given here; run troupe answer ${question.id} decline`,
    );
  return { action };
}

/**
 * Returns all open questions. A single call's questions have its pid before their id.
 * @throws TroupeError `NOT_RUNNING` when there is neither a running troupe nor a question
 */
async function allQuestions(launch: Launch): Promise<readonly Question[]> {
  const ofCalls = (await Promise.all(callPids(launch).map((pid) => ofCall(launch, pid)))).flat();
  const running = ofCalls.length === 0 ? undefined : await findRunning(launch);
  running?.client.close();
  if (ofCalls.length > 0 && running === undefined) return ofCalls;
  const { questions } = await withRunning(launch, (client) => client.request('questions', {}));
  return [...questions, ...ofCalls];
}

async function ofCall(launch: Launch, pid: number): Promise<readonly Question[]> {
  const client = await connectControl(callSocketPath(launch, pid));
  try {
    const { questions = [] } = (await client?.request('questions', {})) ?? {};
    return questions.map((question) => ({ ...question, id: `${pid}.${question.id}` }));
  } catch {
    // The call ended meanwhile, and its questions with it.
    return [];
  } finally {
    client?.close();
  }
}

/**
 * Connects to the troupe that asks a question, by the id that `troupe questions` shows.
 * @throws TroupeError `INVALID_ARGUMENTS` for a call that no longer waits, or as `withRunning`
 */
async function withAsking<Result>(
  launch: Launch,
  id: string,
  use: (client: ControlClient, ownId: string) => Promise<Result>,
): Promise<Result> {
  const [, pid, ownId] = /^(\d{1,7})\.(q\d+)$/u.exec(id) ?? [];
  if (pid === undefined || ownId === undefined)
    return withRunning(launch, (client) => use(client, id));
  const client = await connectControl(callSocketPath(launch, Number(pid)));
  if (client === undefined)
    throw argumentsError(
      `no call with the pid ${pid} waits for an answer here; see troupe questions, or add the call's --project and --state-dir`,
    );
  try {
    return await use(client, ownId);
  } finally {
    client.close();
  }
}
