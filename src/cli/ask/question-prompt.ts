/** Shows servers' questions, and asks the user at a terminal for the answers. */

import { isJsonNumber, numberTextAt, setNumberText } from '../../domain/data/exact-json.ts';
import { printableLine, quotedWord } from '../../domain/data/printable.ts';
import type {
  FormChoice,
  FormField,
  FormValue,
  NamedField,
  NumberField,
  Question,
  QuestionAnswer,
  QuestionHandler,
} from '../../domain/question.ts';
import { faultOf } from '../../policies/calls/form-answer.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import type { CliSession } from '../command.ts';
import type { Launch } from '../launch.ts';
import {
  createPrompt,
  interruptThis,
  type PromptOptions,
  readChoice,
  type Terminal,
} from './terminal.ts';

const nameLength = 100;
const wordsLength = 500;

// After three mistyped answers, a fourth attempt rarely helps.
const maxTries = 3;

const cancelled: QuestionAnswer = { action: 'cancel' };

/**
 * Returns undefined when the user cannot be asked. Requests for a model's message are left open.
 *
 * @param open - opens an address in a browser, on request
 */
export function createQuestionPrompt(
  session: Pick<CliSession, 'host' | 'output'>,
  open: OpenAddress,
  options: PromptOptions = {},
): QuestionHandler | undefined {
  const { onInterrupt = interruptThis } = options;
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
    onInterrupt();
  };
  const prompt = createPrompt(
    session,
    { ...options, onInterrupt: interrupt },
    cancelled,
    (question: Question, terminal) => ask(question, terminal, open),
  );
  if (prompt === undefined) return undefined;
  return async (question, asking) => {
    if (question.kind === 'sampling') return undefined;
    const answer = await prompt(question, asking);
    // Ctrl-C ends the call: an answer could reach the server first, which would then finish it.
    if (isInterrupted) await aborted(asking.signal);
    return answer;
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export type OpenAddress = (address: string) => Promise<boolean>;

async function ask(
  question: Question,
  terminal: Terminal,
  open: OpenAddress,
): Promise<QuestionAnswer> {
  for (const line of questionLines(question)) terminal.say(line);
  const isAddress = question.kind === 'url';
  const wish = isAddress
    ? 'done there, continue? [y/N, o = open it in the browser]'
    : 'answer it? [y/N]';
  for (;;) {
    const answers = isAddress ? /^(?:y(?:es)?|no?|o)$/u : /^(?:y(?:es)?|no?)$/u;
    const choice = await readChoice(terminal, `  ${wish} `, answers);
    if (choice === undefined) return cancelled;
    if (isAddress && choice === 'o') {
      if (!(await open(question.url)))
        terminal.say('  cannot start a browser; open the address yourself');
      continue;
    }
    if (!choice.startsWith('y')) return { action: 'decline' };
    return question.kind === 'form' ? fillIn(question.fields, terminal) : { action: 'accept' };
  }
}

async function fillIn(fields: readonly NamedField[], terminal: Terminal): Promise<QuestionAnswer> {
  const answers: [string, Answer][] = [];
  for (const field of fields) {
    const answer = await answerTo(field, terminal);
    if (answer === undefined) return cancelled;
    if (answer !== null) answers.push([field.name, answer]);
  }
  const content = Object.fromEntries(answers.map(([name, { value }]) => [name, value]));
  for (const [name, { typed }] of answers) setNumberText(content, name, typed);
  return { action: 'accept', content };
}

interface Answer {
  readonly value: FormValue;
  readonly typed: string;
}

/** Resolves with null for an omitted field, and with undefined when the user gave up. */
async function answerTo(
  named: NamedField,
  { say, read }: Terminal,
): Promise<Answer | null | undefined> {
  const { isRequired, field } = named;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const line = await read(`  ${fieldLine(named)} > `);
    if (line === undefined) return undefined;
    if (line === '' && (!isRequired || field.default !== undefined)) return null;
    const typed = line.trim();
    const value = valueFrom(field, typed);
    const fault = faultOf(field, value, typed);
    if (fault === undefined) return { value, typed };
    say(`  It ${fault}.`);
  }
  say(`  cancelled after ${maxTries} invalid answers`);
  return undefined;
}

function valueFrom(field: FormField, text: string): FormValue {
  switch (field.type) {
    case 'number':
    case 'integer':
      return isJsonNumber(text) ? Number(text) : Number.NaN;
    case 'boolean':
      if (/^(?:y(?:es)?|true)$/iu.test(text)) return true;
      return /^(?:no?|false)$/iu.test(text) ? false : text;
    case 'choices':
      return text.split(',').flatMap((each) => chosen(field.choices, each.trim()) || []);
    case 'choice':
      return chosen(field.choices, text);
    case 'string':
      return text;
  }
}

/** Choices can be typed by their value or by the title that is shown. */
function chosen(choices: readonly FormChoice[], text: string): string {
  const typed = text.toLowerCase();
  const choice =
    choices.find(({ value }) => value === text) ??
    choices.find(({ value, title }) => [value, title].some((each) => each.toLowerCase() === typed));
  return choice?.value ?? text;
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
    facts.push(
      `default ${printableLine(numberTextAt(field, 'default') ?? String(field.default), nameLength)}`,
    );
  return `${name} (${facts.join(', ')})${purpose}`;
}

/** The values that a field accepts. */
function takes(field: FormField): string {
  switch (field.type) {
    case 'string':
      return field.format ?? 'text';
    case 'number':
      return `number${rangeOf(field)}`;
    case 'integer':
      return `whole number${rangeOf(field)}`;
    case 'boolean':
      return 'true or false';
    case 'choice':
      return `one of ${namesOf(field.choices)}`;
    case 'choices':
      return `any of ${namesOf(field.choices)}`;
  }
}

function rangeOf({ minimum, maximum }: NumberField): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

function namesOf(choices: readonly FormChoice[]): string {
  return choices
    .map(({ value, title }) => (value === title ? value : `${value} = ${title}`))
    .join(', ');
}

/** Where the command is meant to be typed. */
interface TypedAt {
  readonly launch: Pick<Launch, 'projectRoot' | 'stateFolder' | 'stateFolderGiven'>;
  readonly cwd: string;
}

/** The command that answers it. */
export function answerHint({ id, ...question }: Question, at?: TypedAt): string {
  const decline = commandOf(id, ['decline'], at);
  if (question.kind === 'sampling') return decline;
  const fields = question.kind === 'form' ? question.fields : [];
  const words = fields
    .filter(({ isRequired, field }) => isRequired && field.default === undefined)
    .map(({ name }) => `${/^[\w.-]+$/u.test(name) ? name : quotedWord(name)}=…`);
  return `${commandOf(id, words, at)}, or ${decline}`;
}

function commandOf(id: string, words: readonly string[], at: TypedAt | undefined): string {
  const { projectRoot, stateFolder, stateFolderGiven } = at?.launch ?? {};
  const flags = [
    ...(projectRoot !== undefined && projectRoot !== at?.cwd ? ['--project', projectRoot] : []),
    ...(stateFolder !== undefined && stateFolderGiven ? ['--state-dir', stateFolder] : []),
  ];
  const places = flags.map((flag) => quotedFor('shell', flag));
  return ['troupe answer', id, ...words, ...places].join(' ');
}

/** Prints a question, and the command that answers it. */
export function noteQuestion({ launch, host, output }: CliSession, question: Question): void {
  const hint = answerHint(question, { launch, cwd: host.cwd });
  const lines = [...questionLines(question), `  answer: ${hint}`, '  waiting for the answer'];
  output.note(lines.join('\n'));
}
