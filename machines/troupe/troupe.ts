/**
 * The reconciler: makes the live servers match the desired ones.
 *
 * Every change of the desired state (settings, trust, lists, decisions) is recorded, and then one
 * pass compares all desired servers with all live ones, so lost, duplicate or reordered events are
 * harmless. A server that is replaced retires in one pass and is spawned again in the pass that its
 * end causes. A seamless change spawns the next generation alongside the current one, with a
 * `handover` that decides when it takes over. The user's commands go to the server itself, and
 * permit requests to `slots`. The startup gate is a deadline for presentation: it limits how long a
 * host waits, never how long a server may take. No child's end ends the root.
 *
 * The root never reads another actor: everything that a decision needs arrives as an event, so
 * computing a transition has no side effects.
 *
 * ```text
 * [*] -> serving
 * troupe -- slot.requested | slot.returned | slots.granted | catalog.listed | catalog.forgotten |
 *           server.readied | server.faltered | server.halted | server.resumed |
 *           successor.gaveUp --> (stays)
 * troupe -- troupe.kill --> stopped
 * serving invokes settingsSource
 * serving -- settings.reload | settings.changed | settings.loaded | settings.relocated |
 *            trust.changed | allow.changed | approval.grant | approval.reject | approval.revoke |
 *            approvals.changed | server.start | server.stop | server.restart | server.reconnect |
 *            server.refresh | auth.completed | inputs.answered | system.woke | troupe.lookAgain |
 *            server.halted | server.resumed | handover.due | done * | error slots |
 *            error settingsSource --> (stays)
 * serving -- troupe.stop --> stopping
 * serving -- error * [isHandover] --> (stays)
 * serving -- error * --> (stays)
 * serving: [*] -> starting
 *   starting: [*] -> reading
 *     reading -- settings.loaded --> gating
 *     reading -- after settingsDeadline --> running
 *     gating -- after startupGate --> running
 *   running
 * stopping -- always [hasNoServers] --> stopped
 * stopping -- done * | error * | error slots --> (stays)
 * stopping -- after stopDeadline --> stopped
 * stopped -> [*]
 * ```
 */

import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import { GroupedMap } from '../../src/policies/grouped-map.ts';
import { commandsFrom } from './context.ts';
import { troupeSetup } from './troupe-setup.ts';

export type { TroupeEmitted, TroupeEvent, TroupeInput } from './context.ts';
export { gatesOf, planOf } from './pass.ts';

/** The reconciler, which makes the live servers match the desired ones. */
export const troupeMachine = troupeSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'troupe',
  context: ({ input }) => ({
    ...input,
    hostAllowed: null,
    decisions: GroupedMap.of(),
    stopWishes: [],
    startWishes: [],
    settings: null,
    live: GroupedMap.of(),
    actors: GroupedMap.of(),
    removed: [],
    knownCatalogs: GroupedMap.of(),
    serving: GroupedMap.of(),
    halted: GroupedMap.of(),
    inTurn: [],
    spawnCount: 0,
    lastPass: null,
  }),
  entry: 'startSlots',
  initial: 'serving',
  on: {
    'slot.requested': { actions: 'requestSlot' },
    'slot.returned': { actions: 'passReturn' },
    'slots.granted': { actions: 'passPermits' },
    'catalog.listed': { actions: 'noteCatalog' },
    'catalog.forgotten': { actions: 'forgetCatalog' },
    'server.readied': { actions: 'noteNews' },
    'server.faltered': { actions: 'noteNews' },
    'server.halted': { actions: 'noteNews' },
    'server.resumed': { actions: 'noteNews' },
    'successor.gaveUp': { actions: 'noteNews' },
    'troupe.kill': '.stopped',
  },
  states: {
    serving: {
      initial: 'starting',
      invoke: {
        id: 'settingsSource',
        src: 'settingsSource',
        input: ({ self }) => ({ commands: commandsFrom(self) }),
        onError: { actions: 'reportBroken' },
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
        'server.start': { actions: ['claimPlace', 'routeCommand'] },
        'server.stop': { actions: ['endHandover', 'routeCommand'] },
        'server.restart': { actions: ['claimPlace', 'routeCommand'] },
        'server.reconnect': { actions: ['claimPlace', 'routeCommand'] },
        'server.refresh': { actions: 'passRefresh' },
        'auth.completed': { actions: ['claimPlace', 'routeCommand'] },
        'inputs.answered': { actions: 'passAnswer' },
        'system.woke': { actions: ['passWake', 'reconcile'] },
        'troupe.lookAgain': { actions: 'reconcile' },
        'server.halted': { actions: ['noteNews', 'assignPlacesSoon'] },
        'server.resumed': { actions: ['noteNews', 'withholdPlace'] },
        'troupe.stop': 'stopping',
        'handover.due': { actions: ['noteDue', 'reconcile'] },
        'xstate.done.actor.*': { actions: ['forgetChild', 'reconcile'] },
        'xstate.error.actor.*': [
          // Only the handover decides when the successor takes over; without it, that is now.
          { guard: 'isHandover', actions: ['reportBroken', 'noteDue', 'reconcile'] },
          { actions: ['reportBroken', 'forgetChild', 'lookAgainSoon'] },
        ],
        'xstate.error.actor.slots': {
          actions: ['reportBroken', 'forgetChild', 'startSlots', 'lookAgainSoon'],
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
        'xstate.done.actor.*': { actions: 'forgetLeaver' },
        'xstate.error.actor.*': { actions: ['reportBroken', 'forgetLeaver'] },
        // A server that leaves returns its permit, so there must be an actor to take it.
        'xstate.error.actor.slots': { actions: ['reportBroken', 'forgetChild', 'startSlots'] },
      },
      after: { stopDeadline: 'stopped' },
    },
    stopped: { type: 'final', entry: 'stopRest' },
  },
});

export type RootRef = ActorRefFrom<typeof troupeMachine>;
export type RootSnapshot = SnapshotFrom<typeof troupeMachine>;
