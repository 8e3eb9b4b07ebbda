/**
 * Tables of states and reasons: the meanings are comments of the domain; the next
 * step, and what happens to a call, come from the runtime itself.
 */

import type { ServerStatus } from '../../src/domain/host/status.ts';
import {
  type DegradedReason,
  reasonsOf,
  type ServerState,
  type StateReason,
  serverStates,
} from '../../src/domain/server-state.ts';
import type { DesiredServer } from '../../src/domain/settings.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { gateFor } from '../../src/runtime/calls/gate.ts';
import { nextStepFor, type RefusingLists } from '../../src/runtime/status/next-step.ts';

import { docOf, membersOf } from './doc-comments.ts';
import { code, codes, linked, table } from './markdown.ts';

const domain = 'src/domain/server-state.ts';

/** Shown when the runtime suggests no step. */
const helps: Readonly<Partial<Record<ServerState, string>>> = {
  dormant: 'Nothing: the first call starts it.',
  queued: 'Nothing: it continues automatically.',
  connecting: 'Nothing: it has a deadline.',
  loadingTools: 'Nothing: it has a deadline.',
  ready: 'Nothing is wrong.',
  backingOff: 'Wait, or fix what `lastError` says.',
  stopping: 'Nothing: it has a deadline.',
};

/** The same by reason; `lastError` has the details. */
const degradedHelps: Readonly<Record<DegradedReason, string>> = {
  healthCheck: 'Wait: it recovers with the next answer, or is reconnected.',
  flooding: 'Wait: it recovers when it calms down, or is disconnected.',
  partialCatalog:
    '`lastError` says which list and why. A list that failed is fetched again automatically; one with wrong or too many entries needs a fix of the server.',
};

const sample: DesiredServer = {
  name: 'db',
  generation: '',
  transport: 'stdio',
  enabled: true,
  startup: 'eager',
  trust: false,
  tools: { include: ['*'], exclude: [] },
  policy: defaultPolicy,
  source: { file: 'troupe.json', key: 'mcpServers.db', line: 3, scope: 'config' },
  gated: false,
};

const sampleLists: RefusingLists = {
  hostAllowed: null,
  limits: [
    { list: 'allowed', names: [], source: { ...sample.source, line: 8 } },
    { list: 'excluded', names: ['db'], source: { ...sample.source, line: 9 } },
  ],
  budget: { max: 10, mode: 'enforce', source: sample.source },
};

/** The states that users meet first, for the README. */
const commonStates = ['ready', 'dormant', 'backingOff', 'blocked', 'failed'] as const;

export function stateOverview(): string {
  return table(
    ['state', 'means', 'what helps'],
    commonStates.map((state) => [
      code(state),
      docOf(domain, 'serverStates', state),
      reasonsOf[state].length > 1 && stepsOf(state).length > 1
        ? `by reason, see [states](docs/states.md#reasons)`
        : helpFor(state),
    ]),
  );
}

export function stateTable(): string {
  return table(
    ['state', 'means', 'reasons', 'what helps', 'a call'],
    serverStates.map((state) => [
      code(state),
      docOf(domain, 'serverStates', state),
      codes(reasonsOf[state]),
      stepsOf(state).length > 1 ? 'see the reason' : helpFor(state),
      callResult(state, undefined),
    ]),
  );
}

export function reasonTable(): string {
  return table(
    ['state', 'reason', 'means', 'what helps', 'a call'],
    serverStates.flatMap((state) =>
      reasonsOf[state].map((reason) => [
        code(state),
        code(reason),
        linked(docOf(domain, `${state}Reasons`, reason)),
        helpFor(state, reason),
        callResult(state, reason),
      ]),
    ),
  );
}

export function catalogTable(): string {
  return table(['catalog', 'means'], rowsOf('catalogStates'));
}

export function circuitTable(): string {
  return table(['circuit', 'means'], rowsOf('circuitStates'));
}

function rowsOf(list: 'catalogStates' | 'circuitStates'): readonly (readonly string[])[] {
  return membersOf(domain, list).map(({ name, doc }) => [code(name), doc]);
}

/** The distinct next steps of the reasons of a state. */
function stepsOf(state: ServerState): readonly string[] {
  return [...new Set(reasonsOf[state].map((reason) => helpFor(state, reason)))];
}

function helpFor(state: ServerState, reason?: StateReason): string {
  const condition = reason === undefined ? { state } : { state, reason };
  const step = nextStepFor(sample, condition, sampleLists);
  if (step !== undefined) return code(step);
  const ofReason: Readonly<Partial<Record<StateReason, string>>> = degradedHelps;
  return (reason && ofReason[reason]) ?? helps[state] ?? '';
}

/** Evaluates the real gate, once with ample time left and once with hardly any. */
function callResult(state: ServerState, reason: StateReason | undefined): string {
  if (reason === undefined && reasonsOf[state].length > 0 && state === 'blocked') {
    return 'refused with the code of the reason';
  }
  const [patient, hasty] = [60_000, 1].map((remainingMs) =>
    gateFor(sampleStatus(state, reason), { wallNowMs: 0, remainingMs, circuitUntilMs: 0 }),
  );
  if (patient?.pass === 'go') return 'goes out';
  if (patient?.pass === 'refuse') return `refused: ${code(patient.error.code)}`;
  if (hasty?.pass === 'refuse') {
    return `waits if the next attempt comes before its deadline, else ${code(hasty.error.code)}`;
  }
  return 'waits, at most until its own deadline';
}

function sampleStatus(state: ServerState, reason: StateReason | undefined): ServerStatus {
  return {
    name: sample.name,
    state,
    ...(reason === undefined ? {} : { reason }),
    catalog: 'none',
    circuit: 'closed',
    since: new Date(0).toISOString(),
    generation: '',
    restarts: 0,
    nextAttemptAt: new Date(1_000).toISOString(),
    tools: 0,
    transport: sample.transport,
    source: sample.source,
  };
}
