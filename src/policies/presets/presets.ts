/**
 * Named policies: our own, and ones that behave like the systems this project
 * learned from. Each preset lists the fields in which it differs from the default.
 *
 * They imitate what is visible from outside: which servers start when, when they
 * are retried, when they are given up. Where the original leaves a process
 * running or waits forever, the preset does not: every close ends with SIGKILL
 * and has a deadline.
 */

import { type FailureKind, failureKinds, isTransient } from '../../domain/failure.ts';
import type { PresetName, ServerPolicy } from '../../domain/policy.ts';
import { defaultPolicy } from './default-policy.ts';
import { overridePolicy } from './override-policy.ts';

const everyKindBut = (kind: FailureKind): readonly FailureKind[] =>
  failureKinds.filter((other) => other !== kind);

const sameDeadline = { firstRunTimeoutMs: null } as const;
const unlimitedStarts = { ...sameDeadline, localSlots: null, remoteSlots: null } as const;
const retriesAnyway = { missing: 'retry', sameExits: null } as const;
const stopsAfterLast = { busyBackoff: null, afterGiveUp: 'stop' } as const;
const resetsAtOnce = { first: 'delayed', jitter: 'none', budgetReset: 'immediate' } as const;
const noStormLimits = { crashLoop: null, reconnectStorm: null } as const;
const upToHalfAMinute = { initialMs: 1_000, factor: 2, maxMs: 30_000 } as const;

// A list that lives as long as its session needs no expiry.
const whileConnected = { ttlMs: null, maxEntries: null } as const;

// Long enough to clean up after a killed process and to be notified of its exit.
const killed = { by: 'SIGKILL', waitMs: 250 } as const;

/** Retries a lost server at once, then by a short ladder, then quietly if it is remote. */
const ohMyPi = overridePolicy(defaultPolicy, {
  naming: {
    template: 'mcp__{server}_{tool}',
    case: 'lower',
    separators: 'single',
    stripServerPrefix: true,
    aliases: ['mcp__{server}__{tool}'],
  },
  startup: {
    ...retriesAnyway,
    // Only a start that timed out is retried: by the whole ladder of a lost server.
    maxAttempts: 6,
    retryOn: ['initTimeout'],
    // A server that was never connected is not lost.
    ...stopsAfterLast,
  },
  connect: unlimitedStarts,
  restart: {
    ...resetsAtOnce,
    on: 'always',
    // The immediate attempt is the first of the five; four waits follow.
    first: 'immediate',
    delays: [500, 1_000, 2_000, 4_000],
    maxAttempts: 5,
    afterGiveUp: { retryFromMs: 15_000, toMs: 300_000 },
  },
  storm: {
    crashLoop: null,
    // More than five trip it, so the sixth does.
    reconnectStorm: { limit: 6, windowMs: 30_000, action: 'suspend' },
  },
  breaker: { threshold: null },
  catalog: { afterGiveUp: 'keepStale', pinTools: 'off' },
  // One deadline for every request, of the handshake and of calls.
  call: { timeoutMs: 30_000, replay: 'once' },
  // A challenge stays in the answer for the host to handle.
  result: { outputSchema: 'ignore', authChallenge: 'keep' },
  close: {
    steps: [
      { by: 'stdinEnd', waitMs: 0 },
      { by: 'SIGTERM', waitMs: 1_000 },
      { by: 'SIGKILL', waitMs: 500 },
    ],
    totalMs: 3_000,
    scope: 'group',
  },
  approval: { gatedScopes: [], perCall: true },
});

/** Never gives up, with one steady wait; only a start that timed out is not retried. */
const qwenCode = overridePolicy(defaultPolicy, {
  naming: { maxLength: 63, overflow: 'middle' },
  startup: {
    ...retriesAnyway,
    ...stopsAfterLast,
    mode: 'background',
    gateMs: 0,
    maxAttempts: null,
    retryOn: everyKindBut('initTimeout'),
  },
  connect: { ...unlimitedStarts, remoteTimeoutMs: 5_000 },
  restart: {
    ...resetsAtOnce,
    on: 'always',
    delays: [5_000],
    maxAttempts: null,
    afterGiveUp: 'stop',
  },
  storm: noStormLimits,
  breaker: { threshold: null },
  health: { mode: 'status' },
  catalog: { ...whileConnected, whileDown: 'hide', cache: 'none', pinTools: 'off' },
  // Ten minutes in all, so that five of silence can end a call before.
  call: { timeoutMs: 600_000, idleTimeoutMs: 300_000, replay: 'idempotentTrusted' },
  // Texts are cut, images and audio never.
  result: { textMaxLength: 25_000 },
  close: {
    // Two seconds to find the descendants, then the connection is closed.
    steps: [{ by: 'SIGTERM', waitMs: 2_000 }, killed],
    totalMs: 4_000,
    scope: 'tree',
  },
  admission: { budget: 'warn' },
  approval: { gatedScopes: ['project', 'workspace'] },
});

/** Makes three attempts, and opens a circuit after failed calls. */
const codeBuddy = overridePolicy(defaultPolicy, {
  naming: { template: '{server}.{tool}', aliases: ['{tool}'] },
  startup: {
    ...retriesAnyway,
    ...stopsAfterLast,
    mode: 'background',
    gateMs: 0,
    maxAttempts: 3,
  },
  // It sets none itself: the SDK's deadline of a request.
  connect: { ...unlimitedStarts, localTimeoutMs: 60_000, remoteTimeoutMs: 60_000 },
  restart: {
    ...resetsAtOnce,
    on: 'always',
    delays: upToHalfAMinute,
    maxAttempts: 3,
    afterGiveUp: 'stop',
  },
  storm: noStormLimits,
  // Always five minutes: nothing indicates that it grows.
  breaker: { threshold: 3, cooldownMs: 300_000, maxCooldownMs: 300_000 },
  catalog: { cache: 'memory', ttlMs: 300_000, pinTools: 'off' },
  call: { replay: 'once' },
  close: {
    steps: [{ by: 'SIGTERM', waitMs: 5_000 }, { by: 'SIGTERM', waitMs: 0 }, killed],
    totalMs: 7_000,
    scope: 'child',
  },
  approval: { gatedScopes: [] },
});

/** Restarts remote servers only; three broken connections in a row replace the session. */
const claudeCode = overridePolicy(defaultPolicy, {
  startup: {
    ...retriesAnyway,
    ...stopsAfterLast,
    // Three retries, and only where a retry may help: not after a status such as 404.
    maxAttempts: 4,
    retryOn: failureKinds.filter((kind) => isTransient(kind) && kind !== 'protocol'),
  },
  connect: {
    ...sameDeadline,
    missingVariable: 'keep',
    localSlots: 3,
    remoteSlots: 20,
    // Its deadline for any request but a call.
    listTimeoutMs: 60_000,
  },
  restart: {
    ...resetsAtOnce,
    on: 'remote',
    // The next call connects again. A server that forgets its sessions within a second waits.
    firstAfterExpiry: { sustainedMs: 1_000 },
    // The growth is documented; where it begins is not.
    delays: upToHalfAMinute,
    maxAttempts: 5,
    afterGiveUp: 'stop',
  },
  storm: noStormLimits,
  breaker: { threshold: 3, counts: 'connectionErrors', action: 'reconnect' },
  catalog: {
    whileDown: 'hide',
    cache: 'memory',
    ttlMs: null,
    maxEntries: 20,
    descriptionMaxLength: 2_048,
    pinTools: 'off',
  },
  call: {
    // About 28 hours: silence ends a remote call long before that.
    timeoutMs: 100_000_000,
    maxTimeoutMs: null,
    idleTimeoutMs: { local: null, remote: 300_000 },
    backgroundAfterMs: 120_000,
    replay: 'sessionExpired',
  },
  result: {
    // It counts 25,000 tokens of about four characters each.
    textMaxLength: 100_000,
    imageMaxPixels: 2_000,
    // As base64 that is five million characters, the most its model accepts.
    imageMaxBytes: 3_750_000,
    binaries: 'file',
  },
  close: {
    steps: [
      { by: 'SIGINT', waitMs: 100 },
      { by: 'SIGTERM', waitMs: 400 },
      { by: 'SIGKILL', waitMs: 50 },
    ],
    totalMs: 600,
    scope: 'child',
  },
  // Fifteen minutes without another prompt or connection.
  auth: { rememberMs: 900_000 },
  approval: { gatedScopes: ['project'], perCall: true },
});

/** Restarts failed servers; a server that was given up or never started waits for the next call. */
const dockerResilient = overridePolicy(defaultPolicy, {
  naming: { template: '{server}_{tool}' },
  startup: {
    ...retriesAnyway,
    mode: 'lazy',
    gateMs: 0,
    maxAttempts: 1,
    // Fifteen seconds, doubling to five minutes, up to a fifth more.
    busyBackoff: { initialMs: 15_000, factor: 2, maxMs: 300_000, addedJitter: 0.2 },
    afterGiveUp: 'untilDemanded',
  },
  connect: {
    ...unlimitedStarts,
    localTimeoutMs: null,
    remoteTimeoutMs: null,
    // Its only deadline during a start.
    listTimeoutMs: 10_000,
  },
  restart: {
    // Its documentation speaks of sustained service; its code resets at once.
    ...resetsAtOnce,
    on: 'auto',
    delays: { initialMs: 1_000, factor: 2, maxMs: 32_000 },
    maxAttempts: 5,
    afterGiveUp: 'untilDemanded',
  },
  storm: { crashLoop: { limit: 3, windowMs: 60_000, action: 'fail' }, reconnectStorm: null },
  breaker: { threshold: null },
  catalog: { ...whileConnected, whileDown: 'hide', cache: 'memory', pinTools: 'off' },
  call: { replay: 'once' },
  approval: { gatedScopes: [], perCall: true },
});

/** Starts with the first demand; a lost server waits for the next call. */
const dockerBestEffort = overridePolicy(dockerResilient, {
  restart: { on: 'never' },
  storm: noStormLimits,
});

/** Starts at once and is required; a lost server waits for the next call. */
const dockerStrict = overridePolicy(dockerBestEffort, {
  startup: { mode: 'eager', required: true, timeoutMs: 30_000 },
  connect: { localTimeoutMs: 30_000, remoteTimeoutMs: 30_000 },
});

export const presets: Readonly<Record<PresetName, ServerPolicy>> = {
  default: defaultPolicy,
  ohMyPi,
  qwenCode,
  codeBuddy,
  claudeCode,
  dockerResilient,
  dockerStrict,
  dockerBestEffort,
};
