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
 * registering -- done register [mayAskForLess] --> registering
 * registering -- done register [hasFailed] --> loading
 * registering -- done register [isOnDevice] --> requestingCode
 * registering -- done register --> awaitingUser
 * registering -- error register --> loading
 * awaitingUser invokes askUser
 * awaitingUser -- done askUser [hasFailed] --> loading
 * awaitingUser -- done askUser --> exchanging
 * awaitingUser -- error askUser --> loading
 * requestingCode invokes requestCode
 * requestingCode -- done requestCode [mayAskForLess] --> registering
 * requestingCode -- done requestCode [hasFailed] --> loading
 * requestingCode -- done requestCode --> awaitingDevice
 * requestingCode -- error requestCode --> loading
 * awaitingDevice -- after codeLifetime --> loading
 * awaitingDevice: [*] -> pausing
 *   pausing -- after pollInterval --> polling
 *   polling invokes poll
 *   polling -- done poll [isPending] --> pausing
 *   polling -- done poll [hasFailed] --> loading
 *   polling -- done poll --> authorized
 *   polling -- error poll --> loading
 * exchanging invokes exchange
 * exchanging -- done exchange [mayAskForLess] --> registering
 * exchanging -- done exchange [hasFailed] --> loading
 * exchanging -- done exchange --> authorized
 * exchanging -- error exchange --> loading
 * ```
 */

import { authorizationSetup, doneOf, noteFailure, step } from './authorization-setup.ts';

/** A second attempt, with fewer scopes and the same client. */
const asksForLess = {
  guard: { type: 'mayAskForLess', params: doneOf },
  actions: 'askForLess',
  target: '#authorization.signingIn.registering',
  reenter: true,
} as const;
const hasFailed = { type: 'hasFailed', params: doneOf } as const;
const noteStep = { type: 'noteStep', params: doneOf } as const;
const noteFailureInStep = {
  actions: noteFailure('unavailable', 'A step of the login failed unexpectedly.'),
  target: '#authorization.loading',
} as const;
const obtained = {
  actions: [{ type: 'noteToken', params: doneOf }, 'acceptToken'],
  target: '#authorization.authorized',
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
          asksForLess,
          { guard: hasFailed, ...endsFailed },
          { guard: 'isOnDevice', actions: noteStep, target: 'requestingCode' },
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
    requestingCode: {
      invoke: {
        ...step('requestCode'),
        onDone: [
          asksForLess,
          { guard: hasFailed, ...endsFailed },
          {
            actions: [noteStep, { type: 'noteCode', params: doneOf }],
            target: 'awaitingDevice',
          },
        ],
        onError: noteFailureInStep,
      },
    },
    awaitingDevice: {
      after: {
        codeLifetime: {
          actions: 'noteCodeExpired',
          target: '#authorization.loading',
        },
      },
      initial: 'pausing',
      states: {
        pausing: { after: { pollInterval: 'polling' } },
        polling: {
          invoke: {
            ...step('poll'),
            onDone: [
              {
                guard: { type: 'isPending', params: doneOf },
                actions: { type: 'notePoll', params: doneOf },
                target: 'pausing',
              },
              { guard: hasFailed, ...endsFailed },
              obtained,
            ],
            onError: noteFailureInStep,
          },
        },
      },
    },
    exchanging: {
      invoke: {
        ...step('exchange'),
        onDone: [asksForLess, { guard: hasFailed, ...endsFailed }, obtained],
        onError: noteFailureInStep,
      },
    },
  },
});
