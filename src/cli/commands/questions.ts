import { answerHint, questionLines } from '../ask/question-lines.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';

/** `questions`: lists the open questions of servers. */
export const questionsCommand: CommandDefinition = {
  usage: 'questions',
  summary: 'list the open questions of servers',
  details:
    'A server may ask you to fill in a form or to open a link. A question is cancelled after two minutes, unless the settings say otherwise.',
  example: 'troupe questions',
  run: ({ launch, output }) =>
    withRunning(launch, async (client) => {
      const { questions } = await client.request('questions', {});
      output.document({ questions });
      if (questions.length === 0) output.lines(['no open questions']);
      output.lines(questions.flatMap((question) => [...questionLines(question), '']));
      output.lines(questions.map((question) => `answer: ${answerHint(question)}`));
      return 0;
    }),
};
