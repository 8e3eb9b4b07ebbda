import type { ServerPolicy } from '../domain/policy.ts';
import type { SlotCounts } from '../domain/settings.ts';

/** The numbers a server lives by unless its settings say otherwise. Each says why it is that number. */
export const defaultPolicy: ServerPolicy = {
  // Five minutes: a hundred servers that need their full 30 s each pass through
  // the 20 remote permits in under three. Who waits longer waits for a stuck one.
  queueTimeoutMs: 300_000,

  // Thirty seconds: a package runner that downloads on a slow line needs most of
  // it; a server silent for longer is taken to be broken.
  connectTimeoutMs: 30_000,

  // For all 64 pages together: as long as the connect, so that a start takes a
  // minute at worst.
  listTimeoutMs: 30_000,

  // Both graces below (2 s + 2 s) plus two seconds to drain the pipes and hear of
  // the exit. Shorter, and an orderly close would be cut off by its own deadline.
  closeTimeoutMs: 6_000,

  // A local server that ended cleanly meant to; a remote one that went away is
  // expected back.
  restart: 'auto',

  // With the backoff below the last try starts at most 7.5 s after the first
  // failure: long enough for a restarting server, short enough for a person.
  maxAttempts: 5,

  backoff: {
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

  lostBackoff: {
    // Quiet tries of a remote server that ran out of attempts: rare enough to
    // disturb nobody.
    initialMs: 15_000,
    factor: 2,
    // Five minutes: the longest a mended server should stay unnoticed.
    maxMs: 300_000,
    // Jitter must not make a quiet try a busy one.
    floorMs: 5_000,
  },

  // A minute of service ends an outage; a server that dies every 50 s is still
  // in the same one.
  sustainedReadyMs: 60_000,

  // Five crashes in a minute are a loop whatever lies between them: with five
  // attempts per outage, four ordinary restarts never trip it.
  crashLoop: { limit: 5, windowMs: 60_000 },

  // Half the window of the crash loop: lost streams are cheaper to reopen than
  // processes, and come in quicker bursts.
  reconnectStorm: { limit: 5, windowMs: 30_000 },

  // Five failed calls in a row are no accident; fewer may be one bad question.
  circuitThreshold: 5,

  // Half a minute, doubling to five: the same patience as towards a lost server.
  circuitCooldownMs: 30_000,
  circuitMaxCooldownMs: 300_000,

  // A healthy server lists its tools in well under a second; ten leave room for
  // one that is busy with a call.
  probeTimeoutMs: 10_000,

  // Never: stopping a server loses whatever it holds in memory, so somebody has
  // to ask for it.
  idleStopMs: null,

  // A minute: the deadline the protocol's own clients use for a request.
  callTimeoutMs: 60_000,

  // Two seconds each to leave after stdin closed, and after SIGTERM: an orderly
  // server needs milliseconds, and together they stay below the 5 s of a stop.
  stdinGraceMs: 2_000,
  termGraceMs: 2_000,
};

// A local start costs a processor about a second: three leave one for the user on
// a four-core machine. A remote start costs a socket.
export const defaultSlots: SlotCounts = { local: 3, remote: 20 };

// A quarter of a second: what a person takes for "at once" plus a little.
export const defaultStartupGateMs = 250;
