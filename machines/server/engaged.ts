/**
 * A server that should run: it waits for a start permit, then has a session.
 *
 * The session has its own chart in `machines/session/`: it opens, lists, checks and closes within
 * its own deadlines, and reports its end as output. The server's states follow the session's facts:
 * `ending` is a session that ends by itself, `closing` one that was asked to close. Requests that
 * arrive while it closes are only recorded, so they neither restart nor shorten its deadlines.
 *
 * ```text
 * [*] -> queued
 * engaged -- server.demanded | admission.granted | spec.updated --> (stays)
 * queued -- slot.granted --> live
 * queued -- server.demanded --> (stays)
 * queued -- server.stop | server.restart | server.reconnect | admission.withdrawn |
 *           after queueDeadline --> settling
 * queued -- server.retire | server.relieve --> retired
 * queued -- server.woke --> queued
 * live invokes session
 * live -- server.stop | server.retire | server.relieve | server.restart | server.reconnect |
 *         admission.withdrawn --> live.closing
 * live -- server.woke | spec.updated | session.impaired | session.recovered --> (stays)
 * live -- session.closing --> live.ending
 * live -- done session | error session --> settling
 * live: [*] -> connecting
 *   connecting -- session.opened --> loadingTools
 *   loadingTools -- session.listed --> ready
 *   ready -- session.listed | session.listFailed | probe.wanted | server.refresh | server.relieve |
 *            server.hung | after sustainedReady --> (stays)
 *   ready -- server.relieved | server.idled | server.reconnect --> closing
 *   ready -- breaker.tripped [isToStay] --> closing
 *   closing -- server.start | server.stop | server.retire | server.relieve | server.restart |
 *              server.reconnect | admission.withdrawn --> (stays)
 *   closing -- session.closing --> (ignored)
 *   closing -- done session [isRetiring] --> retired
 *   closing -- done session --> settling
 *   ending
 * ```
 */

import type { SessionEnd } from '../../src/domain/session.ts';
import { isFirstRun } from './context.ts';
import { serverSetup, settle } from './server-setup.ts';

/** Maps the session's end to the parameter of the actions that record it. */
function endOf({ event }: { readonly event: { readonly output: SessionEnd } }): SessionEnd {
  return event.output;
}

export const engagedStates = serverSetup.createStateConfig({
  initial: 'queued',
  entry: ['beginSession', 'askForSlot'],
  exit: 'forgetPeer',
  on: {
    'server.demanded': { actions: 'noteDemand' },
    'admission.granted': { actions: 'noteAdmitted' },
    'spec.updated': { actions: 'applySpec' },
  },
  states: {
    queued: {
      tags: ['busy', 'waits'],
      on: {
        'slot.granted': 'live',
        'server.demanded': { actions: ['noteDemand', 'askForSlot'] },
        'server.stop': { actions: ['wishStop', 'returnSlot'], target: settle },
        'server.retire': { actions: ['wishRetire', 'returnSlot'], target: '#connection.retired' },
        'server.relieve': { actions: ['wishRetire', 'returnSlot'], target: '#connection.retired' },
        'server.restart': { actions: ['wishRestart', 'returnSlot'], target: settle },
        'server.reconnect': { actions: ['wishReconnect', 'returnSlot'], target: settle },
        'admission.withdrawn': { actions: ['noteWithdrawn', 'returnSlot'], target: settle },
        // The machine slept, so the wait starts again.
        'server.woke': { target: 'queued', reenter: true },
      },
      after: {
        queueDeadline: { actions: ['recordQueueDeadline', 'returnSlot'], target: settle },
      },
    },
    live: {
      initial: 'connecting',
      invoke: {
        id: 'session',
        src: 'session',
        input: ({ context }) => ({
          actorId: context.actorId,
          server: context.name,
          generation: context.generation,
          session: context.session,
          transport: context.transport,
          policy: context.policy,
          isFirstRun: isFirstRun(context),
          seed: context.seed,
        }),
        onError: { actions: 'recordBrokenSession', target: settle },
      },
      on: {
        'server.stop': { actions: 'wishStop', target: '.closing' },
        'server.retire': { actions: 'wishRetire', target: '.closing' },
        'server.relieve': { actions: 'wishRetire', target: '.closing' },
        'server.restart': { actions: 'wishRestart', target: '.closing' },
        'server.reconnect': { actions: 'wishReconnect', target: '.closing' },
        'admission.withdrawn': { actions: 'noteWithdrawn', target: '.closing' },
        'server.woke': { actions: 'passOnWake' },
        'spec.updated': { actions: ['applySpec', 'passOnPolicy'] },
        'session.impaired': { actions: 'noteImpaired' },
        'session.recovered': { actions: 'noteRecovered' },
        'session.closing': '.ending',
        'xstate.done.actor.session': {
          actions: { type: 'recordEnd', params: endOf },
          target: settle,
        },
      },
      states: {
        connecting: {
          tags: ['busy', 'waits'],
          exit: 'returnSlot',
          on: { 'session.opened': { actions: 'noteOpened', target: 'loadingTools' } },
        },
        loadingTools: {
          tags: ['busy', 'waits'],
          on: {
            'session.listed': { actions: ['noteReadySince', 'announceListing'], target: 'ready' },
          },
        },
        ready: {
          tags: 'usable',
          entry: ['noteServed', 'reportReady'],
          exit: 'reportFalter',
          on: {
            'session.listed': { actions: 'announceListing' },
            'session.listFailed': { actions: 'recordFailedList' },
            'probe.wanted': { actions: ['tellSessionToList', 'announceProbe'] },
            'server.refresh': { actions: 'tellSessionToRefresh' },
            // Its calls may finish first; the region `activity` reports when they have.
            'server.relieve': { actions: 'wishRetire' },
            'server.relieved': 'closing',
            'server.idled': { actions: 'forgetDemand', target: 'closing' },
            'server.reconnect': { actions: ['wishReconnect', 'takeTryBack'], target: 'closing' },
            // A new session would end the draining calls and get no new ones.
            'breaker.tripped': {
              guard: 'isToStay',
              // The session is replaced at once: it has not failed, so there is no backoff.
              actions: ['takeTryBack', 'recordExchange'],
              target: 'closing',
            },
            'server.hung': { actions: 'giveSessionUp' },
          },
          after: { sustainedReady: { actions: 'forgetAttempts' } },
        },
        ending: { tags: 'busy' },
        closing: {
          tags: 'busy',
          entry: 'tellSessionToClose',
          on: {
            'server.start': { actions: 'wishStart' },
            'server.stop': { actions: 'wishStop' },
            'server.retire': { actions: 'wishRetire' },
            'server.relieve': { actions: 'wishRetire' },
            'server.restart': { actions: 'wishRestart' },
            'server.reconnect': { actions: 'wishReconnect' },
            'admission.withdrawn': { actions: 'noteWithdrawn' },
            'session.closing': {},
            'xstate.done.actor.session': [
              // At once, as the other regions: thousands of servers may end together.
              { guard: 'isRetiring', target: '#connection.retired' },
              { actions: { type: 'recordEvidence', params: endOf }, target: settle },
            ],
          },
        },
      },
    },
  },
});
