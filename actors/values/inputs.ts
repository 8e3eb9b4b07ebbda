/**
 * Asks the host for the inputs that settings refer to, once for all servers and with a time limit.
 * Answers are kept only in memory. A refused input is not requested again until `askAgain`. A late
 * answer still counts, and the servers that requested it are reported.
 */

import type { Clock } from '../../src/domain/clock.ts';
import type { AskForInput, InputDefinition, InputRequest } from '../../src/domain/input.ts';
import { digestOf } from '../../src/policies/fingerprint.ts';
import { withinTime } from '../host/time-limit.ts';

/** The answer, or why there is none, phrased as the end of a sentence about the input. */
type InputAnswer = { readonly value: string } | { readonly refusal: string };

// Two minutes: long enough to look up a token, and slightly less than the five attempts of a start
// take together, so the server is still waiting for the answer.
const questionMs = 120_000;
// Far longer than any token or key; a file does not belong in an environment.
const maxAnswerLength = 64 * 1024;

const again = 'restart the server to be asked again';

export interface InputEvents {
  /** Called with the servers that requested an input once it is given; some may have given up since. */
  readonly onGiven: (servers: readonly string[]) => void;
  /** Called with a server that began or ceased to wait for the host's answer. */
  readonly onAsking: (server: string) => void;
}

/** @param ask - undefined if the host cannot ask */
export function createInputs(
  clock: Clock,
  ask: AskForInput | undefined,
  { onGiven, onAsking }: InputEvents = { onGiven: () => {}, onAsking: () => {} },
) {
  const answers = new Map<string, Promise<InputAnswer>>();
  /** The servers that are waiting for each input that has not been given yet. */
  const wanting = new Map<string, Set<string>>();
  /** The ids of the inputs that the host is being asked for. */
  const asking = new Map<string, string>();
  const refused = new Set<string>();
  const closing = new AbortController();

  function given(key: string, answer: Promise<InputAnswer>): void {
    answers.set(key, answer);
    refused.delete(key);
    const servers = [...(wanting.get(key) ?? [])];
    wanting.delete(key);
    noLongerAsking(key, servers);
    if (servers.length > 0 && !closing.signal.aborted) onGiven(servers);
  }

  function noLongerAsking(key: string, servers: readonly string[]): void {
    if (asking.delete(key) && !closing.signal.aborted) servers.forEach(onAsking);
  }

  async function put(key: string, asked: AskForInput, request: InputRequest): Promise<InputAnswer> {
    const leave = new AbortController();
    const answer = answerOf(asked, request, AbortSignal.any([closing.signal, leave.signal]));
    // A late answer still counts.
    void answer.then((late) => {
      if ('value' in late) given(key, answer);
    });
    asking.set(key, request.id);
    const inTime = await withinTime(clock, questionMs, answer, closing.signal);
    leave.abort();
    noLongerAsking(key, [...(wanting.get(key) ?? [])]);
    if (inTime !== undefined) return inTime;
    if (closing.signal.aborted) return { refusal: 'is not asked for any more' };
    return { refusal: `was not given within ${questionMs / 1_000} seconds; ${again}` };
  }

  return {
    /** Resolves with the user's answer. Never rejects. */
    answerTo(
      definition: InputDefinition,
      from: Pick<InputRequest, 'server' | 'source'>,
    ): Promise<InputAnswer> {
      if (ask === undefined) return Promise.resolve({ refusal: cannotAsk });
      const { file, scope } = from.source;
      const key = digestOf({ definition, file: file ?? null, scope });
      const known = answers.get(key);
      if (known === undefined || wanting.has(key))
        wanting.set(key, (wanting.get(key) ?? new Set()).add(from.server));
      const answer = known ?? put(key, ask, { ...definition, ...from });
      if (asking.has(key)) onAsking(from.server);
      if (known !== undefined) return known;
      answers.set(key, answer);
      void answer.then((end) => {
        // Another answer may have arrived since, to an earlier or a later request.
        if ('refusal' in end && answers.get(key) === answer) refused.add(key);
      });
      return answer;
    },
    /** Makes the next request ask for refused inputs again. */
    askAgain(): void {
      for (const key of refused) answers.delete(key);
      refused.clear();
    },
    /** Returns the id of the input that the host is being asked for on a server's behalf. */
    askedFor: (server: string): string | undefined =>
      [...asking].find(([key]) => wanting.get(key)?.has(server))?.[1],
    /** Withdraws all pending requests. */
    close: () => closing.abort(),
  };
}

const cannotAsk =
  'cannot be asked for here: write ${VAR} in its place, or ${keychain:SERVICE/ACCOUNT} in settings of your own; only troupe up in a terminal and the option "inputs" of createTroupe ask';

async function answerOf(
  ask: AskForInput,
  request: InputRequest,
  signal: AbortSignal,
): Promise<InputAnswer> {
  let value: unknown;
  try {
    value = await ask(request, { signal });
  } catch {
    // The host's error may contain what the user typed.
    return { refusal: `could not be asked for; ${again}` };
  }
  if (value === undefined) return { refusal: `was not given; ${again}` };
  if (typeof value !== 'string' || value.length > maxAnswerLength || value.includes('\0'))
    return {
      refusal: `was given something that is not a string of at most ${maxAnswerLength} characters`,
    };
  const { options } = request;
  if (options !== undefined && !options.some((option) => option.value === value))
    return { refusal: `was given something that is not one of its options; ${again}` };
  return { value };
}
