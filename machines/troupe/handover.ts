/**
 * Decides when a server's next generation takes over from the current one.
 *
 * Each seamless handover has one actor of this chart, which exists while two server actors share a
 * name; otherwise a name has a single server. It gets both servers' reports and notifies the root
 * when the handover is due. The root decides whether the settings still want it, sends the
 * commands, and ends this actor once one of the two servers is gone; their own deadlines bound how
 * long that takes.
 *
 * ```text
 * [*] -> succeeding
 * succeeding -- server.readied | server.halted | successor.gaveUp [isSuccessor] --> (stays)
 * succeeding -- server.faltered [isPresent] --> (stays)
 * succeeding -- handover.complete --> relieving
 * succeeding -- handover.withdraw --> withdrawing
 * succeeding -- after handoverDeadline --> (stays)
 * withdrawing -- server.faltered [isPresent] --> (stays)
 * relieving
 * ```
 */

import { sendParent, setup } from 'xstate';

export interface HandoverInput {
  /** The name that both servers share. */
  readonly server: string;
  /** Actor id of the generation that serves until it hands over. */
  readonly present: string;
  /** Actor id of the generation that starts alongside it. */
  readonly successor: string;
}

/**
 * A server's reports to the root: it is ready, or no longer ready; it cannot continue until the
 * user acts, or it continues; it is a successor and will not become ready soon.
 */
export const serverNews = [
  'server.readied',
  'server.faltered',
  'server.halted',
  'server.resumed',
  'successor.gaveUp',
] as const;

export interface ServerNews {
  readonly type: (typeof serverNews)[number];
  readonly actorId: string;
}

export type HandoverEvent =
  | ServerNews
  /** The successor serves from now on, or is retired. */
  | { readonly type: 'handover.complete' | 'handover.withdraw' };

/** Reports to the root that the successor should take over. */
export interface HandoverDue {
  readonly type: 'handover.due';
  readonly server: string;
  readonly why: string;
}

const suffix = '.handover';

/** Returns the actor id of a server's handover. */
export function handoverIdOf(server: string): string {
  return `${server}${suffix}`;
}

export function isHandover(actorId: string): boolean {
  return actorId.endsWith(suffix);
}

function due(why: string) {
  return ({ context: { server } }: { readonly context: HandoverInput }): HandoverDue => ({
    type: 'handover.due',
    server,
    why,
  });
}

const handoverSetup = setup({
  types: {
    input: {} as HandoverInput,
    context: {} as HandoverInput,
    events: {} as HandoverEvent,
  },
  actions: {
    /** Reports that the successor should take over because it is ready. */
    announceReady: sendParent(due('its successor is ready')),
    /**
     * Reports that the successor should take over although it is not ready, as the settings
     * require.
     */
    announceUnready: sendParent(due('its successor did not become ready')),
    /** Reports that the successor should take over because no other generation is left to serve. */
    announceLoss: sendParent(due('it was lost while its successor starts')),
  },
  guards: {
    /** Whether the report is about the generation that serves. */
    isPresent: ({ context, event }) => 'actorId' in event && event.actorId === context.present,
    /** Whether the report is about the generation that starts. */
    isSuccessor: ({ context, event }) => 'actorId' in event && event.actorId === context.successor,
  },
  delays: {
    // Two minutes: five attempts to start and the waits between them take about one. After that,
    // the new settings count, whether or not they work.
    handoverDeadline: 120_000,
  },
});

/** When a server's next generation takes over. */
export const handoverMachine = handoverSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'handover',
  context: ({ input }) => input,
  initial: 'succeeding',
  states: {
    // The current generation serves while its successor starts.
    succeeding: {
      on: {
        'server.readied': { guard: 'isSuccessor', actions: 'announceReady' },
        'server.halted': { guard: 'isSuccessor', actions: 'announceUnready' },
        'successor.gaveUp': { guard: 'isSuccessor', actions: 'announceUnready' },
        'server.faltered': { guard: 'isPresent', actions: 'announceLoss' },
        'handover.complete': 'relieving',
        'handover.withdraw': 'withdrawing',
      },
      after: { handoverDeadline: { actions: 'announceUnready' } },
    },
    // The successor serves, and its predecessor finishes its remaining calls.
    relieving: {},
    // The settings no longer want the successor, which is retired.
    withdrawing: { on: { 'server.faltered': { guard: 'isPresent', actions: 'announceLoss' } } },
  },
});
