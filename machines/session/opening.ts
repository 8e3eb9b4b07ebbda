/**
 * Opens a session: from a server's settings to a client that has finished its handshake in the era
 * that the server supports.
 *
 * A server whose era is unknown is probed first. If it does not respond, or not in a valid form, the
 * same attempt falls back to the old handshake. If the server refuses that, it is probed once more,
 * because it may be a modern one that was too slow. Some servers exit on any request before the
 * handshake. They are started a second time with the old handshake, which counts neither as a crash
 * nor as an attempt.
 * An address that rejects the current protocol the way servers of 2024 do is retried once over SSE;
 * if that fails, the first failure is reported. One deadline covers all steps. It restarts when the
 * machine wakes, because a server cannot respond while the machine sleeps.
 *
 * ```text
 * [*] -> resolving
 * opening -- session.close | start.expired --> closing
 * opening -- wire.ended | wire.lost --> releasing
 * opening -- server.woke --> (stays)
 * resolving invokes resolveTarget
 * resolving -- done resolveTarget [hasFailed] --> releasing
 * resolving -- done resolveTarget [hasProcess] --> launching
 * resolving -- done resolveTarget [asksEra] --> connecting.asking
 * resolving -- done resolveTarget --> connecting.greeting
 * resolving -- error resolveTarget --> closing
 * launching invokes launchProcess
 * launching -- done launchProcess [hasFailed] --> releasing
 * launching -- done launchProcess [asksEra] --> connecting.preparing
 * launching -- done launchProcess --> connecting.greeting
 * launching -- error launchProcess --> closing
 * connecting invokes connectClient
 * connecting -- done connectClient [mayBeOverSse] --> fallingBack
 * connecting -- done connectClient [hasFailed] --> releasing
 * connecting -- done connectClient --> loadingTools
 * connecting -- error connectClient --> closing
 * connecting: [*] -> preparing
 *   preparing -- wire.sent [isEraQuestion] --> asking
 *   asking -- wire.sent [isInitialize] --> greeting
 *   asking -- done connectClient [hasLeft] --> leaving
 *   asking -- wire.ended [hasProcess] --> leaving
 *   greeting
 * leaving invokes closeConnection
 * leaving -- wire.ended --> (ignored)
 * leaving -- done closeConnection --> relaunching
 * leaving -- error closeConnection --> closing
 * relaunching invokes launchProcess
 * relaunching -- done launchProcess [hasFailed] --> releasing
 * relaunching -- done launchProcess --> greetingOld
 * relaunching -- error launchProcess --> closing
 * greetingOld invokes connectClient
 * greetingOld -- done connectClient [hasFailed] --> releasing
 * greetingOld -- done connectClient --> loadingTools
 * greetingOld -- error connectClient --> closing
 * fallingBack invokes closeConnection
 * fallingBack -- wire.ended --> (ignored)
 * fallingBack -- done closeConnection --> greetingOverSse
 * fallingBack -- error closeConnection --> closing
 * greetingOverSse invokes connectClient
 * greetingOverSse -- done connectClient [hasFailed] --> releasing
 * greetingOverSse -- done connectClient --> loadingTools
 * greetingOverSse -- error connectClient --> closing
 * ```
 */

import type { SessionId, StepFailed } from '../../src/domain/session.ts';
import {
  broken,
  contextOf,
  eventOf,
  idOf,
  outcomeOf,
  type SessionContext,
  sessionSetup,
} from './session-setup.ts';

const failed = {
  guard: { type: 'hasFailed', params: outcomeOf },
  actions: { type: 'recordFailure', params: outcomeOf },
  target: '#session.releasing',
} as const;

/** Reports the first failure when SSE also failed, because it is more informative. */
const failedOverSse = {
  guard: { type: 'hasFailed', params: outcomeOf },
  target: '#session.releasing',
  actions: {
    type: 'recordFailure',
    params: ({ context }: { readonly context: SessionContext }) => context.refusal as StepFailed,
  },
} as const;

const lost = {
  actions: { type: 'recordFailure', params: eventOf },
  target: '#session.releasing',
} as const;

const connected = {
  actions: [
    { type: 'noteConnected', params: outcomeOf },
    { type: 'reportOpened', params: outcomeOf },
  ],
  target: '#session.loadingTools',
} as const;

function launch(isSecond: boolean) {
  return {
    id: 'launchProcess',
    src: 'launchProcess',
    input: ({ context }: { readonly context: SessionId }) => ({ ...idOf({ context }), isSecond }),
  } as const;
}

function connect(handshake: 'negotiated' | 'old' | 'overSse') {
  return {
    id: 'connectClient',
    src: 'connectClient',
    input: ({ context }: { readonly context: SessionId }) => ({ ...idOf({ context }), handshake }),
  } as const;
}

/** Cleans up the first connection. */
function cleaningUpBefore(next: 'relaunching' | 'greetingOverSse') {
  return sessionSetup.createStateConfig({
    invoke: {
      id: 'closeConnection',
      src: 'closeConnection',
      input: ({ context }) => ({ ...idOf({ context }), how: 'lost' }),
      onDone: next,
      onError: broken,
    },
    on: { 'wire.ended': {} },
  });
}

export const openingStates = sessionSetup.createStateConfig({
  initial: 'resolving',
  entry: 'startConnectDeadline',
  exit: 'cancelConnectDeadline',
  on: {
    'session.close': '#session.closing',
    'wire.ended': lost,
    'wire.lost': lost,
    'server.woke': { actions: ['cancelConnectDeadline', 'startConnectDeadline'] },
    'start.expired': {
      actions: ['recordLateConnect', 'reportClosing'],
      target: '#session.closing',
    },
  },
  states: {
    resolving: {
      invoke: {
        id: 'resolveTarget',
        src: 'resolveTarget',
        input: idOf,
        onDone: [
          failed,
          {
            guard: { type: 'hasProcess', params: outcomeOf },
            actions: { type: 'noteResolved', params: outcomeOf },
            target: 'launching',
          },
          {
            guard: { type: 'asksEra', params: outcomeOf },
            actions: { type: 'noteResolved', params: outcomeOf },
            // No process can exit, whether the probe has been sent or not.
            target: 'connecting.asking',
          },
          { target: 'connecting.greeting' },
        ],
        onError: broken,
      },
    },
    launching: {
      invoke: {
        ...launch(false),
        onDone: [
          failed,
          { guard: { type: 'asksEra', params: contextOf }, target: 'connecting.preparing' },
          { target: 'connecting.greeting' },
        ],
        onError: broken,
      },
    },
    connecting: {
      initial: 'preparing',
      invoke: {
        ...connect('negotiated'),
        onDone: [
          {
            guard: { type: 'mayBeOverSse', params: outcomeOf },
            actions: { type: 'noteRefusal', params: outcomeOf },
            target: 'fallingBack',
          },
          failed,
          connected,
        ],
        onError: broken,
      },
      states: {
        // Nothing has been sent yet, so a process that exits now did not exit because of the probe.
        preparing: {
          on: {
            'wire.sent': {
              guard: { type: 'isEraQuestion', params: eventOf },
              target: 'asking',
            },
          },
        },
        asking: {
          on: {
            'wire.sent': {
              guard: { type: 'isInitialize', params: eventOf },
              target: 'greeting',
            },
            'xstate.done.actor.connectClient': {
              guard: { type: 'hasLeft', params: outcomeOf },
              target: '#session.opening.leaving',
            },
            'wire.ended': {
              guard: { type: 'hasProcess', params: contextOf },
              target: '#session.opening.leaving',
            },
          },
        },
        greeting: {},
      },
    },
    // The first process's descendants end before the second process starts.
    leaving: cleaningUpBefore('relaunching'),
    relaunching: {
      invoke: { ...launch(true), onDone: [failed, { target: 'greetingOld' }], onError: broken },
    },
    greetingOld: { invoke: { ...connect('old'), onDone: [failed, connected], onError: broken } },
    fallingBack: cleaningUpBefore('greetingOverSse'),
    greetingOverSse: {
      invoke: { ...connect('overSse'), onDone: [failedOverSse, connected], onError: broken },
    },
  },
});
