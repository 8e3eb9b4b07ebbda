/**
 * The reconciler: makes the live servers match the desired ones.
 *
 * Whatever changes what is desired (settings, trust, lists, decisions) is noted,
 * and then one pass compares all that is desired with all that lives; lost,
 * doubled or reordered events do no harm. A server that is replaced retires in
 * one pass and is born again in the pass that its end causes; one that hands over
 * seamlessly stays beside its successor until that is ready, or will not be, and
 * then finishes its calls. A person's commands go to the server itself, and
 * requests for permits to `slots`. The startup gate
 * is a deadline for presentation: it says when a host may go on, never how long a
 * server may take. No child's death ends the root.
 *
 * ```text
 * [*] -> serving
 * troupe -- slot.requested | slot.returned | slot.granted | catalog.listed | catalog.forgotten |
 *           server.readied | server.faltered --> (stays)
 * troupe -- troupe.kill --> stopped
 * serving invokes settingsSource
 * serving -- settings.reload | settings.changed | settings.loaded | settings.relocated |
 *            trust.changed | allow.changed | approval.grant | approval.reject | approval.revoke |
 *            approvals.changed | server.start | server.stop | server.restart | server.reconnect |
 *            auth.completed | system.woke | troupe.lookAgain | done * | error * |
 *            error settingsSource --> (stays)
 * serving -- troupe.stop --> stopping
 * serving -- server.readied | server.faltered [isHandingOver] --> (stays)
 * serving -- successor.rested | successor.late [isSuccessor] --> (stays)
 * serving: [*] -> starting
 *   starting: [*] -> reading
 *     reading -- settings.loaded --> gating
 *     reading -- after settingsDeadline --> running
 *     gating -- after startupGate --> running
 *   running
 * stopping -- always [hasNoServers] --> stopped
 * stopping -- done * | error * --> (stays)
 * stopping -- after stopDeadline --> stopped
 * stopped -> [*]
 * ```
 */

import { commandsFrom, ofActor, ofChild, troupeSetup } from './setup.ts';

export type { TroupeInput } from './context.ts';
export { gatesOf, planOf, restIn } from './pass.ts';
export type { TroupeEmitted, TroupeEvent } from './setup.ts';

export const troupeMachine = troupeSetup.createMachine({
  // A loop of transitions is a bug: better a broken actor than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'troupe',
  context: ({ input }) => ({
    ...input,
    hostAllowed: null,
    decisions: [],
    stopWishes: [],
    startWishes: [],
    settings: null,
    live: new Map(),
    removed: [],
    knownCatalogs: [],
    serving: [],
    spawnCount: 0,
  }),
  entry: 'startSlots',
  initial: 'serving',
  on: {
    'slot.requested': { actions: 'requestSlot' },
    'slot.returned': { actions: 'passReturn' },
    'slot.granted': { actions: 'passPermit' },
    'catalog.listed': { actions: 'noteCatalog' },
    'catalog.forgotten': { actions: 'forgetCatalog' },
    'server.readied': { actions: { type: 'noteReady', params: ofActor } },
    'server.faltered': { actions: { type: 'noteFalter', params: ofActor } },
    'troupe.kill': '.stopped',
  },
  states: {
    serving: {
      initial: 'starting',
      invoke: {
        id: 'settingsSource',
        src: 'settingsSource',
        input: ({ self }) => ({ commands: commandsFrom(self) }),
        onError: { actions: { type: 'reportBroken', params: ofChild } },
      },
      on: {
        'settings.reload': { actions: 'passToSettingsSource' },
        'settings.changed': { actions: 'passToSettingsSource' },
        'settings.loaded': { actions: ['noteSettings', 'resizeSlots', 'reconcile'] },
        'settings.relocated': { actions: 'noteSettings' },
        'trust.changed': { actions: ['noteTrust', 'reconcile'] },
        'allow.changed': { actions: ['noteAllowed', 'reconcile'] },
        'approval.grant': { actions: ['noteDecision', 'reconcile'] },
        'approval.reject': { actions: ['noteDecision', 'reconcile'] },
        'approval.revoke': { actions: ['noteDecision', 'reconcile'] },
        'approvals.changed': { actions: ['noteDecisions', 'reconcile'] },
        'server.start': { actions: ['reconcile', 'routeCommand'] },
        'server.stop': { actions: ['endHandover', 'routeCommand'] },
        'server.restart': { actions: ['reconcile', 'routeCommand'] },
        'server.reconnect': { actions: ['reconcile', 'routeCommand'] },
        'auth.completed': { actions: ['reconcile', 'routeCommand'] },
        'system.woke': { actions: ['passWake', 'reconcile'] },
        'troupe.lookAgain': { actions: 'reconcile' },
        'troupe.stop': 'stopping',
        'server.readied': {
          guard: { type: 'isHandingOver', params: ofActor },
          actions: [{ type: 'noteReady', params: ofActor }, 'reconcile'],
        },
        'server.faltered': {
          guard: { type: 'isHandingOver', params: ofActor },
          actions: [{ type: 'noteFalter', params: ofActor }, 'reconcile'],
        },
        'successor.rested': {
          guard: { type: 'isSuccessor', params: ofActor },
          actions: [{ type: 'noteGivenUp', params: ofActor }, 'reconcile'],
        },
        'successor.late': {
          guard: { type: 'isSuccessor', params: ofActor },
          actions: [{ type: 'noteGivenUp', params: ofActor }, 'reconcile'],
        },
        'xstate.done.actor.*': {
          actions: [{ type: 'forgetChild', params: ofChild }, 'reconcile'],
        },
        'xstate.error.actor.*': {
          actions: [
            { type: 'disposeOrphans', params: ofChild },
            { type: 'reportBroken', params: ofChild },
            { type: 'forgetChild', params: ofChild },
            { type: 'replaceSlots', params: ofChild },
            'lookAgainSoon',
          ],
        },
      },
      states: {
        starting: {
          initial: 'reading',
          states: {
            reading: {
              on: {
                'settings.loaded': {
                  actions: ['noteSettings', 'resizeSlots', 'reconcile'],
                  target: 'gating',
                },
              },
              after: { settingsDeadline: '#troupe.serving.running' },
            },
            gating: { after: { startupGate: '#troupe.serving.running' } },
          },
        },
        running: {},
      },
    },
    stopping: {
      entry: 'retireAll',
      always: { guard: 'hasNoServers', target: 'stopped' },
      on: {
        'xstate.done.actor.*': { actions: { type: 'forgetChild', params: ofChild } },
        'xstate.error.actor.*': {
          actions: [
            { type: 'disposeOrphans', params: ofChild },
            { type: 'reportBroken', params: ofChild },
            { type: 'forgetChild', params: ofChild },
            // Whoever leaves gives its permit back, so there must be somebody to take it.
            { type: 'replaceSlots', params: ofChild },
          ],
        },
      },
      after: { stopDeadline: 'stopped' },
    },
    stopped: { type: 'final' },
  },
});
