import type { ServerPolicy } from '../../domain/policy.ts';

/** The default policy, with the reason for each number. */
export const defaultPolicy: ServerPolicy = {
  naming: {
    template: 'mcp__{server}__{tool}',
    case: 'keep',
    separators: 'keep',
    // What the interfaces of the large models take for the name of a function.
    maxLength: 64,
    overflow: 'hash',
    stripServerPrefix: false,
    collision: 'originOrder',
    aliases: [],
  },

  startup: {
    mode: 'eager',
    // A quarter of a second: slightly more than users perceive as instant.
    gateMs: 250,
    withoutCache: 'late',
    required: false,
    // As long as a connect and a list may take together.
    timeoutMs: 60_000,
    // As many as an outage has: with its waits the last try starts at most 7.5 s
    // after the first. Two, when the server forgets each session at once.
    maxAttempts: 5,
    retryOn: 'any',
    // No wait brings a variable or a program.
    missing: 'fail',
    // Twice may be an accident; a server that said the same three times would say it again.
    sameExits: 3,
    busyBackoff: {
      // Two seconds: four times the wait after no response at all, because this server
      // responded and asked for time.
      initialMs: 2_000,
      factor: 2,
      // Five minutes: the longest a repaired server should stay unnoticed.
      maxMs: 300_000,
      // A fifth spreads clients that were refused in the same moment, and never
      // makes one come early.
      addedJitter: 0.2,
    },
    // The same values as in `restart.afterGiveUp`, for the same reasons.
    afterGiveUp: { retryFromMs: 15_000, toMs: 300_000, floorMs: 5_000 },
  },

  connect: {
    // Thirty seconds: an installed server needs a few, also on a busy machine; one that is
    // silent for longer counts as broken.
    localTimeoutMs: 30_000,
    // Two minutes: an image of some hundred megabytes over a usual line.
    firstRunTimeoutMs: 120_000,
    remoteTimeoutMs: 30_000,
    // For all 64 pages together: as long as the connect, so that a start takes a
    // minute at worst.
    listTimeoutMs: 30_000,
    // Five minutes: by default a permit lapses after a second at most, so a longer wait means
    // that something is stuck.
    queueTimeoutMs: 300_000,
    // A server that received "${TOKEN}" as its token would fail without a visible reason.
    missingVariable: 'fail',
    // A server may keep what it learns of a project to itself only if another project has another one.
    sharing: 'project',
    // A local start keeps a core busy or waits for something else, so the cores decide.
    // A remote start costs a socket, so only a real crowd waits.
    localSlots: 'auto',
    remoteSlots: 'auto',
  },

  restart: {
    // A local server that ended cleanly did so on purpose; a remote one that went away
    // is expected back.
    on: 'auto',
    // A process that died within ten seconds would rarely start better at once; one that served for
    // longer usually does, and its first loss is no sign of a loop.
    first: { sustainedMs: 10_000 },
    firstAfterExpiry: null,
    delays: {
      // Half a second: a restarting process is rarely back sooner.
      initialMs: 500,
      // Doubling spreads the tries without a table of numbers.
      factor: 2,
      // Half a minute: a longer wait looks like giving up.
      maxMs: 30_000,
      // Full jitter may draw zero; a tenth of a second keeps a broken server from
      // spinning the processor.
      floorMs: 100,
    },
    // Clients of one server that fell over must not come back together.
    jitter: 'full',
    // With the delays above the last try starts at most 15.5 s after the loss:
    // long enough for a restarting server, short enough for a user.
    maxAttempts: 5,
    // A minute of service ends an outage; a server that dies every 50 s is still
    // in the same one.
    budgetReset: { sustainedMs: 60_000 },
    afterGiveUp: {
      // Quiet attempts of a remote server that ran out of attempts: too rare to
      // burden it.
      retryFromMs: 15_000,
      // Five minutes: the longest a repaired server should stay unnoticed.
      toMs: 300_000,
      // Jitter must not make a quiet try a busy one.
      floorMs: 5_000,
    },
    // `Retry-After` is honoured within these bounds: below a second it is no wait,
    // above five minutes a user would rather see a retry.
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
    // Half a minute, doubling to five: the same patience as with a lost server.
    cooldownMs: 30_000,
    maxCooldownMs: 300_000,
    // A healthy server lists its tools in well under a second; ten leave room for
    // one that is busy with a call.
    probeTimeoutMs: 10_000,
  },

  health: {
    // Off: dead processes and broken streams are noticed anyway.
    mode: 'off',
    // When switched on: three silent half minutes are no accident.
    everyMs: 30_000,
    failures: 3,
    // A server that does not know the method has answered.
    treatMethodNotFoundAsAlive: true,
  },

  idle: {
    // Never: stopping a server loses whatever it holds in memory, so it is opt-in.
    stopMs: null,
    // Half a minute: the next agent of a batch finds the servers of the one before.
    drainMs: 30_000,
    // Five minutes: clients that only come and go do not keep a server that no one calls.
    maxIdleMs: 300_000,
  },

  catalog: {
    // A list that comes and goes disturbs a model; calls report what is wrong.
    whileDown: 'keepStale',
    // A server that failed for good is out of the list until the user does something about it.
    afterGiveUp: 'hide',
    cache: 'disk',
    // Thirty days: a list older than a month says little about the server of today.
    ttlMs: 2_592_000_000,
    maxEntries: null,
    // All that is read of it: a cut description may lack the steps that a tool needs.
    descriptionMaxLength: 16_384,
    pinTools: 'hold',
  },

  call: {
    // A minute: the deadline the protocol's own clients use for a request.
    timeoutMs: 60_000,
    idleTimeoutMs: null,
    progressResets: true,
    // Ten minutes: after that, a caller should decide whether to continue.
    maxTimeoutMs: 600_000,
    // Never: a caller must expect a receipt in place of a result.
    backgroundAfterMs: null,
    replay: 'idempotentTrusted',
    // Two minutes, as for an input of the settings: a user who is present has answered
    // by then, and the call should not hang without an answer.
    questionTimeoutMs: 120_000,
    // As many as active calls: each may ask one question at a time, and no user reads more.
    maxQuestions: 16,
  },

  result: {
    // The transports' own limit for one message.
    maxLength: 16_777_216,
    // No honest result comes near; recursive code fails at some thousands.
    maxDepth: 256,
    // A program needs the whole text; a host knows how much its model can read.
    textMaxLength: null,
    cutText: 'file',
    imageMaxPixels: null,
    imageMaxBytes: null,
    binaries: 'keep',
    // The protocol expects clients to check.
    outputSchema: 'check',
    authChallenge: 'refuse',
    // As many as a long conversation leaves behind.
    filesMaxCount: 1_000,
    // Sixteen of the largest answers there can be.
    filesMaxBytes: 268_435_456,
    // A week: a user who needs one for longer has copied it.
    filesMaxAgeMs: 604_800_000,
  },

  classify: { rules: [] },

  auth: {
    // Five minutes: more than the clocks of two machines differ, and enough for some
    // attempts if the issuer is unavailable.
    refreshAheadMs: 300_000,
    // An honest server names all scopes that a call needs at once; a second demand may be for
    // another call, and a third is the last that a user should be asked for.
    stepUps: 3,
    // Five minutes: enough for a password manager, a second factor and a consent page.
    loginTimeoutMs: 300_000,
    // A request costs little, and says whether the server still demands a login.
    rememberMs: 0,
  },

  close: {
    // Two seconds each to leave after stdin closed, and after SIGTERM: an orderly
    // server needs milliseconds, and together they stay below the 5 s of a stop.
    steps: [
      { by: 'stdinEnd', waitMs: 2_000 },
      { by: 'SIGTERM', waitMs: 2_000 },
      // SIGKILL cannot be refused; a process that survives it hangs in the kernel.
      { by: 'SIGKILL', waitMs: 250 },
    ],
    // The steps above plus nearly two seconds to drain the pipes and hear of the
    // exit. Shorter, and an orderly close would be cut off by its own deadline.
    totalMs: 6_000,
    // Children that left the group hold files and ports as well; they get the signals before SIGKILL.
    scope: 'tree',
  },

  admission: { maxServers: null, budget: 'off' },

  approval: { gatedScopes: ['project', 'workspace', 'local'], folderFiles: 'ask', perCall: false },
};
