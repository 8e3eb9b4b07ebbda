/**
 * Reads servers' questions and writes the answers as the protocol defines them. A question is
 * checked, bounded and made printable when it is read, so it can be shown unchanged. Forms have
 * MCP's restricted, flat schema; a form with any other content is refused.
 */

import { keepNumbers, numberTextAt } from '../../../src/domain/data/exact-json.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import { printableLine, printableText } from '../../../src/domain/data/printable.ts';
import type {
  FormChoice,
  FormField,
  NamedField,
  QuestionAnswer,
  QuestionBody,
  QuestionKind,
  RootFolder,
  SamplingRequest,
} from '../../../src/domain/question.ts';
import { faultOf } from '../../../src/policies/calls/form-answer.ts';
import { redact } from '../../../src/policies/text/redact.ts';
import { isSmall } from '../../../src/protocol/items.ts';
import { forwardedMeta } from '../../../src/protocol/meta.ts';
import { methods } from '../../../src/protocol/methods.ts';

// Twice the limit for descriptions: a question may have to explain itself.
const messageCharacters = 4_096;
// Browsers accept little more; a longer address is refused rather than cut.
const urlCharacters = 8_192;
const idCharacters = 256;
// It may contain a picture; the message limit is far higher.
const samplingCharacters = 4 * 1_048_576;
const maxMessages = 256;
const textCharacters = 262_144;
// The user fills it in: no honest form is longer.
const maxFields = 64;
const maxChoices = 256;
const nameCharacters = 128;
// The same limit as for a tool's description.
const descriptionCharacters = 2_048;

/** The questions that a session announces when it opens. */
export interface AskableThings {
  readonly kinds: readonly QuestionKind[];
  readonly hasRoots: boolean;
}

/** Returns the capabilities to announce: only for questions that can be answered. */
export function capabilitiesFor({ kinds, hasRoots }: AskableThings) {
  const modes = {
    ...(kinds.includes('form') && { form: {} }),
    ...(kinds.includes('url') && { url: {} }),
  };
  return {
    ...(Object.keys(modes).length > 0 && { elicitation: modes }),
    ...(kinds.includes('sampling') && { sampling: {} }),
    ...(hasRoots && { roots: { listChanged: true } }),
  };
}

/** Returns the question, or a short reason why it cannot be shown. */
export function readQuestion(
  method: string,
  params: unknown,
  secrets: readonly string[],
): QuestionBody | string {
  const asked = isRecord(params) ? params : {};
  const body = readBody(method, asked, secrets);
  if (typeof body === 'string' || !isRecord(asked['_meta'])) return body;
  const meta = forwardedMeta(asked['_meta']);
  return meta === undefined || !isSmall(meta) ? body : { ...body, meta };
}

function readBody(
  method: string,
  asked: Record<string, unknown>,
  secrets: readonly string[],
): QuestionBody | string {
  if (method === methods.sample.name) return readSampling(asked, secrets);
  const message = textOf(asked['message'], messageCharacters, secrets);
  if (message === undefined) return 'there is no message';
  if (asked['mode'] === 'url') return readUrl(message, asked);
  if (asked['mode'] !== undefined && asked['mode'] !== 'form') return 'the mode is unknown';
  const form = readForm(asked['requestedSchema']);
  return typeof form === 'string' ? form : { kind: 'form', message, ...form };
}

function readUrl(
  message: string,
  { url, elicitationId }: Record<string, unknown>,
): QuestionBody | string {
  if (typeof url !== 'string' || url.length > urlCharacters || !URL.canParse(url))
    return 'the address cannot be read';
  const { protocol, username, password, href } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') return 'the address is not a web address';
  // `https://bank.example@elsewhere.example` leads elsewhere.
  if (username !== '' || password !== '') return 'the address holds a user name';
  const isIdPlain = typeof elicitationId === 'string' && elicitationId.length <= idCharacters;
  // As the parser writes it, so that a lookalike host is recognizable.
  return { kind: 'url', message, url: href, ...(isIdPlain && { elicitationId }) };
}

function readSampling(
  asked: Record<string, unknown>,
  secrets: readonly string[],
): QuestionBody | string {
  const { messages, maxTokens, systemPrompt, temperature, stopSequences, tools } = asked;
  if (tools !== undefined) return 'sampling with tools was not announced';
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > maxMessages)
    return `there must be 1 to ${maxMessages} messages`;
  if (typeof maxTokens !== 'number' || !(maxTokens > 0))
    return 'maxTokens must be a number above 0';
  const read = messages.map(readMessage);
  if (!read.every((message) => message !== undefined)) return 'a message has a wrong shape';
  const prompt = textOf(systemPrompt, textCharacters, secrets);
  const sampling: SamplingRequest = {
    messages: read,
    maxTokens,
    ...(prompt !== undefined && { systemPrompt: prompt }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(areTexts(stopSequences) && { stopSequences }),
    ...recordAt(asked, 'modelPreferences'),
    ...recordAt(asked, 'metadata'),
  };
  if (JSON.stringify(sampling).length > samplingCharacters) return 'it is too long';
  const message = printableLine(wordsOf(read), messageCharacters);
  return { kind: 'sampling', message: redact(message, secrets), sampling };
}

function readMessage(message: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(message) || (message['role'] !== 'user' && message['role'] !== 'assistant'))
    return undefined;
  const { role, content } = message;
  const blocks = (Array.isArray(content) ? content : [content]).map(readBlock);
  if (blocks.length === 0 || !blocks.every((block) => block !== undefined)) return undefined;
  return { role, content: Array.isArray(content) ? blocks : blocks[0] };
}

function readBlock(block: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(block)) return undefined;
  const { type, text, data, mimeType } = block;
  if (type === 'text' && typeof text === 'string')
    return { type, text: printableText(text, textCharacters) };
  const isMedium = type === 'image' || type === 'audio';
  if (!isMedium || typeof data !== 'string' || typeof mimeType !== 'string') return undefined;
  return { type, data, mimeType: printableLine(mimeType, idCharacters) };
}

/** The last message, for the user's decision about sampling. */
function wordsOf(messages: readonly Readonly<Record<string, unknown>>[]): string {
  const blocks = messages.flatMap(({ content }) => content as Record<string, unknown>[]);
  const last = blocks.findLast(({ type }) => type === 'text');
  return typeof last?.['text'] === 'string' ? last['text'] : '';
}

function recordAt(asked: Record<string, unknown>, key: string): Record<string, unknown> {
  return isRecord(asked[key]) ? { [key]: asked[key] } : {};
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function textOf(text: unknown, most: number, secrets: readonly string[]): string | undefined {
  // Cut this last; otherwise half a secret could remain.
  return typeof text === 'string'
    ? printableText(redact(printableText(text, most * 2), secrets), most)
    : undefined;
}

/** Returns the form, or a short reason why it cannot be shown. */
function readForm(
  schema: unknown,
): Pick<Extract<QuestionBody, { kind: 'form' }>, 'fields' | 'schema'> | string {
  if (!isRecord(schema) || schema['type'] !== 'object' || !isRecord(schema['properties']))
    return 'requestedSchema is not an object with properties';
  const required = schema['required'] ?? [];
  if (!Array.isArray(required)) return '"required" is not a list';
  const names = Object.keys(schema['properties']);
  if (names.length > maxFields) return `there are more than ${maxFields} fields`;
  const absent = required.find((name) => !names.includes(name as string));
  if (absent !== undefined) return 'a required field is not described';
  const fields: NamedField[] = [];
  for (const [name, property] of Object.entries(schema['properties'])) {
    if (!isPlain(name)) return 'a field has a name that cannot be printed';
    const field = readField(property);
    if (typeof field === 'string') return `the field "${name}" ${field}`;
    fields.push({ name, isRequired: required.includes(name), field });
  }
  return { fields, schema: schemaOf(fields, schema['properties']) };
}

function readField(property: unknown): FormField | string {
  if (!isRecord(property)) return 'is not an object';
  const bare = bareField(property);
  if (typeof bare === 'string') return bare;
  const { title, description, default: preset } = property;
  const all = {
    ...bare,
    ...(typeof title === 'string' && { title: printableLine(title, nameCharacters) }),
    ...(typeof description === 'string' && {
      description: printableText(description, descriptionCharacters),
    }),
  } as FormField;
  const field = keepNumbers(all, property);
  // Accepting the form unchanged returns the defaults.
  const isFit =
    preset !== undefined &&
    preset !== null &&
    faultOf(field, preset, numberTextAt(property, 'default')) === undefined;
  return isFit ? keepNumbers({ ...field, default: preset } as FormField, property) : field;
}

function bareField(property: Record<string, unknown>): FormField | string {
  switch (property['type']) {
    case 'string':
      return property['enum'] === undefined && property['oneOf'] === undefined
        ? textField(property)
        : choiceField(property);
    case 'number':
    case 'integer':
      return {
        type: property['type'],
        ...numberAt(property, 'minimum'),
        ...numberAt(property, 'maximum'),
      };
    case 'boolean':
      return { type: 'boolean' };
    case 'array':
      return choicesField(property);
    default:
      return 'has a type that a form cannot have';
  }
}

function textField(property: Record<string, unknown>): FormField {
  const { format } = property;
  const isKnown =
    format === 'email' || format === 'uri' || format === 'date' || format === 'date-time';
  return {
    type: 'string',
    ...numberAt(property, 'minLength'),
    ...numberAt(property, 'maxLength'),
    ...(isKnown && { format }),
  };
}

function choiceField({
  enum: values,
  enumNames,
  oneOf,
}: Record<string, unknown>): FormField | string {
  const choices = readChoices(values ?? oneOf, enumNames);
  return typeof choices === 'string' ? choices : { type: 'choice', choices };
}

function choicesField({ items, ...property }: Record<string, unknown>): FormField | string {
  if (!isRecord(items)) return 'is a list of anything';
  const choices = readChoices(items['enum'] ?? items['anyOf'] ?? items['oneOf'], undefined);
  if (typeof choices === 'string') return choices;
  return {
    type: 'choices',
    choices,
    ...numberAt(property, 'minItems'),
    ...numberAt(property, 'maxItems'),
  };
}

function readChoices(values: unknown, titles: unknown): readonly FormChoice[] | string {
  if (!Array.isArray(values) || values.length === 0) return 'has no choices';
  if (values.length > maxChoices) return `has more than ${maxChoices} choices`;
  const choices = values.map((value: unknown, index): FormChoice | undefined => {
    const name: unknown = Array.isArray(titles) ? titles[index] : undefined;
    const { const: chosen, title } = isRecord(value) ? value : { const: value, title: name };
    // It is returned unchanged, so it must be what the user saw.
    if (typeof chosen !== 'string' || !isPlain(chosen)) return undefined;
    return { value: chosen, title: titleOf(title, chosen) };
  });
  const isRead = choices.every((choice) => choice !== undefined);
  return isRead ? choices : 'has a choice that cannot be printed';
}

function titleOf(title: unknown, value: string): string {
  const words = typeof title === 'string' ? printableLine(title, nameCharacters) : '';
  return words === '' ? value : words;
}

function isPlain(text: string): boolean {
  return text.length <= nameCharacters && printableLine(text, nameCharacters) === text;
}

function numberAt(property: Record<string, unknown>, key: string): Record<string, number> {
  const value = property[key];
  return typeof value === 'number' && Number.isFinite(value) ? { [key]: value } : {};
}

/** Returns the form as a protocol schema, with only the checked parts. */
function schemaOf(
  fields: readonly NamedField[],
  written: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map(({ name, field }) => [name, propertyOf(field, written[name])]),
    ),
    required: fields.flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
  };
}

function propertyOf(field: FormField, written: unknown): Readonly<Record<string, unknown>> {
  if (field.type !== 'choice' && field.type !== 'choices') return keepNumbers({ ...field }, field);
  const { choices, type, ...words } = field;
  const isTitled = choices.some(({ value, title }) => value !== title);
  const values = choices.map(({ value }) => value);
  const titled = choices.map(({ value, title }) => ({ const: value, title }));
  // The older way to write titles, for clients that support only that.
  if (type === 'choice' && isTitled && isRecord(written) && written['enumNames'] !== undefined)
    return { type: 'string', ...words, enum: values, enumNames: titled.map(({ title }) => title) };
  if (type === 'choice')
    return { type: 'string', ...words, ...(isTitled ? { oneOf: titled } : { enum: values }) };
  const items = isTitled ? { anyOf: titled } : { type: 'string', enum: values };
  return { type: 'array', ...words, items };
}

/**
 * Returns the kind of a request, whether or not it can be shown; undefined if it is not a question.
 */
export function kindOf(method: string, params: unknown): QuestionKind | undefined {
  if (method === methods.sample.name) return 'sampling';
  if (method !== methods.elicit.name) return undefined;
  return isRecord(params) && params['mode'] === 'url' ? 'url' : 'form';
}

/**
 * Returns the result for an answer; undefined for declined sampling, which the protocol answers
 * with an error.
 */
export function resultOf(
  kind: QuestionKind,
  answer: QuestionAnswer,
): Readonly<Record<string, unknown>> | undefined {
  if (kind === 'sampling')
    return answer.action === 'accept' && answer.sampling ? { ...answer.sampling } : undefined;
  if (answer.action !== 'accept') return { action: answer.action };
  return { action: 'accept', ...(kind === 'form' && { content: answer.content ?? {} }) };
}

/** Why a question has no answer; undefined if it was accepted. */
export function unansweredBy(answer: QuestionAnswer | undefined): string | undefined {
  if (answer?.action === 'accept') return undefined;
  return answer?.action === 'cancel' ? 'it was cancelled' : 'it was declined';
}

export function rootsResult(roots: readonly RootFolder[]): Readonly<Record<string, unknown>> {
  return { roots };
}
