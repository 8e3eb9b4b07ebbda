/**
 * Decides whether one call may be sent. It asks the host first, then looks up the user's earlier
 * permissions, then asks the user.
 *
 * A call gets an actor of this chart only when a rule, the host or the policy requires asking; a
 * rule that denies has already refused the call. The chart stores decisions, never the call's
 * arguments: the promises that ask find those by the id.
 *
 * Every question has a deadline, and a late, failed or invalid answer denies the call. A permission
 * covers the server and the tool as they were when it was given. It is reviewed right before the
 * call is sent. If the server's settings changed, or a new rule requires asking the user, the
 * permission is `outdated` and the call needs another one.
 *
 * ```text
 * [*] -> asking
 * asking -- permission.withdrawn --> withdrawn
 * asking -- after callDeadline --> timedOut
 * asking: [*] -> weighing
 *   weighing -- always [isHostUnheard] --> askingHost
 *   weighing -- always [isDeniedByHost] --> denied
 *   weighing -- always [needsUser] --> recalling
 *   weighing -- always --> allowed.withoutUser
 *   askingHost invokes askHost
 *   askingHost -- done askHost [isVerdict] --> weighing
 *   askingHost -- done askHost --> denied
 *   askingHost -- error askHost --> denied
 *   askingHost -- after hostPatience --> timedOut
 *   recalling invokes recall
 *   recalling -- done recall [isRemembered] --> allowed.byUser
 *   recalling -- done recall [hasUser] --> askingUser
 *   recalling -- done recall --> denied
 *   recalling -- error recall --> denied
 *   recalling -- after storePatience --> timedOut
 *   askingUser invokes askUser
 *   askingUser -- done askUser [allowsOnce] --> allowed.byUser
 *   askingUser -- done askUser [allowsMore] --> keeping
 *   askingUser -- done askUser [refuses] --> denied
 *   askingUser -- done askUser --> denied
 *   askingUser -- error askUser --> denied
 *   askingUser -- after userPatience --> timedOut
 *   keeping invokes keep
 *   keeping -- done keep | error keep | after storePatience --> allowed.byUser
 * allowed: [*] -> withoutUser
 *   withoutUser -- permission.reviewed [isOtherServer] --> outdated
 *   withoutUser -- permission.reviewed [isOtherTool] --> denied
 *   withoutUser -- permission.reviewed [isDeniedByRule] --> denied
 *   withoutUser -- permission.reviewed [isAskedByRule] --> outdated
 *   byUser -- permission.reviewed [isOtherServer] --> outdated
 *   byUser -- permission.reviewed [isOtherTool] --> denied
 *   byUser -- permission.reviewed [isDeniedByRule] --> denied
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
import { notProvided } from './not-provided.ts';

export interface PermissionInput {
  /** Key by which the promises find the call, for example `p7`. */
  readonly id: string;
  /** The rules' decision on the tool; null if no rule applies. */
  readonly byRules: 'allow' | 'ask' | null;
  /** Applies when neither the rules nor the host decide. */
  readonly byPolicy: 'allow' | 'ask';
  /** Whether the host wants to decide about every call. */
  readonly hasHook: boolean;
  /** Whether the host or a client of the gateway can ask a user. */
  readonly hasUser: boolean;
  /** Time left until the caller's own deadline, in milliseconds; null if the caller set none. */
  readonly leftMs: number | null;
}

export interface PermissionContext extends PermissionInput {
  /** The host's decision; null if it was not asked. */
  readonly byHost: PermissionVerdict | null;
  /** The user's permission for more than this call, to be stored; null if there is none. */
  readonly byUser: PermissionAnswer | null;
  /** Why the call may not be sent; null if nothing has denied it. */
  readonly denial: PermissionDenial | null;
}

export type PermissionEvent =
  /** The call ended, or its server refuses calls: the answer is no longer needed. */
  | { readonly type: 'permission.withdrawn' }
  /** The call is about to be sent: compares the approved server and tool with the current ones. */
  | ({ readonly type: 'permission.reviewed' } & PermissionReview);

export interface PermissionReview {
  readonly isSameServer: boolean;
  readonly isSameTool: boolean;
  /** The rules' current decision; null if there is none. */
  readonly byRules: PermissionVerdict | null;
}

/** Identifies the call of a permission request. */
export interface AskedPermission {
  readonly id: string;
}

/** The user's permission for more than this call. */
export interface KeptAnswer extends AskedPermission {
  readonly isForServer: boolean;
}

// A hook responds in milliseconds; ten seconds leave room for one that queries a service.
const hostPatienceMs = 10_000;
// As long as a user has for an input: long enough to read, short enough not to be forgotten.
const userPatienceMs = 120_000;
// Twice as long as the store waits for its file's lock.
const storePatienceMs = 10_000;

function outputOf<Output>({ event }: { readonly event: { readonly output: Output } }): Output {
  return event.output;
}
const ofReview = ({ event }: { readonly event: PermissionReview }) => event;
const ofCall = ({ context: { id } }: { readonly context: PermissionContext }) => ({ id });
const noteDenial = (denial: PermissionDenial) => ({ type: 'noteDenial', params: denial }) as const;
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
    /** Asks the host; resolves with null for anything but a decision. */
    askHost: fromPromise<PermissionVerdict | null, AskedPermission>(
      notProvided('askHost', 'permission'),
    ),
    /** Resolves with whether the user already allowed this and further calls. */
    recall: fromPromise<boolean, AskedPermission>(notProvided('recall', 'permission')),
    /** Asks the user; resolves with null for anything but an answer. */
    askUser: fromPromise<PermissionAnswer | null, AskedPermission>(
      notProvided('askUser', 'permission'),
    ),
    keep: fromPromise<void, KeptAnswer>(notProvided('keep', 'permission')),
  },
  actions: {
    /** Stores the host's decision. */
    noteHost: assign((_, byHost: PermissionVerdict | null) => ({ byHost })),
    /** Stores the user's answer. */
    noteAnswer: assign((_, byUser: PermissionAnswer | null) => ({ byUser })),
    /** Records why the call may not be sent. */
    noteDenial: assign((_, denial: PermissionDenial) => ({ denial })),
  },
  guards: {
    /** Whether the host decides about every call and has not decided yet. */
    isHostUnheard: ({ context }) => context.hasHook && context.byHost === null,
    /** Whether the host denied the call. */
    isDeniedByHost: ({ context }) => context.byHost === 'deny',
    /**
     * Whether the user decides: by the stricter decision of rules and host, or by policy if there
     * is neither.
     */
    needsUser: ({ context: { byRules, byHost, byPolicy } }) =>
      (strictestVerdict(byRules ?? undefined, byHost ?? undefined) ?? byPolicy) === 'ask',
    /** Whether the host responded with a decision. */
    isVerdict: (_, verdict: PermissionVerdict | null) => verdict !== null,
    /** Whether the user already allowed this and further calls. */
    isRemembered: (_, isRemembered: boolean) => isRemembered,
    /** Whether a user can be asked. */
    hasUser: ({ context }) => context.hasUser,
    /** Whether the user allowed this call. */
    allowsOnce: (_, answer: PermissionAnswer | null) => answer === 'allow',
    /** Whether the user allowed this call and further ones. */
    allowsMore: (_, answer: PermissionAnswer | null) =>
      answer === 'allowTool' || answer === 'allowServer',
    /** Whether the user denied the call. */
    refuses: (_, answer: PermissionAnswer | null) => answer === 'deny',
    /** Whether the server's settings changed after the request. */
    isOtherServer: (_, { isSameServer }: PermissionReview) => !isSameServer,
    /** Whether the tool's definition changed after the request. */
    isOtherTool: (_, { isSameTool }: PermissionReview) => !isSameTool,
    /** Whether a rule added since then denies the tool. */
    isDeniedByRule: (_, { byRules }: PermissionReview) => byRules === 'deny',
    /** Whether a rule added since then requires asking the user. */
    isAskedByRule: (_, { byRules }: PermissionReview) => byRules === 'ask',
  },
  delays: {
    /** Time limit for the host's hook. */
    hostPatience: hostPatienceMs,
    /** Time limit for the user's answer. */
    userPatience: userPatienceMs,
    /** Time limit for the permissions file. */
    storePatience: storePatienceMs,
    /** The rest of the caller's own deadline, which also counts the time spent on questions. */
    callDeadline: ({ context }) => Math.min(context.leftMs ?? longestTimerMs, longestTimerMs),
  },
});

/** Ends a permission whose subject changed, or that a new rule denies. */
const ended = {
  byServer: { guard: { type: 'isOtherServer', params: ofReview }, target: '#permission.outdated' },
  byTool: { guard: { type: 'isOtherTool', params: ofReview }, ...deniedAs('toolChanged') },
  byRule: { guard: { type: 'isDeniedByRule', params: ofReview }, ...deniedAs('rule') },
} as const;

/** The permission of one call. */
export const permissionMachine = permissionSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'permission',
  context: ({ input }) => ({ ...input, byHost: null, byUser: null, denial: null }),
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
            { guard: 'needsUser', target: 'recalling' },
            { target: '#permission.allowed.withoutUser' },
          ],
        },
        askingHost: {
          invoke: {
            id: 'askHost',
            src: 'askHost',
            input: ofCall,
            onDone: [
              {
                guard: { type: 'isVerdict', params: outputOf },
                actions: { type: 'noteHost', params: outputOf },
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
                guard: { type: 'isRemembered', params: outputOf },
                target: '#permission.allowed.byUser',
              },
              { guard: 'hasUser', target: 'askingUser' },
              deniedAs('noUser'),
            ],
            onError: deniedAs('broken'),
          },
          after: { storePatience: '#permission.timedOut' },
        },
        askingUser: {
          invoke: {
            id: 'askUser',
            src: 'askUser',
            input: ofCall,
            onDone: [
              {
                guard: { type: 'allowsOnce', params: outputOf },
                target: '#permission.allowed.byUser',
              },
              {
                guard: { type: 'allowsMore', params: outputOf },
                actions: { type: 'noteAnswer', params: outputOf },
                target: 'keeping',
              },
              { guard: { type: 'refuses', params: outputOf }, ...deniedAs('user') },
              deniedAs('nonsense'),
            ],
            onError: deniedAs('broken'),
          },
          after: { userPatience: '#permission.timedOut' },
        },
        // The permission applies to this call even if it cannot be saved.
        keeping: {
          invoke: {
            id: 'keep',
            src: 'keep',
            input: ({ context: { id, byUser } }) => ({
              id,
              isForServer: byUser === 'allowServer',
            }),
            onDone: '#permission.allowed.byUser',
            onError: '#permission.allowed.byUser',
          },
          after: { storePatience: '#permission.allowed.byUser' },
        },
      },
    },
    // Until the call ends, which stops the actor.
    allowed: {
      initial: 'withoutUser',
      states: {
        withoutUser: {
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
        byUser: {
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
