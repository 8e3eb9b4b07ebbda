import { assign, fromCallback, raise, sendParent, sendTo, setup } from 'xstate';

/**
 * A small chart with every feature that the chart tools must support: regions,
 * nesting, timers, an invoked child, `always`, raised events, a parent and a final state.
 */
export const sampleServerMachine = setup({
  types: {
    context: {} as { attempts: number; failures: number; attemptsLimit: number },
    input: {} as { attemptsLimit: number },
    events: {} as
      | { type: 'server.retire' }
      | { type: 'server.demanded' }
      | { type: 'server.ended' }
      | { type: 'session.opened' }
      | { type: 'session.closed'; isLost: boolean }
      | { type: 'call.failed' },
  },
  actors: { session: fromCallback(() => undefined) },
  actions: {
    openSession: sendTo('session', { type: 'session.open' }),
    closeSession: sendTo('session', { type: 'session.close' }),
    tellParent: sendParent({ type: 'server.changed' }),
    countAttempt: assign({ attempts: ({ context }) => context.attempts + 1 }),
    forgetAttempts: assign({ attempts: 0 }),
    countFailure: assign({ failures: ({ context }) => context.failures + 1 }),
    forgetFailures: assign({ failures: 0 }),
    end: raise({ type: 'server.ended' }),
  },
  guards: {
    hasAttemptsLeft: ({ context }) => context.attempts < context.attemptsLimit,
    wasLost: (_, params: { isLost: boolean }) => params.isLost,
    reachesThreshold: ({ context }) => context.failures >= 1,
  },
  delays: { connectTimeout: 5_000, closeTimeout: 2_000, backoff: 1_000, cooldown: 30_000 },
}).createMachine({
  id: 'server',
  type: 'parallel',
  context: ({ input }) => ({ attempts: 0, failures: 0, ...input }),
  options: { maxIterations: 1_000 },
  states: {
    connection: {
      initial: 'dormant',
      states: {
        dormant: { on: { 'server.demanded': 'engaged', 'server.retire': 'retired' } },
        engaged: {
          initial: 'connecting',
          invoke: { src: 'session', id: 'session', onError: 'settling' },
          on: {
            'server.retire': '.closing',
            'session.closed': [
              {
                guard: { type: 'wasLost', params: ({ event }) => ({ isLost: event.isLost }) },
                target: 'settling',
                actions: 'countAttempt',
              },
              { target: 'dormant', actions: 'forgetAttempts' },
            ],
          },
          states: {
            connecting: {
              entry: 'openSession',
              after: { connectTimeout: 'closing' },
              on: { 'session.opened': 'ready' },
            },
            ready: { entry: 'tellParent', tags: 'usable' },
            closing: {
              entry: 'closeSession',
              after: { closeTimeout: '#server.connection.retired' },
              on: { 'server.retire': {} },
            },
          },
        },
        settling: {
          always: [{ guard: 'hasAttemptsLeft', target: 'backingOff' }, { target: 'failed' }],
        },
        backingOff: { after: { backoff: 'engaged' }, on: { 'server.retire': 'retired' } },
        failed: { on: { 'server.retire': 'retired' } },
        retired: { type: 'final', entry: 'end' },
      },
    },
    circuit: {
      initial: 'closed',
      on: { 'server.ended': '.ended' },
      states: {
        closed: {
          on: {
            'call.failed': [
              { guard: 'reachesThreshold', target: 'open' },
              { actions: 'countFailure' },
            ],
          },
        },
        open: { after: { cooldown: { target: 'closed', actions: 'forgetFailures' } } },
        ended: { type: 'final' },
      },
    },
  },
});
