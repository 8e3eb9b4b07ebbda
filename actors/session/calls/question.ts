/** Reads the questions of servers and writes the answers, as the protocol defines them. */

import type {
  QuestionAnswer,
  QuestionBody,
  QuestionKind,
  RootFolder,
  SamplingRequest,
} from '../../../src/domain/question.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import { printableLine, printableText } from '../../../src/policies/text/printable.ts';
import { redact } from '../../../src/policies/text/redact.ts';
import { readForm } from './question-form.ts';

// Twice a description: a question may have to explain itself.
const messageCharacters = 4_096;
// Browsers take little more; a longer address is refused rather than cut.
const urlCharacters = 8_192;
const idCharacters = 256;
// A picture may be part of it; the message limit is far higher.
const samplingCharacters = 4 * 1_048_576;
const maxMessages = 256;
const textCharacters = 262_144;

/** The questions that a session announces when it opens. */
export interface AskableThings {
  readonly kinds: readonly QuestionKind[];
  readonly hasRoots: boolean;
}

/** The capabilities to announce: only for questions that can be answered. */
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

/** Returns the question, or in a few words why it cannot be shown. */
export function readQuestion(
  method: string,
  params: unknown,
  secrets: readonly string[],
): QuestionBody | string {
  const asked = isRecord(params) ? params : {};
  if (method === 'sampling/createMessage') return readSampling(asked, secrets);
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
  // As the parser writes it, so that a lookalike host is recognisable.
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

/** The last text, for the user's decision about sampling. */
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
  // Cut last, or half a secret would remain.
  return typeof text === 'string'
    ? printableText(redact(printableText(text, most * 2), secrets), most)
    : undefined;
}

/** The kind of a request, whether or not it can be shown; undefined if it is not a question. */
export function kindOf(method: string, params: unknown): QuestionKind | undefined {
  if (method === 'sampling/createMessage') return 'sampling';
  if (method !== 'elicitation/create') return undefined;
  return isRecord(params) && params['mode'] === 'url' ? 'url' : 'form';
}

/** The result for an answer; undefined for declined sampling, which the protocol answers with an error. */
export function resultOf(
  kind: QuestionKind,
  answer: QuestionAnswer,
): Readonly<Record<string, unknown>> | undefined {
  if (kind === 'sampling')
    return answer.action === 'accept' && answer.sampling ? { ...answer.sampling } : undefined;
  if (answer.action !== 'accept') return { action: answer.action };
  return { action: 'accept', ...(kind === 'form' && { content: answer.content ?? {} }) };
}

export function rootsResult(roots: readonly RootFolder[]): Readonly<Record<string, unknown>> {
  return { roots };
}
