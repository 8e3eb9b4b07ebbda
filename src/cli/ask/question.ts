/** Shows servers' questions, and asks the user at a terminal for the answers. */

import { randomUUID } from 'node:crypto';
import type {
  FormField,
  FormValue,
  NamedField,
  Question,
  QuestionAnswer,
  QuestionHandler,
} from '../../domain/question.ts';
import { faultOf } from '../../policies/calls/form-answer.ts';
import { defined } from '../../policies/defined.ts';
import { printableLine, quotedWord } from '../../policies/text/printable.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/client.ts';
import { createPrompt, type PromptOptions, type Terminal } from './terminal.ts';

const nameLength = 100;
const wordsLength = 500;

// After three mistyped answers, a fourth attempt rarely helps.
const maxTries = 3;

const cancelled: QuestionAnswer = { action: 'cancel' };

/** Returns undefined when the user cannot be asked. Requests for a model's message are left open. */
export function createQuestionPrompt(
  session: Pick<CliSession, 'host' | 'output'>,
  options: PromptOptions = {},
): QuestionHandler | undefined {
  const prompt = createPrompt(session, options, cancelled, ask);
  return (
    prompt &&
    ((question, asking) => (question.kind === 'sampling' ? undefined : prompt(question, asking)))
  );
}

/**
 * Asks a server's questions about a call at the terminal that made the call, although the troupe runs in
 * another process. Another client may answer first.
 * @returns the id to send with the call; undefined when the user cannot be asked
 */
export function answerHere(session: CliSession, client: ControlClient): string | undefined {
  const prompt = createQuestionPrompt(session);
  if (prompt === undefined) return undefined;
  const requestId = randomUUID();
  const open = new Map<string, AbortController>();
  const answer = async (question: Question): Promise<void> => {
    const controller = new AbortController();
    const { id } = question;
    open.set(id, controller);
    const given = await prompt(question, { signal: controller.signal });
    open.delete(id);
    if (given === undefined || controller.signal.aborted) return;
    const content = 'content' in given ? given.content : undefined;
    await client.request('answer', defined({ id, action: given.action, content }));
  };
  const follow = client.follow(['question.asked', 'question.settled'], (event) => {
    if (event.type === 'question.settled') open.get(event.id)?.abort();
    if (event.type !== 'question.asked' || event.question.requestId !== requestId) return;
    // It fails when another client has answered meanwhile or the call is over.
    answer(event.question).catch(() => undefined);
  });
  // The call itself reports that the troupe ended.
  follow.catch(() => undefined);
  return requestId;
}

async function ask(question: Question, terminal: Terminal): Promise<QuestionAnswer> {
  for (const line of questionLines(question)) terminal.say(line);
  const wish = question.kind === 'url' ? 'done there, continue' : 'answer it';
  const choice = await terminal.read(`  ${wish}? [y/N] `);
  if (choice === undefined) return cancelled;
  if (!/^y(?:es)?$/iu.test(choice.trim())) return { action: 'decline' };
  return question.kind === 'form' ? fillIn(question.fields, terminal) : { action: 'accept' };
}

async function fillIn(fields: readonly NamedField[], terminal: Terminal): Promise<QuestionAnswer> {
  const content: [string, FormValue][] = [];
  for (const field of fields) {
    const value = await valueOf(field, terminal);
    if (value === undefined) return cancelled;
    if (value !== null) content.push([field.name, value]);
  }
  return { action: 'accept', content: Object.fromEntries(content) };
}

/** Resolves with null for an omitted field, and with undefined when the user gave up. */
async function valueOf(
  named: NamedField,
  { say, read }: Terminal,
): Promise<FormValue | null | undefined> {
  const { isRequired, field } = named;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const line = await read(`  ${fieldLine(named)} > `);
    if (line === undefined) return undefined;
    if (line === '' && (!isRequired || field.default !== undefined)) return null;
    const value = valueFrom(field, line.trim());
    const fault = faultOf(field, value);
    if (fault === undefined) return value;
    say(`  It ${fault}.`);
  }
  return undefined;
}

function valueFrom(field: FormField, text: string): FormValue {
  switch (field.type) {
    case 'number':
    case 'integer':
      return text === '' ? Number.NaN : Number(text);
    case 'boolean':
      if (/^(?:y(?:es)?|true)$/iu.test(text)) return true;
      return /^(?:no?|false)$/iu.test(text) ? false : text;
    case 'choices':
      return text.split(',').flatMap((each) => each.trim() || []);
    case 'choice':
    case 'string':
      return text;
  }
}

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
function fieldLine({ name, isRequired, field }: NamedField): string {
  const words = field.title ?? field.description;
  const purpose = words === undefined ? '' : `: ${printableLine(words, wordsLength)}`;
  const facts = [takes(field), isRequired ? 'required' : 'optional'];
  if (field.default !== undefined)
    facts.push(`default ${printableLine(String(field.default), nameLength)}`);
  return `${name} (${facts.join(', ')})${purpose}`;
}

/** The values that a field accepts. */
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

/** The command that answers it. */
export function answerHint({ id, ...question }: Question): string {
  if (question.kind !== 'form') return `troupe answer ${id}, or troupe answer ${id} decline`;
  const words = question.fields
    .filter(({ isRequired, field }) => isRequired && field.default === undefined)
    .map(({ name }) => ` ${/^[\w.-]+$/u.test(name) ? name : quotedWord(name)}=…`);
  return `troupe answer ${id}${words.join('')}, or troupe answer ${id} decline`;
}
