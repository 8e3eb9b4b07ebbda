import { answerHint, questionLines } from '../ask/question-lines.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';

/** Defines `questions`: what servers of the running troupe wait to be told. */
export const questionsCommand: CommandDefinition = {
  usage: 'questions',
  summary: 'list what servers ask and nobody has answered yet',
  details:
    'A server may want a form filled in or an address visited before it goes on. Each question waits two minutes, unless the settings say otherwise, and is then cancelled.',
  example: 'troupe questions',
  run: ({ launch, output }) =>
    withRunning(launch, async (client) => {
      const { questions } = await client.request('questions', {});
      output.document({ questions });
      if (questions.length === 0) output.lines(['no server asks anything']);
      output.lines(questions.flatMap((question) => [...questionLines(question), '']));
      output.lines(questions.map((question) => `answer: ${answerHint(question)}`));
      return 0;
    }),
};
