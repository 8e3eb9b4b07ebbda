/**
 * Decides how a server's question ends: by an answer, by its deadline, or because the answer is
 * no longer needed.
 *
 * A question that belongs to a call goes only to the caller, if the caller answers questions. Every
 * other question goes to the host's handler and is listed, so that it can also be answered by its
 * id. If a caller passes on its question, that question is also listed. The first answer counts.
 * The chart stores how a question was answered, never the question or the answer.
 *
 * ```text
 * [*] -> open
 * open -- question.withdrawn --> withdrawn
 * open -- after answerDeadline --> timedOut
 * open: [*] -> addressing
 *   addressing -- always [isOfCaller] --> askingCaller
 *   addressing -- always --> listed
 *   askingCaller invokes consult
 *   askingCaller -- done consult [isLeft] --> listed.unclaimed
 *   askingCaller -- done consult --> answered
 *   askingCaller -- error consult --> answered
 *   listed -- question.answered --> answered
 *   listed: [*] -> askingHost
 *     askingHost invokes consult
 *     askingHost -- done consult [isLeft] --> unclaimed
 *     askingHost -- done consult --> answered
 *     askingHost -- error consult --> answered
 *     unclaimed
 * answered -- always [isAccepted] --> accepted
 * answered -- always [isDeclined] --> declined
 * answered -- always --> cancelled
 * accepted -> [*]
 * declined -> [*]
 * cancelled -> [*]
 * timedOut -> [*]
 * withdrawn -> [*]
 * ```
 */

import { assign, emit, fromPromise, setup } from 'xstate';
import { longestTimerMs } from '../src/domain/clock.ts';
import type { QuestionAnswer } from '../src/domain/question.ts';
import { notProvided } from './not-provided.ts';

export interface QuestionInput {
  /** Key by which the promise finds the question and answers refer to it, for example `q1`. */
  readonly id: string;
  /** Whether it belongs to a call whose caller answers questions. */
  readonly isOfCaller: boolean;
  readonly timeoutMs: number;
}

/** How the question was answered, without any value of the answer. */
export interface QuestionReply {
  readonly action: QuestionAnswer['action'] | null;
  /** Why a handler's answer does not count. */
  readonly fault: string | null;
}

/** If both reply fields are null, the question was not answered. */
export type QuestionContext = QuestionInput & QuestionReply;

export type QuestionEvent =
  /** The question was answered by its id, with an answer that fits it. */
  | { readonly type: 'question.answered'; readonly action: QuestionAnswer['action'] }
  /** The question's call or session ended, or the troupe is stopping. */
  | { readonly type: 'question.withdrawn' };

/** Others may see and answer the question from now on. */
export interface QuestionListed {
  readonly type: 'question.listed';
}

const questionSetup = setup({
  types: {
    input: {} as QuestionInput,
    context: {} as QuestionContext,
    events: {} as QuestionEvent,
    emitted: {} as QuestionListed,
  },
  actors: {
    /**
     * Asks the caller's or the host's handler; both reply fields are null if the handler passed.
     */
    consult: fromPromise<QuestionReply, { readonly id: string }>(
      notProvided('consult', 'question'),
    ),
  },
  actions: {
    /** Lists the question for others. */
    announce: emit({ type: 'question.listed' }),
    /** Stores how the question was answered. */
    noteAnswer: assign((_, { action, fault }: QuestionReply) => ({ action, fault })),
  },
  guards: {
    /** Whether the question's caller answers questions. */
    isOfCaller: ({ context }) => context.isOfCaller,
    /** Whether the handler passed. */
    isLeft: (_, { action, fault }: QuestionReply) => action === null && fault === null,
    /** Whether the user accepted. */
    isAccepted: ({ context }) => context.action === 'accept',
    /** Whether the user declined. */
    isDeclined: ({ context }) => context.action === 'decline',
  },
  delays: {
    /** The policy's time limit for an answer. */
    answerDeadline: ({ context }) => Math.min(context.timeoutMs, longestTimerMs),
  },
});

// Its message may contain what a user typed.
const noteAnswerThrown = {
  type: 'noteAnswer',
  params: { action: null, fault: 'its handler threw an error' },
} as const;
const ofHandler = ({ event }: { readonly event: { readonly output: QuestionReply } }) =>
  event.output;

const replied = {
  actions: { type: 'noteAnswer', params: ofHandler },
  target: '#question.answered',
} as const;
const consulting = {
  id: 'consult',
  src: 'consult',
  input: ({ context: { id } }: { readonly context: QuestionContext }) => ({ id }),
  onError: { actions: noteAnswerThrown, target: '#question.answered' },
} as const;
const isLeft = { type: 'isLeft', params: ofHandler } as const;

const ofAnswer = ({ event: { action } }: { readonly event: Pick<QuestionReply, 'action'> }) => ({
  action,
  fault: null,
});

/** A question of a server, until it is answered. */
export const questionMachine = questionSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'question',
  context: ({ input }) => ({ ...input, action: null, fault: null }),
  initial: 'open',
  states: {
    open: {
      initial: 'addressing',
      on: { 'question.withdrawn': 'withdrawn' },
      after: { answerDeadline: 'timedOut' },
      states: {
        addressing: {
          always: [{ guard: 'isOfCaller', target: 'askingCaller' }, { target: 'listed' }],
        },
        askingCaller: {
          invoke: {
            ...consulting,
            onDone: [{ guard: isLeft, target: 'listed.unclaimed' }, replied],
          },
        },
        listed: {
          entry: 'announce',
          initial: 'askingHost',
          on: {
            'question.answered': {
              actions: { type: 'noteAnswer', params: ofAnswer },
              target: '#question.answered',
            },
          },
          states: {
            askingHost: {
              invoke: { ...consulting, onDone: [{ guard: isLeft, target: 'unclaimed' }, replied] },
            },
            unclaimed: {},
          },
        },
      },
    },
    answered: {
      always: [
        { guard: 'isAccepted', target: 'accepted' },
        { guard: 'isDeclined', target: 'declined' },
        { target: 'cancelled' },
      ],
    },
    accepted: { type: 'final' },
    declined: { type: 'final' },
    cancelled: { type: 'final' },
    timedOut: { type: 'final' },
    withdrawn: { type: 'final' },
  },
});
