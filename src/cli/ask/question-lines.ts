/** Prints a server's question: who asks, what for, and how to answer. */

import type { FormField, NamedField, Question } from '../../domain/question.ts';
import { printableLine, quotedWord } from '../../policies/text/printable.ts';

const nameLength = 100;
const wordsLength = 500;

/** Everything the user needs to answer it. */
export function questionLines(question: Question): readonly string[] {
  const { id, server, tool } = question;
  const whose = tool === undefined ? '' : `, while ${printableLine(tool, nameLength)} runs`;
  const until = question.deadlineAt.slice(11, 19);
  return [
    `${id}: ${printableLine(server, nameLength)} asks${whose} (until ${until} UTC)`,
    ...question.message.split('\n').map((line) => `  ${line}`),
    ...detailLines(question),
  ];
}

function detailLines(question: Question): readonly string[] {
  switch (question.kind) {
    case 'form':
      return question.fields.map((field) => `  ${fieldLine(field)}`);
    case 'url':
      // Never cut: the user must see where it leads.
      return [`  open it if you trust it: ${question.url}`];
    case 'sampling':
      return [`  it asks a model for a message of at most ${question.sampling.maxTokens} tokens`];
  }
}

/** One field of a form: name, type and purpose. */
export function fieldLine({ name, isRequired, field }: NamedField): string {
  const words = field.title ?? field.description;
  const purpose = words === undefined ? '' : `: ${printableLine(words, wordsLength)}`;
  const facts = [takes(field), isRequired ? 'required' : 'optional', ...defaultOf(field)];
  return `${name} (${facts.join(', ')})${purpose}`;
}

/** What a field accepts. */
function takes(field: FormField): string {
  switch (field.type) {
    case 'string':
      return field.format ?? 'text';
    case 'number':
      return 'number';
    case 'integer':
      return 'whole number';
    case 'boolean':
      return 'true or false';
    case 'choice':
      return `one of ${namesOf(field.choices)}`;
    case 'choices':
      return `any of ${namesOf(field.choices)}`;
  }
}

function namesOf(choices: readonly { readonly value: string; readonly title: string }[]): string {
  return choices
    .map(({ value, title }) => (value === title ? value : `${value} = ${title}`))
    .join(', ');
}

function defaultOf({ default: preset }: FormField): readonly string[] {
  return preset === undefined ? [] : [`default ${printableLine(String(preset), nameLength)}`];
}

/** The command that answers it. */
export function answerHint({ id, ...question }: Question): string {
  if (question.kind !== 'form') return `troupe answer ${id}, or troupe answer ${id} decline`;
  const words = question.fields
    .filter(({ isRequired, field }) => isRequired && field.default === undefined)
    .map(({ name }) => ` ${/^[\w.-]+$/u.test(name) ? name : quotedWord(name)}=…`);
  return `troupe answer ${id}${words.join('')}, or troupe answer ${id} decline`;
}
