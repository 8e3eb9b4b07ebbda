/** Validates an answer against its question, and prepares what is sent to the server. */

import type { Question, QuestionAnswer, SamplingResult } from '../../domain/question.ts';
import { checkForm } from '../../policies/calls/form-answer.ts';
import { isRecord } from '../../policies/is-record.ts';

const actions: readonly string[] = [
  'accept',
  'decline',
  'cancel',
] satisfies readonly QuestionAnswer['action'][];

/** What is wrong with an answer, without quoting any of its values; undefined = it fits. */
export function answerFault(question: Question, answer: unknown): string | undefined {
  if (!isRecord(answer) || !actions.includes(String(answer['action'])))
    return '"action" must be accept, decline or cancel';
  if (answer['action'] !== 'accept') return undefined;
  const { content, sampling } = answer;
  switch (question.kind) {
    case 'url':
      return undefined;
    case 'sampling':
      return isSamplingResult(sampling)
        ? undefined
        : '"sampling" must hold "model", "role" and one block of "content"';
    case 'form': {
      if (content !== undefined && !isRecord(content)) return '"content" must be an object';
      const checked = checkForm(question.fields, content ?? {});
      return 'fault' in checked ? checked.fault : undefined;
    }
  }
}

/** The part of a fitting answer that is sent: the requested fields only, with the form's defaults. */
export function readyAnswer(question: Question, answer: QuestionAnswer): QuestionAnswer {
  if (answer.action !== 'accept') return { action: answer.action };
  const { content, sampling } = answer;
  switch (question.kind) {
    case 'url':
      return { action: 'accept' };
    case 'sampling':
      return { action: 'accept', ...(sampling !== undefined && { sampling }) };
    case 'form': {
      const checked = checkForm(question.fields, content ?? {});
      return 'content' in checked
        ? { action: 'accept', content: checked.content }
        : { action: 'cancel' };
    }
  }
}

function isSamplingResult(value: unknown): value is SamplingResult {
  if (!isRecord(value)) return false;
  const { model, role, content, stopReason } = value;
  return (
    typeof model === 'string' &&
    (role === 'user' || role === 'assistant') &&
    isRecord(content) &&
    typeof content['type'] === 'string' &&
    (stopReason === undefined || typeof stopReason === 'string')
  );
}
