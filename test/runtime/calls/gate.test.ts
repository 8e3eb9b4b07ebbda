import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/domain/caller-code.ts';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import {
  circuitStates,
  reasonsOf,
  type ServerState,
  type StateReason,
  serverStates,
} from '../../../src/domain/server-state.ts';
import { gateFor, refusalAtRest } from '../../../src/runtime/calls/gate.ts';

const wallNowMs = Date.UTC(2026, 0, 1);

function statusIn(
  state: ServerState,
  reason?: StateReason,
  more: Partial<ServerStatus> = {},
): ServerStatus {
  return {
    name: 'db',
    state,
    ...(reason === undefined ? {} : { reason }),
    catalog: 'live',
    circuit: 'closed',
    since: new Date(wallNowMs).toISOString(),
    generation: 'g1',
    restarts: 0,
    tools: 1,
    transport: 'stdio',
    source: { key: 'mcpServers.db', scope: 'config' },
    ...more,
  };
}

/** The gate's answer in one word: go, wait, wait and demand, or the code of the refusal. */
function answer(status: ServerStatus, remainingMs = 1_000): string {
  const gate = gateFor(status, { wallNowMs, remainingMs, circuitUntilMs: wallNowMs + 4_000 });
  if (gate.pass === 'refuse') return `${gate.error.code} ${exitCodeOf[gate.error.code]}`;
  return gate.pass === 'wait' && gate.demand ? 'wait and demand' : gate.pass;
}

type Row = Record<'closed' | 'open' | 'halfOpen', string>;
const always = (word: string): Row => ({ closed: word, open: word, halfOpen: word });
const usable: Row = { closed: 'go', open: 'CIRCUIT_OPEN 6', halfOpen: 'CIRCUIT_OPEN 6' };

// Every state and reason there is; a new one does not compile without a row.
const table: Record<ServerState, Row | Partial<Record<StateReason, Row>>> = {
  disabled: always('DISABLED 7'),
  blocked: {
    untrusted: always('UNTRUSTED 7'),
    excluded: always('EXCLUDED 7'),
    notAllowed: always('NOT_ALLOWED 7'),
    pendingApproval: always('PENDING_APPROVAL 10'),
    rejected: always('REJECTED 7'),
    invalidConfig: always('INVALID_CONFIG 2'),
    overBudget: always('OVER_BUDGET 7'),
  },
  // The circuit is probed by a running server only: a call that waits is what starts it.
  dormant: always('wait and demand'),
  queued: always('wait and demand'),
  connecting: always('wait'),
  loadingTools: always('wait'),
  ready: usable,
  degraded: { healthCheck: usable, flooding: usable, partialCatalog: usable },
  backingOff: { retrying: always('wait and demand'), lost: always('wait') },
  authRequired: always('AUTH_REQUIRED 11'),
  suspended: { crashLoop: always('SUSPENDED 6'), reconnectStorm: always('SUSPENDED 6') },
  failed: {
    attemptsExhausted: always('FAILED 8'),
    sameFailure: always('FAILED 8'),
    capabilityMissing: always('CAPABILITY_MISSING 8'),
    versionUnsupported: always('VERSION_UNSUPPORTED 8'),
    // The call tries it again.
    notStartable: always('wait and demand'),
    restartNever: always('FAILED 8'),
    crashLoop: always('FAILED 8'),
    reconnectStorm: always('FAILED 8'),
  },
  stopping: always('wait and demand'),
  stopped: always('STOPPED 7'),
};

const cases = serverStates.flatMap((state) => {
  const row = table[state];
  const reasons = reasonsOf[state];
  const places: [StateReason | undefined, Row][] =
    'closed' in row
      ? [[undefined, row as Row]]
      : reasons.map((reason) => [reason, (row as Record<StateReason, Row>)[reason]]);
  return places.flatMap(([reason, answers]) =>
    circuitStates.map((circuit) => ({ state, reason, circuit, expected: answers[circuit] })),
  );
});

describe('the call gate', () => {
  it.each(cases)(
    'decides $expected for $state ($reason) with circuit $circuit',
    ({ state, reason, circuit, expected }) => {
      const inMs = (ms: number): string => new Date(wallNowMs + ms).toISOString();
      const wait = state === 'backingOff' ? { nextAttemptAt: inMs(999) } : {};
      expect(answer(statusIn(state, reason, { circuit, ...wait }))).toBe(expected);
    },
  );

  it('makes a call wait for the next attempt only if it precedes the deadline', () => {
    const nextAttemptAt = new Date(wallNowMs + 1_000).toISOString();
    const status = statusIn('backingOff', 'retrying', { nextAttemptAt });
    expect(answer(status, 1_001)).toBe('wait and demand');
    expect(answer(status, 1_000)).toBe('BACKING_OFF 5');
  });

  it('reports when to retry', () => {
    const nextAttemptAt = new Date(wallNowMs + 2_500).toISOString();
    const times = { wallNowMs, remainingMs: 1_000, circuitUntilMs: wallNowMs + 4_000 };
    expect(gateFor(statusIn('backingOff', 'lost', { nextAttemptAt }), times)).toMatchObject({
      error: { code: 'BACKING_OFF', retryAfterMs: 2_500, retryable: true, outcome: 'not_executed' },
    });
    expect(gateFor(statusIn('ready', undefined, { circuit: 'open' }), times)).toMatchObject({
      error: { code: 'CIRCUIT_OPEN', retryAfterMs: 4_000, retryable: true },
    });
  });

  it('never reports a retry time of zero', () => {
    const nextAttemptAt = new Date(wallNowMs - 5).toISOString();
    const times = { wallNowMs, remainingMs: 0, circuitUntilMs: 0 };
    expect(gateFor(statusIn('backingOff', 'lost', { nextAttemptAt }), times)).toMatchObject({
      error: { retryAfterMs: 100 },
    });
    expect(gateFor(statusIn('ready', undefined, { circuit: 'halfOpen' }), times)).toMatchObject({
      error: { retryAfterMs: 100 },
    });
  });

  it.each([
    ['It exited with code 1.', 'It exited with code 1.'],
    ['Did you mean "args"?', 'Did you mean "args"?'],
  ])('names the problem and the next step in its message: %s', (message, shown) => {
    const gate = gateFor(
      statusIn('failed', 'attemptsExhausted', {
        lastError: { code: 'CRASHED', kind: 'crashed', message },
        action: 'troupe restart db',
      }),
      { wallNowMs, remainingMs: 1_000, circuitUntilMs: 0 },
    );
    expect(gate).toMatchObject({
      error: {
        message: `Server db is failed (attemptsExhausted): ${shown} Next: troupe restart db`,
      },
    });
  });

  it('has a refusal at rest for exactly the states that never admit a call', () => {
    for (const { state, reason } of cases) {
      const words = circuitStates.map((circuit) => answer(statusIn(state, reason, { circuit })));
      const isAlwaysRefused = words.every((word) => /^[A-Z_]+ \d+$/.test(word));
      const isWaiting = state === 'backingOff';
      // A call may find what was missing, but nothing else will.
      const isStartable = reason !== 'notStartable';
      expect(refusalAtRest(statusIn(state, reason)) !== undefined, `${state} ${reason}`).toBe(
        (isAlwaysRefused || !isStartable) && !isWaiting,
      );
    }
  });
});
