/**
 * No usable token: the reason rests as a state, and a login begins here.
 *
 * ```text
 * [*] -> choosing
 * unauthorized -- login.requested [needsNoUser] --> requesting
 * unauthorized -- login.requested --> signingIn
 * unauthorized -- token.wanted [needsNoUser] --> requesting
 * unauthorized -- store.changed --> loading
 * choosing -- always [hasFailure] --> clientNeeded
 * choosing -- always [hasFailure] --> denied
 * choosing -- always [hasFailure] --> expired
 * choosing -- always [hasAnyFailure] --> failed
 * choosing -- always --> signedOut
 * signedOut, clientNeeded, denied, expired, failed
 * ```
 */

import { authorizationSetup } from './authorization-setup.ts';

/** A login by a user begins, or begins again. */
export const signsIn = {
  actions: {
    type: 'beginLogin',
    params: ({ event }: { readonly event: { readonly device?: boolean } }) => event.device === true,
  },
  target: '#authorization.signingIn',
} as const;
/** A login without a user is a request for another token. */
export const logsIn = [
  { guard: 'needsNoUser', actions: 'forgetFailure', target: '#authorization.requesting' },
  signsIn,
] as const;

export const unauthorized = authorizationSetup.createStateConfig({
  tags: 'needsUser',
  on: {
    'login.requested': logsIn,
    'token.wanted': { guard: 'needsNoUser', target: '#authorization.requesting' },
    'store.changed': '#authorization.loading',
  },
  initial: 'choosing',
  states: {
    choosing: {
      always: [
        { guard: { type: 'hasFailure', params: 'clientNeeded' }, target: 'clientNeeded' },
        { guard: { type: 'hasFailure', params: 'denied' }, target: 'denied' },
        { guard: { type: 'hasFailure', params: 'grant' }, target: 'expired' },
        { guard: 'hasAnyFailure', target: 'failed' },
        { target: 'signedOut' },
      ],
    },
    signedOut: {},
    clientNeeded: {},
    denied: {},
    expired: {},
    failed: {},
  },
});
