import { answerHint, questionLines } from '../ask/question.ts';
import type { CommandDefinition } from '../command.ts';
import { askRunning } from '../control/running-troupe.ts';

/** `questions`: lists the open questions of servers. */
export const questionsCommand: CommandDefinition = {
  usage: 'questions',
  summary: 'list the open questions of servers',
  details:
    'A server may ask you to fill in a form or to open a link. A question is cancelled after two minutes, unless the settings say otherwise.',
  example: 'troupe questions',
  async run({ launch, output }) {
    const { questions } = await askRunning(launch, 'questions', {});
    output.document({ questions });
    if (questions.length === 0) output.lines(['no open questions']);
    output.lines(questions.flatMap((question) => [...questionLines(question), '']));
    output.lines(questions.map((question) => `answer: ${answerHint(question)}`));
  },
};
