/**
 * The login behind one credential: an issuer, a server's address and an account. All servers that
 * share the credential use its token.
 *
 * ```text
 * [*] -> loading
 * authorization -- logout.requested --> loggingOut
 * authorization -- token.rejected [isLatest] --> (stays)
 * authorization -- login.demanded [remembersDemands] --> (stays)
 * authorization -- demand.recalled --> (stays)
 * authorization -- scope.insufficient [mayStepUp] --> (stays)
 * loading invokes load
 * loading -- store.changed --> loading
 * loading -- done load | error load | after stepDeadline --> weighing
 * weighing -- always [isUsable] --> authorized
 * weighing -- always [isRefreshable] --> refreshing
 * weighing -- always --> unauthorized
 * authorized -- login.requested [needsNoUser] --> requesting
 * authorized -- login.requested --> signingIn
 * authorized -- store.changed --> loading
 * authorized -- token.rejected [mayRenew] --> renewing
 * authorized -- token.rejected --> (ignored)
 * authorized -- scope.insufficient [mayWiden] --> requesting
 * authorized -- clock.jumped --> weighing
 * authorized -- after renewal [isFarFromExpiry] --> authorized
 * authorized -- after renewal --> renewing
 * renewing -- always [isRefreshable] --> refreshing
 * renewing -- always [needsNoUser] --> requesting
 * renewing -- always --> unauthorized
 * requesting invokes request
 * requesting -- done request [mayPass] --> retrying
 * requesting -- done request [mayAskForLess] --> requesting
 * requesting -- done request [hasFailed] --> weighing
 * requesting -- done request --> authorized
 * requesting -- error request | after stepDeadline --> retrying
 * refreshing invokes refresh
 * refreshing -- login.requested [needsNoUser] --> requesting
 * refreshing -- login.requested --> signingIn
 * refreshing -- done refresh [mayPass] --> retrying
 * refreshing -- done refresh [hasFailed] --> afterRefusal
 * refreshing -- done refresh [isGone] --> weighing
 * refreshing -- done refresh --> authorized
 * refreshing -- error refresh | after stepDeadline --> retrying
 * afterRefusal -- always [isUsable] --> authorized
 * afterRefusal -- always [needsNoUser] --> requesting
 * afterRefusal -- always --> unauthorized
 * retrying -- login.requested [needsNoUser] --> requesting
 * retrying -- login.requested --> signingIn
 * retrying -- store.changed --> loading
 * retrying -- after retryDelay --> renewing
 * signingIn -- (see signing-in.ts) --> loading | authorized
 * unauthorized -- (see unauthorized.ts) --> requesting | signingIn | loading
 * loggingOut invokes forget
 * loggingOut -- logout.requested --> (ignored)
 * loggingOut -- done forget | error forget | after stepDeadline --> unauthorized
 * ```
 */

import { authorizationSetup, doneOf, noteFailure, step } from './authorization-setup.ts';
import { signingInStates } from './signing-in.ts';
import { logsIn, signsIn, unauthorized } from './unauthorized.ts';

const noteToken = { type: 'noteToken', params: doneOf } as const;
const noteGrantLost = { type: 'noteGrantLost', params: doneOf } as const;
const noteStep = { type: 'noteStep', params: doneOf } as const;
const hasFailed = { type: 'hasFailed', params: doneOf } as const;
const isGone = { type: 'isGone', params: doneOf } as const;
const mayPass = { type: 'mayPass', params: doneOf } as const;
const noteFailureLate = noteFailure('unavailable', 'The issuer did not answer in time.');
const noteFailureInStep = noteFailure('unavailable', 'A step of the login failed unexpectedly.');

const isLatest = {
  type: 'isLatest',
  params: ({ event }: { readonly event: { readonly generation: number } }) => event.generation,
} as const;
const mayAskForLess = { type: 'mayAskForLess', params: doneOf } as const;
const scopesOf = ({ event }: { readonly event: { readonly scopes: readonly string[] } }) =>
  event.scopes;
const noteWanted = { type: 'noteWanted', params: scopesOf } as const;
/** The login behind one credential. */
export const authorizationMachine = authorizationSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'authorization',
  context: ({ input }) => ({
    ...input,
    token: null,
    isRejected: false,
    wanted: [],
    asksForLess: false,
    isOnDevice: false,
    device: null,
    demands: null,
    stepUps: 0,
    renewals: [],
    attempt: 0,
    failure: null,
    nowMs: 0,
  }),
  initial: 'loading',
  on: {
    'logout.requested': '.loggingOut',
    'token.rejected': { guard: isLatest, actions: 'noteRejected' },
    'login.demanded': {
      guard: 'remembersDemands',
      actions: { type: 'noteDemand', params: ({ event: { by, nowMs } }) => ({ by, nowMs }) },
    },
    'demand.recalled': { actions: { type: 'recallDemand', params: ({ event }) => event.by } },
    // Whatever is known of it helps the next login, whichever state it is in.
    'scope.insufficient': {
      guard: { type: 'mayStepUp', params: scopesOf },
      actions: noteWanted,
    },
  },
  states: {
    loading: {
      tags: 'waits',
      // What is read now may be older than the change.
      on: { 'store.changed': { target: 'loading', reenter: true } },
      invoke: {
        ...step('load'),
        onDone: {
          actions: [
            { type: 'noteDemands', params: doneOf },
            { type: 'noteLoaded', params: doneOf },
          ],
          target: 'weighing',
        },
        onError: {
          actions: noteFailure('store', 'The stored login could not be read.'),
          target: 'weighing',
        },
      },
      after: {
        stepDeadline: {
          actions: noteFailure('store', 'The stored login could not be read in time.'),
          target: 'weighing',
        },
      },
    },
    weighing: {
      always: [
        { guard: 'isUsable', target: 'authorized' },
        { guard: 'isRefreshable', target: 'refreshing' },
        { target: 'unauthorized' },
      ],
    },
    authorized: {
      on: {
        'login.requested': logsIn,
        'store.changed': 'loading',
        'token.rejected': [
          {
            guard: { type: 'mayRenew', params: ({ event }) => event },
            actions: ['noteRejected', { type: 'noteRenewal', params: ({ event }) => event.nowMs }],
            target: 'renewing',
          },
          // The server's refusal stands.
          {},
        ],
        'scope.insufficient': {
          guard: { type: 'mayWiden', params: scopesOf },
          actions: noteWanted,
          target: 'requesting',
        },
        'clock.jumped': {
          actions: { type: 'noteNow', params: ({ event }) => event.nowMs },
          target: 'weighing',
        },
      },
      after: {
        renewal: [
          {
            guard: 'isFarFromExpiry',
            actions: 'noteLongestWait',
            target: 'authorized',
            reenter: true,
          },
          { target: 'renewing' },
        ],
      },
    },
    renewing: {
      always: [
        { guard: 'isRefreshable', target: 'refreshing' },
        { guard: 'needsNoUser', target: 'requesting' },
        { actions: 'noteExpired', target: 'unauthorized' },
      ],
    },
    requesting: {
      tags: 'waits',
      invoke: {
        ...step('request'),
        onDone: [
          { guard: mayPass, actions: noteToken, target: 'retrying' },
          { guard: mayAskForLess, actions: 'askForLess', target: 'requesting', reenter: true },
          { guard: hasFailed, actions: noteToken, target: 'weighing' },
          { actions: [noteToken, 'acceptToken'], target: 'authorized' },
        ],
        onError: { actions: noteFailureInStep, target: 'retrying' },
      },
      after: { stepDeadline: { actions: noteFailureLate, target: 'retrying' } },
    },
    refreshing: {
      tags: 'waits',
      on: { 'login.requested': logsIn },
      invoke: {
        ...step('refresh'),
        onDone: [
          { guard: mayPass, actions: noteToken, target: 'retrying' },
          { guard: hasFailed, actions: [noteToken, noteGrantLost], target: 'afterRefusal' },
          { guard: isGone, actions: noteToken, target: 'weighing' },
          { actions: [noteToken, 'acceptToken'], target: 'authorized' },
        ],
        onError: { actions: noteFailureInStep, target: 'retrying' },
      },
      after: { stepDeadline: { actions: noteFailureLate, target: 'retrying' } },
    },
    afterRefusal: {
      always: [
        { guard: 'isUsable', target: 'authorized' },
        { guard: 'needsNoUser', target: 'requesting' },
        { target: 'unauthorized' },
      ],
    },
    retrying: {
      entry: 'countAttempt',
      on: { 'login.requested': logsIn, 'store.changed': 'loading' },
      after: { retryDelay: 'renewing' },
    },
    signingIn: {
      on: {
        // A new login replaces one that is under way.
        'login.requested': { ...signsIn, reenter: true },
        'login.cancelled': 'loading',
        // Another process renewed the token, or made the login that this one waits for.
        'store.changed': [{ guard: 'isUsable' }, { target: 'loading' }],
      },
      after: {
        loginDeadline: {
          actions: noteFailure('timeout', 'No one completed the login in time.'),
          target: 'loading',
        },
      },
      ...signingInStates,
    },
    unauthorized,
    loggingOut: {
      entry: 'clear',
      on: {
        // The tokens are being revoked, and no other process has them any more.
        'logout.requested': {},
      },
      invoke: {
        ...step('forget'),
        onDone: { actions: noteStep, target: 'unauthorized' },
        onError: {
          actions: noteFailure('store', 'The stored login could not be deleted.'),
          target: 'unauthorized',
        },
      },
      after: {
        stepDeadline: {
          actions: noteFailure('store', 'The stored login could not be deleted in time.'),
          target: 'unauthorized',
        },
      },
    },
  },
});
