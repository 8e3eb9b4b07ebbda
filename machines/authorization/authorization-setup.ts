/**
 * What the authorization chart knows and does: its context, events, steps, guards and delays.
 *
 * The steps are promises that the runtime provides. They keep codes, verifiers, client secrets and
 * tokens to themselves; the chart sees scopes, times and failures.
 */

import { assign, fromPromise, setup } from 'xstate';
import type {
  AuthorizationFailure,
  AuthorizationFailureKind,
  TokenFacts,
} from '../../src/domain/authorization.ts';
import { longestTimerMs } from '../../src/domain/clock.ts';
import { quietDelay } from '../../src/policies/backoff.ts';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import { reachesLimit, recordInWindow } from '../../src/policies/window-limit.ts';
import { notProvided } from '../not-provided.ts';
import { type Demands, storedDemands, withDemand, withRecalled } from './demands.ts';

export interface AuthorizationInput {
  /** The credential's key, by which the steps find it. */
  readonly id: string;
  readonly seed: number;
  /** Whether a user has to log in; otherwise a token is requested without one. */
  readonly needsUser: boolean;
  /** How long before its expiry a token is renewed, in milliseconds. */
  readonly refreshAheadMs: number;
  /** How long a user may take to log in, in milliseconds. */
  readonly loginTimeoutMs: number;
  /** How often more scopes may be asked for than were granted. */
  readonly maxStepUps: number;
  /** How long a later run remembers that a server demanded a login, in milliseconds. */
  readonly rememberMs: number;
}

export interface AuthorizationContext extends AuthorizationInput {
  /** The latest token; null if there is none. */
  readonly token: TokenFacts | null;
  /** Whether the server refused the latest token. */
  readonly isRejected: boolean;
  /** Scopes that servers asked for, in addition to the granted ones; sorted. */
  readonly wanted: readonly string[];
  /** Whether the issuer refused the scopes of the metadata, so that only those that servers named count. */
  readonly asksForLess: boolean;
  /** Whether the user logs in on another device, with a code. */
  readonly isOnDevice: boolean;
  /** How the issuer answers questions about the code; null without one. */
  readonly device: DeviceTimes | null;
  /** Which servers demanded a login; null until the stored ones are read. */
  readonly demands: Demands | null;
  readonly stepUps: number;
  /** When tokens were renewed because a server refused them, by wall clock; those of the last minute. */
  readonly renewals: readonly number[];
  /** Failed attempts to renew the token since it was last renewed. */
  readonly attempt: number;
  readonly failure: AuthorizationFailure | null;
  /** Wall-clock time of the latest fact, in milliseconds. */
  readonly nowMs: number;
}

/** How a login on another device waits (RFC 8628), in milliseconds. */
export interface DeviceTimes {
  /** Between two questions to the issuer. */
  readonly intervalMs: number;
  /** How long the code is valid. */
  readonly lifetimeMs: number;
}

/** The result of a step; `nowMs` is the wall-clock time when it ended. */
export interface StepDone {
  readonly nowMs: number;
  readonly failure?: AuthorizationFailure;
  /** The issuer refused the scopes, and fewer can be asked for. */
  readonly canAskForLess?: boolean;
}

export interface CodeStepDone extends StepDone {
  readonly device?: DeviceTimes;
}

export interface TokenStepDone extends StepDone {
  /** The token that is now in force; null if there is none, absent if it is the same as before. */
  readonly token?: TokenFacts | null;
}

export interface LoadStepDone extends TokenStepDone {
  /** When servers demanded a login in earlier runs, by wall clock. */
  readonly demands?: Readonly<Record<string, number>>;
}

export interface PollStepDone extends TokenStepDone {
  /** The user has not decided yet; `slowDown`: the issuer wants to be asked less often. */
  readonly pending?: 'waiting' | 'slowDown';
}

export type StepInput = Pick<
  AuthorizationContext,
  'id' | 'wanted' | 'asksForLess' | 'isOnDevice' | 'isRejected'
>;

type Rejection = Extract<AuthorizationEvent, { readonly type: 'token.rejected' }>;

export type AuthorizationEvent =
  /** A user, a host or a command asks for a login; `device`: on another device, with a code. */
  | { readonly type: 'login.requested'; readonly device?: boolean }
  /** The login is no longer wanted. */
  | { readonly type: 'login.cancelled' }
  | { readonly type: 'logout.requested' }
  /** A session needs a token and there is none. */
  | { readonly type: 'token.wanted' }
  /** A server demanded a login: it refused a request without a token. */
  | { readonly type: 'login.demanded'; readonly by: string; readonly nowMs: number }
  /** A session of this server begins without a token. */
  | { readonly type: 'demand.recalled'; readonly by: string }
  /** A server refused the token of this generation with 401. */
  | { readonly type: 'token.rejected'; readonly generation: number; readonly nowMs: number }
  /** A server refused a request because the token lacks these scopes. */
  | { readonly type: 'scope.insufficient'; readonly scopes: readonly string[] }
  /** Another process wrote the credential. */
  | { readonly type: 'store.changed' }
  /** The machine slept, or the wall clock was set. */
  | { readonly type: 'clock.jumped'; readonly nowMs: number };

// Longer than a step may wait for other processes' changes to the credential, 80 s, and for its own.
const stepMs = 120_000;
// A tenth of a short lifetime: renewing a one-minute token five minutes ahead would never end.
const aheadFraction = 0.1;
// An issuer whose tokens expire at once must not be asked in a loop.
const soonestRenewalMs = 5_000;
// The eighth wait is the longest.
const longestWaitAttempt = 9;
const retries = { retryFromMs: 2_000, toMs: 300_000, floorMs: 1_000 } as const;

// More refusals of new tokens are not about a token; each renewal starts all servers that share the
// login, here and in other processes.
const renewalLimit = { limit: 5, windowMs: 60_000 } as const;

/** The same object, so that nothing is stored again. */
const noDemands: Demands = {};
// By RFC 8628, section 3.5.
const slowDownMs = 5_000;

const ofStep = ({ context }: { readonly context: AuthorizationContext }): StepInput => ({
  id: context.id,
  wanted: context.wanted,
  asksForLess: context.asksForLess,
  isOnDevice: context.isOnDevice,
  isRejected: context.isRejected,
});

/** Invokes a step with the credential's key and the wanted scopes. */
export function step<Name extends string>(name: Name) {
  return { id: name, src: name, input: ofStep } as const;
}

export const doneOf = <Done extends StepDone>({
  event,
}: {
  readonly event: { readonly output: Done };
}) => event.output;

export const noteFailure = (kind: AuthorizationFailureKind, message: string) =>
  ({ type: 'noteFailure', params: { kind, message } }) as const;

export const authorizationSetup = setup({
  types: {
    input: {} as AuthorizationInput,
    context: {} as AuthorizationContext,
    events: {} as AuthorizationEvent,
    tags: {} as 'needsUser' | 'waits',
  },
  actors: {
    /** Reads the stored credential. */
    load: fromPromise<LoadStepDone, StepInput>(notProvided('load', 'authorization')),
    /** Finds the issuer and its endpoints. */
    discover: fromPromise<StepDone, StepInput>(notProvided('discover', 'authorization')),
    /** Finds a client that the issuer knows, or registers one. */
    register: fromPromise<StepDone, StepInput>(notProvided('register', 'authorization')),
    /** Sends the user to the issuer, and resolves when the user is back. */
    askUser: fromPromise<StepDone, StepInput>(notProvided('askUser', 'authorization')),
    /** Obtains a code that the user enters on another device, and shows it. */
    requestCode: fromPromise<CodeStepDone, StepInput>(notProvided('requestCode', 'authorization')),
    /** Asks once whether the user has entered the code; stores the token. */
    poll: fromPromise<PollStepDone, StepInput>(notProvided('poll', 'authorization')),
    /** Exchanges what the user brought back for a token, and stores it. */
    exchange: fromPromise<TokenStepDone, StepInput>(notProvided('exchange', 'authorization')),
    /** Requests a token without a user, and stores it. */
    request: fromPromise<TokenStepDone, StepInput>(notProvided('request', 'authorization')),
    /** Renews the token, or takes over the one that another process stored. */
    refresh: fromPromise<TokenStepDone, StepInput>(notProvided('refresh', 'authorization')),
    /** Revokes and deletes the credential. */
    forget: fromPromise<StepDone, StepInput>(notProvided('forget', 'authorization')),
  },
  actions: {
    /** Records the token that a step found or obtained; a failed step changes no token. */
    noteToken: assign(({ context }, done: TokenStepDone) => tokenFrom(context, done)),
    /** Records the token that is stored. If it is the known one, the last login failed all the same. */
    noteLoaded: assign(({ context }, done: TokenStepDone): Partial<AuthorizationContext> => {
      const { failure } = context;
      const isKnown = done.token?.generation === context.token?.generation;
      const stays = done.failure === undefined && isKnown && failure?.kind !== 'store';
      return { ...tokenFrom(context, done), ...(stays && { failure }) };
    }),
    /** Records the demands of earlier runs, once. */
    noteDemands: assign(({ context }, { demands = {} }: LoadStepDone) => ({
      demands: context.demands ?? storedDemands(demands),
    })),
    /** Records that a server demanded a login. */
    noteDemand: assign(({ context }, { by, nowMs }: { by: string; nowMs: number }) => ({
      demands: withDemand(context, by, nowMs),
    })),
    /** Records that a session of the server begins. */
    recallDemand: assign(({ context }, by: string) => ({ demands: withRecalled(context, by) })),
    /** Records how a step ended that obtains no token. */
    noteStep: assign((_, { failure, nowMs }: StepDone): Partial<AuthorizationContext> => {
      return { failure: failure ?? null, nowMs };
    }),
    /** Records that the issuer no longer renews the token; it may be used until it expires. */
    noteGrantLost: assign(({ context: { token } }, { failure }: TokenStepDone) => ({
      // Only a token that is there is renewed.
      token: {
        ...(token as TokenFacts),
        isRefreshable: false,
        renewalRefusal: failure as AuthorizationFailure,
      },
    })),
    /** Records why a step did not end. */
    noteFailure: assign(
      (_, failure: AuthorizationFailure): Partial<AuthorizationContext> => ({ failure }),
    ),
    /** Records that the latest token is new, so no server has refused it yet. */
    acceptToken: assign({ isRejected: false }),
    /** Records that the server refused the token. */
    noteRejected: assign({ isRejected: true }),
    /** Records that a refused token is renewed now. */
    noteRenewal: assign(({ context: { renewals } }, nowMs: number) => ({
      renewals: recordInWindow(renewals, nowMs, renewalLimit),
    })),
    /** Records that the token's time is over, so that only another one counts. */
    noteExpired: assign(({ context: { token } }) => ({
      nowMs: token?.expiresAtMs ?? 0,
      // The issuer may have refused to renew it while it was still valid.
      failure: token?.renewalRefusal ?? nothingToRenew,
    })),
    /** Adds scopes to those that the next login asks for. */
    noteWanted: assign(({ context }, scopes: readonly string[]) => ({
      wanted: [...new Set([...context.wanted, ...scopes])].toSorted(),
      stepUps: context.stepUps + 1,
    })),
    /** Records the wall-clock time. */
    noteNow: assign((_, nowMs: number) => ({ nowMs })),
    /** Records that the longest timer has passed. */
    noteLongestWait: assign(({ context: { nowMs } }) => ({ nowMs: nowMs + longestTimerMs })),
    /** Counts a failed attempt; the wait stops growing at the ninth. */
    countAttempt: assign(({ context }) => ({
      attempt: Math.min(context.attempt + 1, longestWaitAttempt),
    })),
    /** Forgets the token and what was asked for. */
    clear: assign({
      token: null,
      isRejected: false,
      wanted: [],
      asksForLess: false,
      stepUps: 0,
      attempt: 0,
      demands: noDemands,
    }),
    /** Records how the user wants to log in, and forgets why the last login failed. */
    beginLogin: assign((_, isOnDevice: boolean) => ({
      isOnDevice,
      asksForLess: false,
      failure: null,
      renewals: [],
    })),
    /** Records that the issuer refused the scopes of the metadata. */
    askForLess: assign({ asksForLess: true }),
    /** Records how long the code is valid, and how often the issuer may be asked about it. */
    noteCode: assign(
      // A step that did not fail obtained a code.
      (_, { device }: CodeStepDone): Partial<AuthorizationContext> => ({
        device: device as DeviceTimes,
      }),
    ),
    /** Asks less often if the issuer wants that or fails (RFC 8628, section 3.5). */
    notePoll: assign(({ context: { device } }, { pending, failure }: PollStepDone) => ({
      device: device && { ...device, intervalMs: nextIntervalMs(device, pending, failure) },
      failure: failure ?? null,
    })),
    /** Records that the code is no longer valid, and why the issuer could not be asked about it. */
    noteCodeExpired: assign(({ context: { failure } }) => ({
      failure: {
        kind: 'timeout',
        message:
          failure === null
            ? 'The code expired before anyone entered it.'
            : `The code expired while the issuer could not be asked about it: ${failure.message}`,
      } as const,
    })),
    /** Forgets why the last login failed, and how often its token was refused. */
    forgetFailure: assign({ failure: null, renewals: [] }),
  },
  guards: {
    /** Whether the step failed. */
    hasFailed: (_, { failure }: StepDone) => failure !== undefined,
    /** Whether the step ended because the credential is gone: another process logged out. */
    isGone: (_, { token }: TokenStepDone) => token === null,
    /** Whether the step failed and another attempt may succeed. */
    mayPass: (_, { failure }: StepDone) =>
      failure !== undefined && (failure.kind === 'unavailable' || failure.kind === 'store'),
    /** Whether the issuer may accept fewer scopes; it is asked once. */
    mayAskForLess: ({ context }, { canAskForLess }: StepDone) =>
      canAskForLess === true && !context.asksForLess,
    /** Whether the user logs in on another device. */
    isOnDevice: ({ context }) => context.isOnDevice,
    /** Whether the user has not decided yet, or the issuer could not say. */
    isPending: (_, { pending, failure }: PollStepDone) =>
      pending !== undefined || failure?.kind === 'unavailable',
    /** Whether a token is there that servers may still accept. */
    isUsable: ({ context: { token, isRejected, nowMs } }) =>
      token !== null && !isRejected && (token.expiresAtMs === null || nowMs < token.expiresAtMs),
    /** Whether the issuer renews the token. */
    isRefreshable: ({ context: { token } }) => token?.isRefreshable === true,
    /** Whether the wait for the token's expiry only ended because no timer is longer. */
    isFarFromExpiry: ({ context: { token, nowMs, needsUser } }) => {
      const { expiresAtMs, isRefreshable } = token as TokenFacts;
      const leftMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs;
      return needsUser && !isRefreshable && leftMs > longestTimerMs;
    },
    /** Whether a token can be requested without a user. */
    needsNoUser: ({ context }) => !context.needsUser,
    /** Whether a later run is to remember demands for a login. */
    remembersDemands: ({ context }) => context.needsUser && context.rememberMs > 0,
    /** Whether the latest token was refused, and renewing it may help. */
    mayRenew: ({ context: { token, renewals } }, { generation, nowMs }: Rejection) =>
      token?.generation === generation &&
      !reachesLimit(
        renewals.filter((at) => nowMs - at < renewalLimit.windowMs),
        renewalLimit,
      ),
    /** Whether the refused token is the latest one. */
    isLatest: ({ context: { token } }, generation: number) => token?.generation === generation,
    /** Whether the login lacks any of these scopes, and more may be asked for. */
    mayStepUp: ({ context }, scopes: readonly string[]) => mayAskFor(context, scopes),
    /** Whether a token with more scopes can be requested without a user. */
    mayWiden: ({ context }, scopes: readonly string[]) =>
      !context.needsUser && mayAskFor(context, scopes),
    /** Whether the latest failure is of this kind. */
    hasFailure: ({ context: { failure } }, kind: AuthorizationFailureKind) =>
      failure?.kind === kind,
    /** Whether the last login or renewal failed. */
    hasAnyFailure: ({ context: { failure } }) => failure !== null,
  },
  delays: {
    /** Until the token is renewed, or, if it cannot be, until it expires. */
    renewal: ({ context: { token, nowMs, refreshAheadMs, needsUser, seed } }) => {
      const { expiresAtMs, isRefreshable, generation } = token as TokenFacts;
      const leftMs = (expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs;
      const isRenewed = isRefreshable || !needsUser;
      const aheadMs = isRenewed ? Math.min(refreshAheadMs, leftMs * aheadFraction) : 0;
      // Several processes share the credential; the first to renew it spares the others the wait.
      const earlyMs = aheadMs * 0.1 * chanceOf(seed, generation);
      const soonestMs = isRenewed ? soonestRenewalMs : 0;
      return Math.min(Math.max(soonestMs, leftMs - aheadMs - earlyMs), longestTimerMs);
    },
    /** Until the issuer is asked again. */
    retryDelay: ({ context: { attempt, failure, seed } }) =>
      Math.min(
        Math.max(
          failure?.retryAfterMs ?? 0,
          quietDelay(retries, 'full', attempt, chanceOf(seed, attempt)),
        ),
        longestTimerMs,
      ),
    /** Time limit for a step that no user takes part in. */
    stepDeadline: stepMs,
    /** Until the issuer is asked about the code again. */
    pollInterval: ({ context: { device } }) =>
      Math.min((device as DeviceTimes).intervalMs, longestTimerMs),
    /** Until the code is no longer valid. */
    codeLifetime: ({ context: { device } }) =>
      Math.min((device as DeviceTimes).lifetimeMs, longestTimerMs),
    /** Time limit for a login. */
    loginDeadline: ({ context }) => Math.min(context.loginTimeoutMs, longestTimerMs),
  },
});

const nothingToRenew: AuthorizationFailure = {
  kind: 'grant',
  message: 'The login has expired, and the issuer gave nothing to renew it with.',
};

function tokenFrom(
  context: AuthorizationContext,
  { token, nowMs, failure }: TokenStepDone,
): Partial<AuthorizationContext> {
  if (failure !== undefined || token === undefined) return { failure: failure ?? null, nowMs };
  const isNew = token?.generation !== context.token?.generation;
  return {
    // The store does not know that the issuer refused to renew it.
    token: isNew ? token : context.token,
    nowMs,
    failure: null,
    attempt: 0,
    isRejected: context.isRejected && !isNew,
    ...(token !== null && context.demands !== null && { demands: noDemands }),
    wanted: token === null ? context.wanted : without(context.wanted, token.scopes),
  };
}

function without(scopes: readonly string[], granted: readonly string[]): readonly string[] {
  return scopes.filter((scope) => !granted.includes(scope));
}

function mayAskFor(
  { stepUps, maxStepUps, wanted }: AuthorizationContext,
  scopes: readonly string[],
): boolean {
  return stepUps < maxStepUps && without(scopes, wanted).length > 0;
}

function nextIntervalMs(
  { intervalMs }: DeviceTimes,
  pending: PollStepDone['pending'],
  failure: AuthorizationFailure | undefined,
): number {
  if (pending === 'waiting') return intervalMs;
  if (pending === 'slowDown') return intervalMs + slowDownMs;
  return Math.max(intervalMs * 2, failure?.retryAfterMs ?? 0);
}
