/**
 * Whole policies under names: our own, and those that behave like the systems
 * this project learned from. Every field that is not written down is the default's.
 *
 * They imitate what can be seen from outside: who is started when, when it is
 * tried again, when it is given up. Where a system leaves a process running or
 * waits without an end, its preset does not: the last step of every close is
 * SIGKILL, and its deadline holds.
 */

import type { FailureKind } from '../../domain/failure.ts';
import { failureKinds, isTransient } from '../../domain/failure.ts';
import type { BusyBackoff, PresetName, ServerPolicy } from '../../domain/policy.ts';
import { defaultPolicy } from './default-policy.ts';

const everyKindBut = (kind: FailureKind): readonly FailureKind[] =>
  failureKinds.filter((other) => other !== kind);

// A list that lives as long as its session needs no time of its own.
const whileConnected = { ttlMs: null, maxEntries: null } as const;

// Long enough for what a killed process leaves behind, and for its exit to be heard of.
const killed = { by: 'SIGKILL', waitMs: 250 } as const;

/** Tries a lost server at once, then by a short ladder, then quietly for as long as it is remote. */
const ohMyPi: ServerPolicy = {
  ...defaultPolicy,
  naming: {
    ...defaultPolicy.naming,
    template: 'mcp__{server}_{tool}',
    case: 'lower',
    stripServerPrefix: true,
    aliases: ['mcp__{server}__{tool}'],
  },
  startup: {
    ...defaultPolicy.startup,
    // Only a start that timed out is repeated: by the whole ladder of a lost server.
    maxAttempts: 6,
    retryOn: ['initTimeout'],
    busyBackoff: null,
    // Who never was connected is not lost.
    afterGiveUp: 'stop',
  },
  connect: { ...defaultPolicy.connect, localSlots: null, remoteSlots: null },
  restart: {
    ...defaultPolicy.restart,
    on: 'always',
    // The immediate attempt is the first of the five; four waits follow.
    first: 'immediate',
    delays: [500, 1_000, 2_000, 4_000],
    jitter: 'none',
    maxAttempts: 5,
    budgetReset: 'immediate',
    afterGiveUp: { retryFromMs: 15_000, toMs: 300_000 },
  },
  storm: {
    crashLoop: null,
    // More than five trip it, so the sixth does.
    reconnectStorm: { limit: 6, windowMs: 30_000, action: 'suspend' },
  },
  breaker: { ...defaultPolicy.breaker, threshold: null },
  catalog: { ...defaultPolicy.catalog, pinTools: 'off' },
  call: { ...defaultPolicy.call, replay: 'once' },
  // A challenge stays where it is, for whoever handles it.
  result: { ...defaultPolicy.result, outputSchema: 'ignore', authChallenge: 'keep' },
  auth: { ...defaultPolicy.auth, onMissing: 'prompt', background: 'interactive', parkMs: null },
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
  reload: { ...defaultPolicy.reload, mode: 'full' },
};

/** Never gives up, with one steady wait; only a start that timed out is not repeated. */
const qwenCode: ServerPolicy = {
  ...defaultPolicy,
  naming: { ...defaultPolicy.naming, maxLength: 63, overflow: 'middle' },
  startup: {
    ...defaultPolicy.startup,
    mode: 'background',
    gateMs: 0,
    maxAttempts: null,
    retryOn: everyKindBut('initTimeout'),
    busyBackoff: null,
    afterGiveUp: 'stop',
  },
  connect: {
    ...defaultPolicy.connect,
    localTimeoutMs: 30_000,
    remoteTimeoutMs: 5_000,
    localSlots: null,
    remoteSlots: null,
  },
  restart: {
    ...defaultPolicy.restart,
    on: 'always',
    delays: [5_000],
    jitter: 'none',
    maxAttempts: null,
    budgetReset: 'immediate',
    afterGiveUp: 'stop',
  },
  storm: { crashLoop: null, reconnectStorm: null },
  breaker: { ...defaultPolicy.breaker, threshold: null },
  health: { ...defaultPolicy.health, mode: 'status', everyMs: 30_000, failures: 3 },
  idle: { stopMs: null, drainMs: 30_000, maxIdleMs: 300_000 },
  catalog: {
    ...defaultPolicy.catalog,
    ...whileConnected,
    whileDown: 'hide',
    cache: 'none',
    pinTools: 'off',
  },
  call: { ...defaultPolicy.call, idleTimeoutMs: 300_000, replay: 'idempotentTrusted' },
  // Texts are cut, images and sounds never.
  result: { ...defaultPolicy.result, textMaxLength: 25_000 },
  auth: { ...defaultPolicy.auth, onMissing: 'fail', parkMs: null },
  close: {
    // Two seconds to find the descendants, then the connection is closed.
    steps: [{ by: 'SIGTERM', waitMs: 2_000 }, killed],
    totalMs: 4_000,
    scope: 'tree',
  },
  admission: { maxServers: null, budget: 'warn' },
  approval: { gatedScopes: ['project', 'workspace'], perCall: false },
}; // prettier-ignore

/** Three attempts, a breaker over calls, and a rest when nobody calls. */
const codeBuddy: ServerPolicy = {
  ...defaultPolicy,
  naming: { ...defaultPolicy.naming, template: '{server}.{tool}', aliases: ['{tool}'] },
  startup: {
    ...defaultPolicy.startup,
    mode: 'background',
    gateMs: 0,
    maxAttempts: 3,
    busyBackoff: null,
    afterGiveUp: 'stop',
  },
  connect: {
    ...defaultPolicy.connect,
    // It has none of its own: the SDK's deadline of a request.
    localTimeoutMs: 60_000,
    remoteTimeoutMs: 60_000,
    localSlots: null,
    remoteSlots: null,
  },
  restart: {
    ...defaultPolicy.restart,
    on: 'always',
    delays: { initialMs: 1_000, factor: 2, maxMs: 30_000 },
    jitter: 'none',
    maxAttempts: 3,
    budgetReset: 'immediate',
    afterGiveUp: 'stop',
  },
  storm: { crashLoop: null, reconnectStorm: null },
  breaker: {
    ...defaultPolicy.breaker,
    threshold: 3,
    // Always five minutes: nothing says that it grows.
    cooldownMs: 300_000,
    maxCooldownMs: 300_000,
  },
  idle: { stopMs: 300_000, drainMs: null, maxIdleMs: null },
  catalog: { ...defaultPolicy.catalog, cache: 'memory', ttlMs: 300_000, pinTools: 'off' },
  call: { ...defaultPolicy.call, replay: 'once' },
  auth: { ...defaultPolicy.auth, onMissing: 'fail', parkMs: null },
  close: {
    steps: [{ by: 'SIGTERM', waitMs: 5_000 }, { by: 'SIGTERM', waitMs: 0 }, killed],
    totalMs: 7_000,
    scope: 'child',
  },
  approval: { gatedScopes: [], perCall: false },
  reload: { ...defaultPolicy.reload, mode: 'full' },
}; // prettier-ignore

/** Looks after remote servers only; three broken connections in a row exchange the session. */
const claudeCode: ServerPolicy = {
  ...defaultPolicy,
  startup: {
    ...defaultPolicy.startup,
    // Three tries after the first, and only where another may help.
    maxAttempts: 4,
    retryOn: failureKinds.filter(isTransient),
    busyBackoff: null,
    afterGiveUp: 'stop',
  },
  connect: { ...defaultPolicy.connect, missingVariable: 'keep', localSlots: 3 },
  restart: {
    ...defaultPolicy.restart,
    on: 'remote',
    // That it is exponential is known; where it begins is not.
    delays: { initialMs: 1_000, factor: 2, maxMs: 30_000 },
    jitter: 'none',
    maxAttempts: 5,
    budgetReset: 'immediate',
    afterGiveUp: 'stop',
  },
  storm: { crashLoop: null, reconnectStorm: null },
  breaker: {
    ...defaultPolicy.breaker,
    threshold: 3,
    counts: 'connectionErrors',
    action: 'reconnect',
  },
  catalog: {
    ...defaultPolicy.catalog,
    whileDown: 'hide',
    cache: 'memory',
    ttlMs: null,
    maxEntries: 20,
    pinTools: 'off',
  },
  call: { ...defaultPolicy.call, idleTimeoutMs: 300_000, replay: 'sessionExpired' },
  result: {
    ...defaultPolicy.result,
    // It counts 25,000 tokens, of about four characters each.
    textMaxLength: 100_000,
    imageMaxPixels: 2_000,
    // As base64 that is five million characters, the most its model takes.
    imageMaxBytes: 3_750_000,
    binaries: 'file',
  },
  auth: { ...defaultPolicy.auth, onMissing: 'park', parkMs: 900_000 },
  close: {
    steps: [
      { by: 'SIGINT', waitMs: 100 },
      { by: 'SIGTERM', waitMs: 400 },
      { by: 'SIGKILL', waitMs: 50 },
    ],
    totalMs: 600,
    scope: 'child',
  },
  approval: { gatedScopes: ['project'], perCall: true },
};

/** For starts that were answered with "too busy": fifteen seconds, doubling to five minutes, up to a fifth more. */
const gate: BusyBackoff = { initialMs: 15_000, factor: 2, maxMs: 300_000, addedJitter: 0.2 };

/**
 * Restarts what failed and leaves the rest to the next demand: whoever was given
 * up, or could not be started, is started by the next call.
 */
const dockerResilient: ServerPolicy = {
  ...defaultPolicy,
  naming: { ...defaultPolicy.naming, template: '{server}_{tool}' },
  startup: {
    ...defaultPolicy.startup,
    mode: 'lazy',
    gateMs: 0,
    maxAttempts: 1,
    busyBackoff: gate,
    afterGiveUp: 'untilDemanded',
  },
  connect: {
    ...defaultPolicy.connect,
    localTimeoutMs: null,
    remoteTimeoutMs: null,
    // The one deadline it has at a start.
    listTimeoutMs: 10_000,
    localSlots: null,
    remoteSlots: null,
  },
  restart: {
    ...defaultPolicy.restart,
    on: 'auto',
    delays: { initialMs: 1_000, factor: 2, maxMs: 32_000 },
    jitter: 'none',
    maxAttempts: 5,
    // Its documents speak of a sustained service; its code does this.
    budgetReset: 'immediate',
    afterGiveUp: 'untilDemanded',
  },
  storm: { crashLoop: { limit: 3, windowMs: 60_000, action: 'fail' }, reconnectStorm: null },
  breaker: { ...defaultPolicy.breaker, threshold: null },
  catalog: {
    ...defaultPolicy.catalog,
    ...whileConnected,
    whileDown: 'hide',
    cache: 'memory',
    pinTools: 'off',
  },
  call: { ...defaultPolicy.call, replay: 'once' },
  auth: { ...defaultPolicy.auth, parkMs: null },
  approval: { gatedScopes: [], perCall: true },
  reload: { ...defaultPolicy.reload, mode: 'none' },
}; // prettier-ignore

const dockerNever: ServerPolicy = {
  ...dockerResilient,
  restart: { ...dockerResilient.restart, on: 'never', maxAttempts: 0, afterGiveUp: 'stop' },
  storm: { crashLoop: null, reconnectStorm: null },
};

/** Starts at once, has to be there, and is never restarted by itself. */
const dockerStrict: ServerPolicy = {
  ...dockerNever,
  startup: { ...dockerNever.startup, mode: 'eager', required: true, timeoutMs: 30_000 },
  connect: { ...dockerNever.connect, localTimeoutMs: 30_000, remoteTimeoutMs: 30_000 },
  auth: { ...dockerNever.auth, onMissing: 'fail' },
};

/** Starts with the first demand, and is never restarted by itself. */
const dockerBestEffort: ServerPolicy = {
  ...dockerNever,
  auth: { ...dockerNever.auth, onMissing: 'fail' },
};

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
