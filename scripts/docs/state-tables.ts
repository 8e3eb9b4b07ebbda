/**
 * The states in words. Names and reasons come from the domain, the next step and
 * what a call meets from the runtime itself; only the meanings are written here,
 * and the types want one for each.
 */

import type { ServerStatus } from '../../src/domain/host/status.ts';
import {
  type CatalogState,
  type CircuitState,
  catalogStates,
  circuitStates,
  reasonsOf,
  type ServerState,
  type StateReason,
  serverStates,
} from '../../src/domain/server-state.ts';
import type { DesiredServer } from '../../src/domain/settings.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { gateFor } from '../../src/runtime/calls/gate.ts';
import { nextStepFor } from '../../src/runtime/status/next-step.ts';
import type { RefusingLists } from '../../src/runtime/status/refusing-rule.ts';
import { code, codes, table } from './markdown.ts';

interface Words {
  readonly meaning: string;
  /** Said when the runtime names no step of its own. */
  readonly helps: string;
}

const states: Readonly<Record<ServerState, Words>> = {
  disabled: { meaning: 'Switched off by `"enabled": false`.', helps: '' },
  blocked: { meaning: 'Not admitted; the reason says why. Nothing is started.', helps: '' },
  dormant: {
    meaning: 'Admitted and deliberately not started.',
    helps: 'Nothing: the first call starts it.',
  },
  queued: {
    meaning: 'Waits for a start permit, so that not all servers start at once.',
    helps: 'Nothing: it goes on by itself.',
  },
  connecting: {
    meaning: 'The process runs, or the address is being asked; the handshake is under way.',
    helps: 'Nothing: it has a deadline.',
  },
  loadingTools: {
    meaning: 'Connected; the tool list is being fetched.',
    helps: 'Nothing: it has a deadline.',
  },
  ready: {
    meaning: 'Connected, and its tools were listed in this session.',
    helps: 'Nothing is wrong.',
  },
  degraded: {
    meaning: 'As `ready`, with something amiss; calls go out.',
    helps: 'Look at the reason; it may pass.',
  },
  backingOff: {
    meaning: 'Lost or not reached; the next attempt has a time, which the status tells.',
    helps: 'Wait, or mend what `lastError` says.',
  },
  authRequired: { meaning: 'The server wants a log-in.', helps: '' },
  suspended: {
    meaning: 'Stopped because it came and went too often; not tried again by itself.',
    helps: '',
  },
  failed: { meaning: 'Not tried again by itself.', helps: '' },
  stopping: {
    meaning: 'The session is being closed and the process ended.',
    helps: 'Nothing: it has a deadline.',
  },
  stopped: { meaning: 'A person stopped it; it stays so until it is started.', helps: '' },
}; // prettier-ignore

const reasons: Readonly<Record<StateReason, string>> = {
  untrusted: 'The host said that files of this project folder do not count.',
  excluded: 'It is named in `mcp.excluded` of some settings file.',
  notAllowed: 'There is a list of allowed servers, and it is not on every such list.',
  pendingApproval: 'A project folder brought it, and nobody has decided about it as it now is.',
  rejected: 'A project folder brought it, and a person said no.',
  invalidConfig:
    'Its entry cannot be used; `lastError` has file, line, key and what to write instead.',
  overBudget: 'The budget has no place for it; it starts when one is free.',
  retrying: 'An attempt of the present outage failed and more are left.',
  lost: 'A remote server used up its attempts; it is tried again quietly and rarely.',
  crashLoop: 'Its process crashed too often within a short time.',
  reconnectStorm:
    'Its session was lost too often within a short time, or three floods in a row ended it (then it is suspended).',
  attemptsExhausted: 'All attempts of one start or outage failed.',
  capabilityMissing: 'It lacks, or demands, a capability without which it cannot be used.',
  versionUnsupported: 'It speaks no version of the protocol that we speak.',
  restartNever: 'The session ended and the `restart` rule says not to open another.',
  healthCheck: 'It did not answer when it was asked whether it is alive.',
  flooding:
    'It sends more than is read: [the limits](guide.md#limits-and-policy). Notifications beyond them are dropped, requests are refused, and reading pauses; after 10 s over its budget it is disconnected.',
  partialCatalog: 'Its tool list came only in part; what came is shown.',
}; // prettier-ignore

const catalogs: Readonly<Record<CatalogState, string>> = {
  none: 'No tools are shown: it may not run, nobody wants it to, it gave up, or none are known.',
  deferred: 'The tools known from an earlier session, before the server is started.',
  live: 'Listed in the present session.',
  stale: 'The session was lost; its tools stay listed until the next one.',
};

const circuits: Readonly<Record<CircuitState, string>> = {
  closed: 'Calls go out.',
  open: 'A run of calls failed: further calls are refused at once with `CIRCUIT_OPEN`.',
  halfOpen:
    'The cool-down is over and the server is being probed with a tool list of ours; calls are still refused.',
}; // prettier-ignore

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
      states[state].meaning,
      reasonsOf[state].length > 1 && stepsOf(state).length > 1
        ? `by reason, see [states](docs/states.md#reasons)`
        : helpFor(state),
    ]),
  );
}

export function stateTable(): string {
  return table(
    ['state', 'means', 'reasons', 'what helps', 'a call then'],
    serverStates.map((state) => [
      code(state),
      states[state].meaning,
      codes(reasonsOf[state]),
      stepsOf(state).length > 1 ? 'see the reason' : helpFor(state),
      callMeets(state, undefined),
    ]),
  );
}

export function reasonTable(): string {
  return table(
    ['state', 'reason', 'means', 'what helps', 'a call then'],
    serverStates.flatMap((state) =>
      reasonsOf[state].map((reason) => [
        code(state),
        code(reason),
        reasons[reason],
        helpFor(state, reason),
        callMeets(state, reason),
      ]),
    ),
  );
}

export function catalogTable(): string {
  return table(
    ['catalog', 'means'],
    catalogStates.map((state) => [code(state), catalogs[state]]),
  );
}

export function circuitTable(): string {
  return table(
    ['circuit', 'means'],
    circuitStates.map((state) => [code(state), circuits[state]]),
  );
}

/** The different steps that the reasons of a state lead to. */
function stepsOf(state: ServerState): readonly string[] {
  return [...new Set(reasonsOf[state].map((reason) => helpFor(state, reason)))];
}

function helpFor(state: ServerState, reason?: StateReason): string {
  const condition = reason === undefined ? { state } : { state, reason };
  const step = nextStepFor(sample, condition, sampleLists);
  return step === undefined ? states[state].helps : code(step);
}

/** Asks the gate itself: once with all the time in the world and once with hardly any. */
function callMeets(state: ServerState, reason: StateReason | undefined): string {
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
