/**
 * Puts the questions of servers to a person at a terminal, one after the other. Nobody is asked
 * where input or output is no terminal.
 */

import type {
  FormField,
  FormValue,
  NamedField,
  Question,
  QuestionAnswer,
  QuestionHandler,
} from '../../domain/question.ts';
import { faultOf } from '../../policies/calls/form-answer.ts';
import type { CliSession } from '../cli-session.ts';
import { isAtTerminal, type PromptPorts, readLine } from './input.ts';
import { fieldLine, questionLines } from './question-lines.ts';

// Who mistyped three times does not know the answer.
const maxTries = 3;

const cancelled: QuestionAnswer = { action: 'cancel' };

/** Undefined when nobody can be asked. It leaves what no person can answer. */
export function createQuestionPrompt(
  session: Pick<CliSession, 'host' | 'output'>,
  ports: PromptPorts,
): QuestionHandler | undefined {
  if (!isAtTerminal(session)) return undefined;
  let before: Promise<unknown> = Promise.resolve();
  return (question, { signal }) => {
    if (question.kind === 'sampling') return undefined;
    const answer = before.then(async () => {
      if (signal.aborted) return cancelled;
      const release = ports.hold();
      try {
        return await new Interview(session, signal, ports).ask(question);
      } finally {
        release();
      }
    });
    before = answer.catch(() => undefined);
    return answer;
  };
}

class Interview {
  readonly #session: Pick<CliSession, 'host'>;
  readonly #signal: AbortSignal;
  readonly #ports: PromptPorts;

  constructor(session: Pick<CliSession, 'host'>, signal: AbortSignal, ports: PromptPorts) {
    this.#session = session;
    this.#signal = signal;
    this.#ports = ports;
  }

  async ask(question: Question): Promise<QuestionAnswer> {
    for (const line of questionLines(question)) this.#say(line);
    const wish = question.kind === 'url' ? 'been there, go on' : 'answer it';
    const choice = await this.#read(`  ${wish}? [y/N] `);
    if (choice === undefined) return cancelled;
    if (!/^y(?:es)?$/iu.test(choice.trim())) return { action: 'decline' };
    return question.kind === 'form' ? this.#fillIn(question.fields) : { action: 'accept' };
  }

  async #fillIn(fields: readonly NamedField[]): Promise<QuestionAnswer> {
    const content: [string, FormValue][] = [];
    for (const field of fields) {
      const value = await this.#valueOf(field);
      if (value === undefined) return cancelled;
      if (value !== null) content.push([field.name, value]);
    }
    return { action: 'accept', content: Object.fromEntries(content) };
  }

  /** Null = left out; undefined = given up. */
  async #valueOf(named: NamedField): Promise<FormValue | null | undefined> {
    const { isRequired, field } = named;
    for (let tries = 0; tries < maxTries; tries += 1) {
      const line = await this.#read(`  ${fieldLine(named)} > `);
      if (line === undefined) return undefined;
      if (line === '' && (!isRequired || field.default !== undefined)) return null;
      const value = valueFrom(field, line.trim());
      const fault = faultOf(field, value);
      if (fault === undefined) return value;
      this.#say(`  It ${fault}.`);
    }
    return undefined;
  }

  #read(words: string): Promise<string | undefined> {
    const { host } = this.#session;
    const { onInterrupt } = this.#ports;
    return readLine(words, false, { host, signal: this.#signal, onInterrupt });
  }

  #say(line: string): void {
    this.#session.host.stderr.write(`${line}\n`);
  }
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
