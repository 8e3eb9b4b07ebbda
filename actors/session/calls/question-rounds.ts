/**
 * Sends a request that the server may respond to with questions first. The request is then resent
 * with the answers: in rounds, as in the 2026-07-28 revision, or once after the user has visited an
 * address (error -32042). Its caller sees a single request.
 *
 * While questions await their answers, no request is in flight. The caller decides whether that
 * time counts towards the call.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import { printableLine } from '../../../src/domain/data/printable.ts';
import type { QuestionAnswer, QuestionBody, QuestionParty } from '../../../src/domain/question.ts';
import { methods } from '../../../src/protocol/methods.ts';
import type { OpenRequest } from '../../../src/protocol/requests.ts';
import { RpcError, urlRequired } from '../../../src/protocol/rpc-codes.ts';
import { pause } from '../../host/time-limit.ts';
import { kindOf, readQuestion, resultOf, rootsResult, unansweredBy } from './question-reading.ts';
import type { SessionQuestions } from './session-questions.ts';

// As many as the SDKs accept: ten pages make a long form.
const maxRounds = 10;
const maxRequests = 16;
// The wait before a request is resent to a server that responded without a question.
const laterMs = 250;
const wordsLength = 200;

/** Parameters that another round adds. */
export type RoundParams = Readonly<Record<string, unknown>>;

interface RoundsSetup {
  readonly clock: Clock;
  /** The session's questions; undefined if they are never answered. */
  readonly questions: SessionQuestions | undefined;
  readonly party: QuestionParty | undefined;
  readonly request: Pick<
    OpenRequest,
    'signal' | 'onFailure' | 'hold' | 'release' | 'renew' | 'unanswered'
  >;
}

interface InputRequired {
  readonly resultType: 'input_required';
  readonly inputRequests: Readonly<Record<string, unknown>>;
  readonly requestState?: string;
}

/**
 * Sends until there is a result, with at most one request in flight.
 *
 * @throws RpcError `-32042` when a question was not answered
 */
export async function inRounds<Result extends object>(
  setup: RoundsSetup,
  send: (added: RoundParams) => Promise<Result>,
): Promise<Result> {
  let added: RoundParams = {};
  for (let round = 0; round <= maxRounds; round += 1) {
    const params = added;
    const result = await send(params);
    if (!isInputRequired(result)) return result;
    added = await askMeanwhile(setup, (asking) => asking.answer(result));
  }
  throw badResponse(`it still asked for input after ${maxRounds} rounds`);
}

/** Sends the request, and resends it after the user has visited the addresses that the server requires. */
export async function withVisit<Result>(
  setup: RoundsSetup,
  send: () => Promise<Result>,
): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    const urls = urlsIn(error);
    if (urls === undefined) throw error;
    await askMeanwhile(setup, (asking) => asking.visit(urls));
    return send();
  }
}

/**
 * Asks questions within the caller's timeout, which is paused in the meantime if the caller allows
 * it.
 */
async function askMeanwhile<Answer>(
  setup: RoundsSetup,
  ask: (asking: Asking) => Promise<Answer>,
): Promise<Answer> {
  const { request } = setup;
  const controller = new AbortController();
  const { signal } = controller;
  request.onFailure = (reason) => controller.abort(reason);
  // The caller may have aborted since the last response.
  if (request.signal?.aborted === true) controller.abort(request.signal.reason);
  request.hold();
  try {
    return await ask(new Asking(setup, signal));
  } catch (error) {
    const isLate = signal.aborted && request.signal?.aborted !== true;
    throw isLate ? unanswered('Its question was not answered in time') : error;
  } finally {
    request.release();
    // A question counts as progress.
    request.renew();
  }
}

class Asking {
  readonly #setup: RoundsSetup;
  readonly #signal: AbortSignal;
  readonly #open = new Set<AbortController>();

  /** @param signal - aborted when the answers are no longer needed */
  constructor(setup: RoundsSetup, signal: AbortSignal) {
    this.#setup = setup;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#withdraw(), { once: true });
  }

  /** Withdraws all open questions. */
  #withdraw(): void {
    for (const controller of this.#open) controller.abort();
  }

  /** Returns the parameters of the next round. */
  async answer({ inputRequests, requestState }: InputRequired): Promise<RoundParams> {
    const requests = Object.entries(inputRequests);
    if (requests.length > maxRequests)
      throw badResponse(`it asked more than ${maxRequests} questions at once`);
    if (requests.length === 0) await pause(this.#setup.clock, laterMs, this.#signal);
    if (this.#signal.aborted) throw this.#signal.reason;
    try {
      const responses = await Promise.all(
        requests.map(async ([key, request]) => [key, await this.#respond(request)]),
      );
      return {
        ...(responses.length > 0 && { inputResponses: Object.fromEntries(responses) }),
        ...(requestState !== undefined && { requestState }),
      };
    } finally {
      // One unanswered question withdraws the others.
      this.#withdraw();
    }
  }

  /** Resolves when the user has visited all addresses. */
  async visit(urls: readonly QuestionBody[]): Promise<void> {
    const visits = urls.map(async (body) => {
      const controller = new AbortController();
      let isDone = false;
      const forget = this.#setup.questions?.onCompleted(elicitationIdOf(body), () => {
        isDone = true;
        controller.abort();
      });
      const answer = await this.#ask(body, controller);
      forget?.();
      if (!isDone && answer?.action !== 'accept') throw notGiven('the user to visit an address');
    });
    try {
      await Promise.all(visits);
    } finally {
      this.#withdraw();
    }
  }

  async #respond(request: unknown): Promise<unknown> {
    const { method, params } = isRecord(request) ? request : {};
    if (method === methods.listRoots.name) {
      const roots = this.#setup.questions?.roots;
      if (roots === undefined) throw notGiven('the project folders');
      return rootsResult(roots);
    }
    const kind = typeof method === 'string' ? kindOf(method, params) : undefined;
    if (kind === undefined || typeof method !== 'string')
      throw badResponse('it asked an unknown question');
    const body = readQuestion(method, params, this.#setup.questions?.secrets ?? []);
    if (typeof body === 'string') throw badResponse(`its question cannot be shown: ${body}`);
    const answer = await this.#ask(body);
    const result = answer && resultOf(kind, answer);
    if (result === undefined) throw notGiven(wantedByKind[kind]);
    return result;
  }

  async #ask(
    body: QuestionBody,
    controller = new AbortController(),
  ): Promise<QuestionAnswer | undefined> {
    const { questions, party, request } = this.#setup;
    this.#open.add(controller);
    const answer = await questions?.ask(body, party, controller.signal);
    this.#open.delete(controller);
    request.unanswered = unansweredBy(answer);
    // The caller gave up or ran out of time; the reason reaches it.
    if (this.#signal.aborted) throw this.#signal.reason;
    if (questions?.isOver === true) throw unanswered('The session ended while it asked');
    return answer;
  }
}

const wantedByKind = {
  form: 'a form filled in',
  url: 'the user to visit an address',
  sampling: 'a message from a model',
} as const;

function notGiven(what: string): RpcError {
  return unanswered(`It wants ${what} first, which was not given`);
}

/** Uses the code of a required visit, so that both are reported as `inputRequired`. */
function unanswered(message: string): RpcError {
  return new RpcError({ code: urlRequired, message });
}

function badResponse(why: string): Error {
  return Object.assign(new Error(`Invalid result: ${printableLine(why, wordsLength)}`), {
    code: 'INVALID_RESULT',
  });
}

function isInputRequired(result: object): result is InputRequired {
  return (
    'resultType' in result &&
    result.resultType === 'input_required' &&
    'inputRequests' in result &&
    isRecord(result.inputRequests)
  );
}

/**
 * Returns the addresses that the user must visit before the request can run; undefined for other
 * errors.
 */
function urlsIn(error: unknown): readonly QuestionBody[] | undefined {
  if (!(error instanceof Error) || !('code' in error) || error.code !== urlRequired)
    return undefined;
  const data = 'data' in error ? error.data : undefined;
  const asked: unknown = isRecord(data) ? data['elicitations'] : undefined;
  if (!Array.isArray(asked) || asked.length === 0 || asked.length > maxRequests) return undefined;
  const bodies = asked.map((params: unknown) => {
    const withMode = isRecord(params) ? { ...params, mode: 'url' } : params;
    return readQuestion(methods.elicit.name, withMode, []);
  });
  return bodies.every((body) => typeof body !== 'string') ? bodies : undefined;
}

function elicitationIdOf(body: QuestionBody): string {
  return body.kind === 'url' ? (body.elicitationId ?? '') : '';
}
