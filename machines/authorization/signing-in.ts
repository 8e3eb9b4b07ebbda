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
 * registering -- done register [mayAskForLess] --> registering
 * registering -- done register [hasFailed] --> weighing
 * registering -- done register [isOnDevice] --> requestingCode
 * registering -- done register --> awaitingUser
 * registering -- error register --> weighing
 * awaitingUser invokes askUser
 * awaitingUser -- done askUser [hasFailed] --> weighing
 * awaitingUser -- done askUser --> exchanging
 * awaitingUser -- error askUser --> weighing
 * requestingCode invokes requestCode
 * requestingCode -- done requestCode [mayAskForLess] --> registering
 * requestingCode -- done requestCode [hasFailed] --> weighing
 * requestingCode -- done requestCode --> awaitingDevice
 * requestingCode -- error requestCode --> weighing
 * awaitingDevice -- after codeLifetime --> weighing
 * awaitingDevice: [*] -> pausing
 *   pausing -- after pollInterval --> polling
 *   polling invokes poll
 *   polling -- done poll [isPending] --> pausing
 *   polling -- done poll [hasFailed] --> weighing
 *   polling -- done poll --> authorized
 *   polling -- error poll --> weighing
 * exchanging invokes exchange
 * exchanging -- done exchange [mayAskForLess] --> registering
 * exchanging -- done exchange [hasFailed] --> weighing
 * exchanging -- done exchange --> authorized
 * exchanging -- error exchange --> weighing
 * ```
 */

import { authorizationSetup, doneOf, noteFailure, step } from './setup.ts';

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
  target: '#authorization.weighing',
} as const;
const obtained = {
  actions: [{ type: 'noteToken', params: doneOf }, 'acceptToken'],
  target: '#authorization.authorized',
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
          actions: noteFailure('timeout', 'The code expired before anyone entered it.'),
          target: '#authorization.weighing',
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
