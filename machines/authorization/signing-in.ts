/**
 * The steps of a login by a user. A token that is still valid stays in force meanwhile.
 *
 * ```text
 * [*] -> discovering
 * signingIn -- login.requested --> signingIn
 * signingIn -- login.cancelled | after loginDeadline --> weighing
 * signingIn -- store.changed --> loading
 * discovering invokes discover
 * discovering -- done discover [hasFailed] --> weighing
 * discovering -- done discover --> registering
 * discovering -- error discover --> weighing
 * registering invokes register
 * registering -- done register [hasFailed] --> weighing
 * registering -- done register --> awaitingUser
 * registering -- error register --> weighing
 * awaitingUser invokes askUser
 * awaitingUser -- done askUser [hasFailed] --> weighing
 * awaitingUser -- done askUser --> exchanging
 * awaitingUser -- error askUser --> weighing
 * exchanging invokes exchange
 * exchanging -- done exchange [hasFailed] --> weighing
 * exchanging -- done exchange --> authorized
 * exchanging -- error exchange --> weighing
 * ```
 */

import { authorizationSetup, doneOf, noteFailure, step } from './setup.ts';

const hasFailed = { type: 'hasFailed', params: doneOf } as const;
const noteStep = { type: 'noteStep', params: doneOf } as const;
const noteFailureInStep = {
  actions: noteFailure('unavailable', 'A step of the login failed unexpectedly.'),
  target: '#authorization.weighing',
} as const;
const endsFailed = { actions: noteStep, target: '#authorization.weighing' } as const;

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
