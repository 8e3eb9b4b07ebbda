/** Whether a call may go out, as a form for the person at the client that made it. */

import {
  type PermissionAnswer,
  type PermissionRequest,
  permissionAnswers,
} from '../domain/permission.ts';
import type { Question, QuestionAnswer } from '../domain/question.ts';
import { printableLine, spelledOutWithin } from '../policies/text/printable.ts';

// Enough to recognize a name or a description.
const maxShownLength = 400;
// A page of text. A form cannot show more on demand, so it states how much is missing.
const maxArgumentsLength = 4_000;
const field = 'decision';

/** A call has one such question at a time, so this name does. */
const id = 'permission';

export function permissionQuestion(request: PermissionRequest, askedAt: string): Question {
  const { server, tool, title, description, arguments: args } = request;
  const shown = (text: string): string => printableLine(text, maxShownLength);
  const withArguments = spelledOutWithin(JSON.stringify(args), maxArgumentsLength);
  const lines = [
    `May ${shown(tool)} of ${shown(server)} be called?`,
    ...(title === undefined ? [] : [`It is called: ${shown(title)}`]),
    ...(description === undefined ? [] : [`It says: ${shown(description)}`]),
    `With: ${withArguments}`,
    ...(withArguments.length > maxArgumentsLength
      ? ['Not all arguments are shown; deny the call unless you can see them elsewhere.']
      : []),
  ];
  const titles: Readonly<Record<PermissionAnswer, string>> = {
    allow: 'Allow once',
    allowTool: `Always allow ${shown(tool)}`,
    allowServer: `Always allow every tool of ${shown(server)}`,
    deny: 'Deny',
  };
  const choices = permissionAnswers.map((value) => ({ value, title: titles[value] }));
  return {
    kind: 'form',
    id,
    server,
    tool,
    message: lines.join('\n'),
    fields: [{ name: field, isRequired: true, field: { type: 'choice', choices } }],
    schema: {
      type: 'object',
      properties: {
        [field]: {
          type: 'string',
          title: 'Decision',
          oneOf: choices.map(({ value, title: words }) => ({ const: value, title: words })),
        },
      },
      required: [field],
    },
    askedAt,
    // Whoever asks keeps the time.
    deadlineAt: askedAt,
  };
}

/** What is none of the choices is a no. */
export function permissionAnswerOf(answer: QuestionAnswer | undefined): PermissionAnswer {
  const said = answer?.action === 'accept' ? answer.content?.[field] : undefined;
  return permissionAnswers.find((known) => known === said) ?? 'deny';
}
