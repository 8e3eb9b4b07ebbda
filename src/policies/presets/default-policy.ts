import type { ServerPolicy } from '../../domain/policy.ts';

/** The numbers a server lives by unless its settings say otherwise. Each says why it is that number. */
export const defaultPolicy: ServerPolicy = {
  naming: {
    template: 'mcp__{server}__{tool}',
    case: 'keep',
    // What the interfaces of the large models take for the name of a function.
    maxLength: 64,
    overflow: 'hash',
    stripServerPrefix: false,
    collision: 'originOrder',
    aliases: [],
  },

  startup: {
    mode: 'eager',
    // A quarter of a second: what a person takes for "at once" plus a little.
    gateMs: 250,
    withoutCache: 'late',
    required: false,
    // As long as a connect and a list may take together.
    timeoutMs: 60_000,
    // As many as an outage has: with its waits the last try starts at most 7.5 s
    // after the first. Two, when the server forgets each session at once.
    maxAttempts: 5,
    retryOn: 'any',
    busyBackoff: {
      // Two seconds: four times the wait towards a peer that did not answer at all,
      // because this one did, and its words were "not now".
      initialMs: 2_000,
      factor: 2,
      // Five minutes: the longest a mended server should stay unnoticed.
      maxMs: 300_000,
      // A fifth spreads clients that were refused in the same moment, and never
      // makes one come early.
      addedJitter: 0.2,
    },
    // The same quiet attempts as after an outage, for the same reasons.
    afterGiveUp: { retryFromMs: 15_000, toMs: 300_000, floorMs: 5_000 },
  },

  connect: {
    // Thirty seconds: a package runner that downloads on a slow line needs most of
    // it; a server silent for longer is taken to be broken.
    localTimeoutMs: 30_000,
    remoteTimeoutMs: 30_000,
    // For all 64 pages together: as long as the connect, so that a start takes a
    // minute at worst.
    listTimeoutMs: 30_000,
    // Five minutes: a hundred servers that need their full 30 s each pass through
    // the 20 remote permits in under three. Who waits longer waits for a stuck one.
    queueTimeoutMs: 300_000,
    // A server that got "${TOKEN}" for a token fails as well, but nobody sees why.
    missingVariable: 'fail',
    // A local start keeps a core busy or waits for something else, so the cores decide.
    // A remote start costs a socket.
    localSlots: 'auto',
    remoteSlots: 20,
  },

  restart: {
    // A local server that ended cleanly meant to; a remote one that went away is
    // expected back.
    on: 'auto',
    // A process that has just died seldom starts better in the same moment.
    first: 'delayed',
    delays: {
      // Half a second: a restarting process is seldom back before.
      initialMs: 500,
      // Doubling spreads the tries without a table of numbers.
      factor: 2,
      // Half a minute: beyond it nobody would tell waiting from having given up.
      maxMs: 30_000,
      // Full jitter may draw zero; a tenth of a second keeps a broken server from
      // spinning the processor.
      floorMs: 100,
    },
    // Clients of one server that fell over must not come back together.
    jitter: 'full',
    // With the delays above the last try starts at most 15.5 s after the loss:
    // long enough for a restarting server, short enough for a person.
    maxAttempts: 5,
    // A minute of service ends an outage; a server that dies every 50 s is still
    // in the same one.
    budgetReset: { sustainedMs: 60_000 },
    afterGiveUp: {
      // Quiet tries of a remote server that ran out of attempts: rare enough to
      // disturb nobody.
      retryFromMs: 15_000,
      // Five minutes: the longest a mended server should stay unnoticed.
      toMs: 300_000,
      // Jitter must not make a quiet try a busy one.
      floorMs: 5_000,
    },
    // A peer's wish is honoured within these bounds: below a second it is no wait,
    // above five minutes a person would rather see the server try again.
    retryAfterMinMs: 1_000,
    retryAfterMaxMs: 300_000,
  },

  storm: {
    // Five crashes in a minute are a loop whatever lies between them: with five
    // attempts per outage, four ordinary restarts never trip it.
    crashLoop: { limit: 5, windowMs: 60_000, action: 'suspend' },
    // Half the window of the crash loop: lost streams are cheaper to reopen than
    // processes, and come in quicker bursts.
    reconnectStorm: { limit: 5, windowMs: 30_000, action: 'suspend' },
  },

  breaker: {
    // Five failed calls in a row are no accident; fewer may be one bad question.
    threshold: 5,
    counts: 'callFailures',
    action: 'failFast',
    // Half a minute, doubling to five: the same patience as towards a lost server.
    cooldownMs: 30_000,
    maxCooldownMs: 300_000,
    // A healthy server lists its tools in well under a second; ten leave room for
    // one that is busy with a call.
    probeTimeoutMs: 10_000,
  },

  health: {
    // Off: a process that died and a stream that broke say so themselves.
    mode: 'off',
    // For whoever switches it on: three silent half minutes are no accident.
    everyMs: 30_000,
    failures: 3,
    // A server that does not know the question has answered it.
    treatMethodNotFoundAsAlive: true,
  },

  idle: {
    // Never: stopping a server loses whatever it holds in memory, so somebody has
    // to ask for it.
    stopMs: null,
  },

  catalog: {
    // A list that comes and goes costs a model its place; calls say what is wrong.
    whileDown: 'keepStale',
    cache: 'disk',
    // Thirty days: a list older than a month says little about the server of today.
    ttlMs: 2_592_000_000,
    maxEntries: null,
    // As much as a model is shown of any description.
    descriptionMaxLength: 2_048,
    pinTools: 'hold',
  },

  call: {
    // A minute: the deadline the protocol's own clients use for a request.
    timeoutMs: 60_000,
    idleTimeoutMs: null,
    progressResets: true,
    // Ten minutes: whoever is told of progress for longer should be asked whether to go on.
    maxTimeoutMs: 600_000,
    // Never: a receipt in the place of a result must be expected by whoever gets it.
    backgroundAfterMs: null,
    replay: 'idempotentTrusted',
    // Two minutes: as long as a person has for an input of the settings. Who is there has
    // answered by then, and without an answer the call should not hang.
    questionTimeoutMs: 120_000,
    // As many as active calls: each may ask one question at a time, and no user reads more.
    maxQuestions: 16,
  },

  result: {
    // The transports' own limit for one message.
    maxLength: 16_777_216,
    // No honest answer comes near; what follows a value by recursion breaks at some thousands.
    maxDepth: 256,
    // A program needs the whole text; a host that shows it to a model knows how much that can read.
    textMaxLength: null,
    cutText: 'file',
    imageMaxPixels: null,
    imageMaxBytes: null,
    binaries: 'keep',
    // The protocol wants clients to look.
    outputSchema: 'check',
    authChallenge: 'refuse',
    // As many as a long conversation leaves behind.
    filesMaxCount: 1_000,
    // Sixteen of the largest answers there can be.
    filesMaxBytes: 268_435_456,
    // A week: who needs one for longer has copied it.
    filesMaxAgeMs: 604_800_000,
  },

  classify: { rules: [] },

  close: {
    // Two seconds each to leave after stdin closed, and after SIGTERM: an orderly
    // server needs milliseconds, and together they stay below the 5 s of a stop.
    steps: [
      { by: 'stdinEnd', waitMs: 2_000 },
      { by: 'SIGTERM', waitMs: 2_000 },
      // SIGKILL cannot be refused; who is still there after this hangs in the kernel.
      { by: 'SIGKILL', waitMs: 250 },
    ],
    // The steps above plus nearly two seconds to drain the pipes and hear of the
    // exit. Shorter, and an orderly close would be cut off by its own deadline.
    totalMs: 6_000,
    // Helpers that left the group hold files and ports as well, and are asked before they are killed.
    scope: 'tree',
  },

  admission: { maxServers: null, budget: 'off' },

  approval: { gatedScopes: ['project', 'workspace', 'local'], perCall: false },
};
