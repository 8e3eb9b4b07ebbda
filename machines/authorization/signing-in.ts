/**
 * The steps of a login by a user. A token that is still valid stays in force meanwhile, also when
 * another process renews it, so a login that fails reads the credential again.
 *
 * ```text
 * [*] -> discovering
 * signingIn -- login.requested --> signingIn
 * signingIn -- login.cancelled | after loginDeadline --> loading
 * signingIn -- store.changed [isUsable] --> (ignored)
 * signingIn -- store.changed --> loading
 * discovering invokes discover
 * discovering -- done discover [hasFailed] --> loading
 * discovering -- done discover --> registering
 * discovering -- error discover --> loading
 * registering invokes register
 * registering -- done register [hasFailed] --> loading
 * registering -- done register --> awaitingUser
 * registering -- error register --> loading
 * awaitingUser invokes askUser
 * awaitingUser -- done askUser [hasFailed] --> loading
 * awaitingUser -- done askUser --> exchanging
 * awaitingUser -- error askUser --> loading
 * exchanging invokes exchange
 * exchanging -- done exchange [hasFailed] --> loading
 * exchanging -- done exchange --> authorized
 * exchanging -- error exchange --> loading
 * ```
 */

import { authorizationSetup, doneOf, noteFailure, step } from './setup.ts';

const hasFailed = { type: 'hasFailed', params: doneOf } as const;
const noteStep = { type: 'noteStep', params: doneOf } as const;
const noteFailureInStep = {
  actions: noteFailure('unavailable', 'A step of the login failed unexpectedly.'),
  target: '#authorization.loading',
} as const;
const endsFailed = { actions: noteStep, target: '#authorization.loading' } as const;

export const signingInStates = authorizationSetup.createStateConfig({
  initial: 'discovering',
  states: {
    discovering: {
      invoke: {
        ...step('discover'),
        onDone: [
          { guard: hasFailed, ...endsFailed },
          { actions: noteStep, target: 'registering' },
        ],
        onError: noteFailureInStep,
      },
    },
    registering: {
      invoke: {
        ...step('register'),
        onDone: [
          { guard: hasFailed, ...endsFailed },
          { actions: noteStep, target: 'awaitingUser' },
        ],
        onError: noteFailureInStep,
      },
    },
    awaitingUser: {
      invoke: {
        ...step('askUser'),
        onDone: [
          { guard: hasFailed, ...endsFailed },
          { actions: noteStep, target: 'exchanging' },
        ],
        onError: noteFailureInStep,
      },
    },
    exchanging: {
      invoke: {
        ...step('exchange'),
        onDone: [
          { guard: hasFailed, ...endsFailed },
          {
            actions: [{ type: 'noteToken', params: doneOf }, 'acceptToken'],
            target: '#authorization.authorized',
          },
        ],
        onError: noteFailureInStep,
      },
    },
  },
});
