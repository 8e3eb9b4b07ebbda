import type { FormValue, Question, QuestionAnswer } from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';
import { argumentsFromWords } from '../tool-arguments.ts';

type Action = QuestionAnswer['action'];

const done: Readonly<Record<Action, string>> = {
  accept: 'answered',
  decline: 'declined',
  cancel: 'cancelled',
};

/** Defines `answer`: what a server of the running troupe asked, answered from anywhere. */
export const answerCommand: CommandDefinition = {
  usage: 'answer <id> [words...]',
  summary: 'answer what a server asks: accept, decline or cancel, and the fields as key=value',
  details:
    'Without accept, decline or cancel it is accepted. Values are read as the form wants them, and nothing that does not fit it leaves. ' +
    'An address is accepted when somebody has been there. troupe questions lists what is asked.',
  example: 'troupe answer q1 name=Ada',
  run: ({ launch, output }, [id = '', ...words]) =>
    withRunning(launch, async (client) => {
      const { questions } = await client.request('questions', {});
      const question = questions.find((each) => each.id === id);
      if (question === undefined) {
        const shown = printableLine(id, 20);
        throw new TroupeError(
          'INVALID_ARGUMENTS',
          `no question ${shown} waits for an answer; see troupe questions`,
        );
      }
      const answer = answerFrom(question, words);
      await client.request('answer', { id, ...answer });
      const { server } = question;
      output.document({ question: { id, server, action: answer.action } });
      output.lines([`${done[answer.action]} ${id} of ${server}`]);
      return 0;
    }),
};

/** @throws TroupeError `USAGE` or `INVALID_ARGUMENTS` that says what to write instead. */
function answerFrom(
  question: Question,
  words: readonly string[],
): { readonly action: Action; readonly content?: Record<string, FormValue> } {
  const [first = 'accept'] = words;
  const isNamed = first === 'accept' || first === 'decline' || first === 'cancel';
  const action: Action = isNamed ? first : 'accept';
  const fields = isNamed ? words.slice(1) : words;
  if (question.kind === 'form' && action === 'accept') {
    // What is missing may have a default, which the form knows.
    const content = argumentsFromWords(fields, { ...question.schema, required: [] });
    return { action, content: content as Record<string, FormValue> };
  }
  if (fields.length > 0)
    throw new TroupeError('USAGE', 'only the fields of a form are given as key=value');
  if (question.kind === 'sampling' && action === 'accept')
    throw new TroupeError(
      'USAGE',
      `a message of a model cannot be written here; troupe answer ${question.id} decline`,
    );
  return { action };
}
