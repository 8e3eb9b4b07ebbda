/**
 * Decides whether one call may go out. Asks the host first, then looks up what the user allowed
 * before, then asks the user.
 *
 * A call gets an actor of this chart only when a rule, the host or the policy asks about it; a
 * rule that denies has refused the call already. The chart holds verdicts, never the call's
 * arguments: the promises that ask find those by the id.
 *
 * Every question has a deadline, and a late, broken or meaningless answer denies the call.
 * A permission covers the server and the tool as they were when it was given. It is reviewed
 * right before the call is sent. If the server's settings changed, or a new rule requires
 * asking the user, the permission is `outdated` and the call needs another one.
 *
 * ```text
 * [*] -> asking
 * asking -- permission.withdrawn --> withdrawn
 * asking -- after callDeadline --> timedOut
 * asking: [*] -> weighing
 *   weighing -- always [isHostUnheard] --> askingHost
 *   weighing -- always [isDeniedByHost] --> denied
 *   weighing -- always [needsPerson] --> recalling
 *   weighing -- always --> allowed.withoutPerson
 *   askingHost invokes askHost
 *   askingHost -- done askHost [isVerdict] --> weighing
 *   askingHost -- done askHost --> denied
 *   askingHost -- error askHost --> denied
 *   askingHost -- after hostPatience --> timedOut
 *   recalling invokes recall
 *   recalling -- done recall [isRemembered] --> allowed.byPerson
 *   recalling -- done recall [hasPerson] --> askingPerson
 *   recalling -- done recall --> denied
 *   recalling -- error recall --> denied
 *   recalling -- after storePatience --> timedOut
 *   askingPerson invokes askPerson
 *   askingPerson -- done askPerson [allowsOnce] --> allowed.byPerson
 *   askingPerson -- done askPerson [allowsMore] --> keeping
 *   askingPerson -- done askPerson [refuses] --> denied
 *   askingPerson -- done askPerson --> denied
 *   askingPerson -- error askPerson --> denied
 *   askingPerson -- after personPatience --> timedOut
 *   keeping invokes keep
 *   keeping -- done keep | error keep | after storePatience --> allowed.byPerson
 * allowed: [*] -> withoutPerson
 *   withoutPerson -- permission.reviewed [isOtherServer] --> outdated
 *   withoutPerson -- permission.reviewed [isOtherTool] --> denied
 *   withoutPerson -- permission.reviewed [isDeniedByRule] --> denied
 *   withoutPerson -- permission.reviewed [isAskedByRule] --> outdated
 *   byPerson -- permission.reviewed [isOtherServer] --> outdated
 *   byPerson -- permission.reviewed [isOtherTool] --> denied
 *   byPerson -- permission.reviewed [isDeniedByRule] --> denied
 * outdated -> [*]
 * denied -> [*]
 * timedOut -> [*]
 * withdrawn -> [*]
 * ```
 */

import { assign, fromPromise, setup } from 'xstate';
import { longestTimerMs } from '../src/domain/clock.ts';
import type {
  PermissionAnswer,
  PermissionDenial,
  PermissionVerdict,
} from '../src/domain/permission.ts';
import { strictestVerdict } from '../src/policies/calls/permission-decision.ts';

export interface PermissionInput {
  /** Key by which the promises find the call, for example `p7`. */
  readonly id: string;
  /** The rules' verdict on the tool; null = no rule applies. */
  readonly byRules: 'allow' | 'ask' | null;
  /** Applies when neither the rules nor the host decide. */
  readonly byPolicy: 'allow' | 'ask';
  /** The host wants to decide about every call. */
  readonly hasHook: boolean;
  /** A user can be asked, at the host or at a client of the gateway. */
  readonly hasPerson: boolean;
  /** Time left until the caller's own deadline, in milliseconds; null = the caller set none. */
  readonly leftMs: number | null;
}

export interface PermissionContext extends PermissionInput {
  /** The host's verdict; null = it was not asked. */
  readonly byHost: PermissionVerdict | null;
  /** The user's yes to more than this call, which is to be kept; null = there is none. */
  readonly byPerson: PermissionAnswer | null;
  /** Why the call may not go out; null = nothing was decided against it. */
  readonly denial: PermissionDenial | null;
}

export type PermissionEvent =
  /** The call ended, or its server refuses calls: the answer is no longer wanted. */
  | { readonly type: 'permission.withdrawn' }
  /** The call is about to be sent: compares what was asked about with the present state. */
  | ({ readonly type: 'permission.reviewed' } & PermissionReview);

export interface PermissionReview {
  readonly isSameServer: boolean;
  readonly isSameTool: boolean;
  /** The present verdict of the rules; null = none. */
  readonly byRules: PermissionVerdict | null;
}

/** Names the call that a promise asks about. */
export interface AskedPermission {
  readonly id: string;
}

/** The user's yes to more than this call. */
export interface KeptAnswer extends AskedPermission {
  readonly isForServer: boolean;
}

// A rule is looked up in milliseconds; ten seconds leave room for a service that is asked.
const hostPatienceMs = 10_000;
// As long as a person has for an input: long enough to read, short enough not to be forgotten.
const personPatienceMs = 120_000;
// Twice as long as the store waits for the lock of its file.
const storePatienceMs = 10_000;

function notProvided(name: string): () => never {
  return () => {
    throw new Error(`actor "${name}" was not provided to the permission chart`);
  };
}

interface Answered {
  readonly answer: PermissionAnswer | null;
}
const ofPerson = ({ event }: { readonly event: { readonly output: PermissionAnswer | null } }) => ({
  answer: event.output,
});
const ofReview = ({ event }: { readonly event: PermissionReview }) => event;
const ofCall = ({ context: { id } }: { readonly context: PermissionContext }) => ({ id });
const noteDenial = (denial: PermissionDenial) =>
  ({ type: 'noteDenial', params: { denial } }) as const;
const deniedAs = (denial: PermissionDenial) =>
  ({ actions: noteDenial(denial), target: '#permission.denied' }) as const;

const permissionSetup = setup({
  types: {
    input: {} as PermissionInput,
    context: {} as PermissionContext,
    events: {} as PermissionEvent,
    output: {} as Pick<PermissionContext, 'denial'>,
  },
  actors: {
    /** Returns null for anything but a verdict. */
    askHost: fromPromise<PermissionVerdict | null, AskedPermission>(notProvided('askHost')),
    /** Whether the user allowed this and further calls before. */
    recall: fromPromise<boolean, AskedPermission>(notProvided('recall')),
    /** Returns null for anything but an answer. */
    askPerson: fromPromise<PermissionAnswer | null, AskedPermission>(notProvided('askPerson')),
    keep: fromPromise<void, KeptAnswer>(notProvided('keep')),
  },
  actions: {
    /** Keeps the host's verdict. */
    noteHost: assign((_, { verdict }: { verdict: PermissionVerdict | null }) => ({
      byHost: verdict,
    })),
    /** Keeps the user's answer. */
    noteAnswer: assign((_, { answer }: Answered) => ({ byPerson: answer })),
    /** Records why the call may not go out. */
    noteDenial: assign((_, { denial }: { denial: PermissionDenial }) => ({ denial })),
  },
  guards: {
    /** The host decides about every call and was not asked yet. */
    isHostUnheard: ({ context }) => context.hasHook && context.byHost === null,
    /** The host said no. */
    isDeniedByHost: ({ context }) => context.byHost === 'deny',
    /** The user decides: the strictest of rules and host says so, or the policy where neither decides. */
    needsPerson: ({ context: { byRules, byHost, byPolicy } }) =>
      (strictestVerdict(byRules ?? undefined, byHost ?? undefined) ?? byPolicy) === 'ask',
    /** The host answered with a verdict. */
    isVerdict: (_, { verdict }: { verdict: PermissionVerdict | null }) => verdict !== null,
    /** The user allowed this and further calls before. */
    isRemembered: (_, { isRemembered }: { isRemembered: boolean }) => isRemembered,
    /** A user can be asked. */
    hasPerson: ({ context }) => context.hasPerson,
    /** The user allowed this call. */
    allowsOnce: (_, { answer }: Answered) => answer === 'allow',
    /** The user allowed this call and further ones. */
    allowsMore: (_, { answer }: Answered) => answer === 'allowTool' || answer === 'allowServer',
    /** The user denied the call. */
    refuses: (_, { answer }: Answered) => answer === 'deny',
    /** The server has other settings than the one that was asked about. */
    isOtherServer: (_, { isSameServer }: PermissionReview) => !isSameServer,
    /** The tool has another definition than the one that was asked about. */
    isOtherTool: (_, { isSameTool }: PermissionReview) => !isSameTool,
    /** A rule added since then denies the tool. */
    isDeniedByRule: (_, { byRules }: PermissionReview) => byRules === 'deny',
    /** A rule added since then requires asking the user. */
    isAskedByRule: (_, { byRules }: PermissionReview) => byRules === 'ask',
  },
  delays: {
    /** For the host's hook. */
    hostPatience: hostPatienceMs,
    /** For the user's answer. */
    personPatience: personPatienceMs,
    /** For the file of permissions. */
    storePatience: storePatienceMs,
    /** The rest of the caller's own deadline, which also counts the time that questions take. */
    callDeadline: ({ context }) => Math.min(context.leftMs ?? longestTimerMs, longestTimerMs),
  },
});

/** Ends a permission whose subject changed, or that a new rule forbids. */
const ended = {
  byServer: { guard: { type: 'isOtherServer', params: ofReview }, target: '#permission.outdated' },
  byTool: {
    guard: { type: 'isOtherTool', params: ofReview },
    ...deniedAs('toolChanged'),
  },
  byRule: {
    guard: { type: 'isDeniedByRule', params: ofReview },
    ...deniedAs('rule'),
  },
} as const;

export const permissionMachine = permissionSetup.createMachine({
  // A loop of transitions is a bug: better a broken actor than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'permission',
  context: ({ input }) => ({ ...input, byHost: null, byPerson: null, denial: null }),
  output: ({ context: { denial } }) => ({ denial }),
  initial: 'asking',
  states: {
    asking: {
      initial: 'weighing',
      on: { 'permission.withdrawn': 'withdrawn' },
      after: { callDeadline: 'timedOut' },
      states: {
        weighing: {
          always: [
            { guard: 'isHostUnheard', target: 'askingHost' },
            { guard: 'isDeniedByHost', ...deniedAs('host') },
            { guard: 'needsPerson', target: 'recalling' },
            { target: '#permission.allowed.withoutPerson' },
          ],
        },
        askingHost: {
          invoke: {
            id: 'askHost',
            src: 'askHost',
            input: ofCall,
            onDone: [
              {
                guard: { type: 'isVerdict', params: ({ event }) => ({ verdict: event.output }) },
                actions: { type: 'noteHost', params: ({ event }) => ({ verdict: event.output }) },
                target: 'weighing',
              },
              deniedAs('hookNonsense'),
            ],
            onError: deniedAs('broken'),
          },
          after: { hostPatience: '#permission.timedOut' },
        },
        recalling: {
          invoke: {
            id: 'recall',
            src: 'recall',
            input: ofCall,
            onDone: [
              {
                guard: {
                  type: 'isRemembered',
                  params: ({ event }) => ({ isRemembered: event.output }),
                },
                target: '#permission.allowed.byPerson',
              },
              { guard: 'hasPerson', target: 'askingPerson' },
              deniedAs('noPerson'),
            ],
            onError: deniedAs('broken'),
          },
          after: { storePatience: '#permission.timedOut' },
        },
        askingPerson: {
          invoke: {
            id: 'askPerson',
            src: 'askPerson',
            input: ofCall,
            onDone: [
              {
                guard: { type: 'allowsOnce', params: ofPerson },
                target: '#permission.allowed.byPerson',
              },
              {
                guard: { type: 'allowsMore', params: ofPerson },
                actions: { type: 'noteAnswer', params: ofPerson },
                target: 'keeping',
              },
              {
                guard: { type: 'refuses', params: ofPerson },
                ...deniedAs('person'),
              },
              deniedAs('nonsense'),
            ],
            onError: deniedAs('broken'),
          },
          after: { personPatience: '#permission.timedOut' },
        },
        // The yes counts for this call even if it cannot be saved.
        keeping: {
          invoke: {
            id: 'keep',
            src: 'keep',
            input: ({ context: { id, byPerson } }) => ({
              id,
              isForServer: byPerson === 'allowServer',
            }),
            onDone: '#permission.allowed.byPerson',
            onError: '#permission.allowed.byPerson',
          },
          after: { storePatience: '#permission.allowed.byPerson' },
        },
      },
    },
    // Until the call ends, which stops the actor.
    allowed: {
      initial: 'withoutPerson',
      states: {
        withoutPerson: {
          on: {
            'permission.reviewed': [
              ended.byServer,
              ended.byTool,
              ended.byRule,
              {
                guard: { type: 'isAskedByRule', params: ofReview },
                target: '#permission.outdated',
              },
            ],
          },
        },
        byPerson: {
          on: { 'permission.reviewed': [ended.byServer, ended.byTool, ended.byRule] },
        },
      },
    },
    outdated: { type: 'final' },
    denied: { type: 'final' },
    timedOut: { entry: noteDenial('late'), type: 'final' },
    withdrawn: { type: 'final' },
  },
});
