/** Asks a client's user, by a form, whether a call may be sent. */

import { writeJson } from '../domain/data/exact-json.ts';
import { printableLine, spelledOutWithin } from '../domain/data/printable.ts';
import {
  type PermissionAnswer,
  type PermissionRequest,
  permissionAnswers,
} from '../domain/permission.ts';
import type { Question, QuestionAnswer } from '../domain/question.ts';

// Enough to recognize a name or a description.
const maxShownLength = 400;
// A page of text. A form cannot reveal more on demand, so it states how much is missing.
const maxArgumentsLength = 4_000;
const field = 'decision';

/** A call has at most one such question at a time. */
const id = 'permission';

export function permissionQuestion(request: PermissionRequest, askedAt: string): Question {
  const { server, tool, title, description, arguments: args } = request;
  const shown = (text: string): string => printableLine(text, maxShownLength);
  const withArguments = spelledOutWithin(writeJson(args), maxArgumentsLength);
  const lines = [
    `Allow ${shown(server)} to run ${shown(tool)}?`,
    ...(title === undefined ? [] : [`Title: ${shown(title)}`]),
    ...(description === undefined ? [] : [`Description: ${shown(description)}`]),
    `Arguments: ${withArguments}`,
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
    // The runtime enforces the deadline.
    deadlineAt: askedAt,
  };
}

/** Any answer other than one of the choices denies the call. */
export function permissionAnswerOf(answer: QuestionAnswer | undefined): PermissionAnswer {
  const said = answer?.action === 'accept' ? answer.content?.[field] : undefined;
  return permissionAnswers.find((known) => known === said) ?? 'deny';
}
