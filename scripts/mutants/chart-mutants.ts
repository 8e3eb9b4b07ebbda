/**
 * Small breaks of the charts that the chart tests must notice. An entry follows its
 * chart: when the text moves, change `file` and `find`; when the behaviour is gone,
 * delete the entry.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Mutant {
  /** What the broken chart does. */
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** Behaviour tests by chart; none of them compares source text. */
const testsByChart: Readonly<Record<string, readonly string[]>> = {
  server: ['server/replies', 'server/traces', 'server/evidence'],
  session: ['session/replies', 'session/traces', 'session/lists'],
  slots: ['slots', 'troupe/traces'],
  permit: ['slots'],
  troupe: ['troupe/replies', 'troupe/traces'],
};

export function testsOf({ file }: Mutant): readonly string[] {
  const [, chart = ''] = /^machines\/(\w+)/.exec(file) ?? [];
  return testsByChart[chart] ?? [];
}

/** Describes each entry whose text does not occur exactly once in its file. */
export function staleMutants(root: string): readonly string[] {
  return mutants.flatMap(({ name, file, find }) => {
    const count = readFileSync(join(root, file), 'utf8').split(find).length - 1;
    return count === 1 ? [] : [`${name}: its text occurs ${count} times in ${file}`];
  });
}

/** By file: what the broken chart does, a text that occurs exactly once, and its replacement. */
const changes: Readonly<Record<string, readonly (readonly [string, string, string])[]>> = {
  'machines/server/setup.ts': [
    [
      'a stop leaves the server in demand',
      'wishStop: assign({ stopWanted: true, demanded: false,',
      'wishStop: assign({ stopWanted: true, demanded: true,',
    ],
    [
      'an exchange on request counts as a try',
      'takeTryBack: assign(({ context }) => ({ attempt: Math.max(0, context.attempt - 1) })),',
      'takeTryBack: assign({}),',
    ],
    [
      'a sustained service keeps the last error',
      'forgetAttempts: assign({ ...freshTries, lastError: null, floods: 0 }),',
      'forgetAttempts: assign({ ...freshTries, floods: 0 }),',
    ],
    [
      'the cool-down grows without a maximum',
      'Math.min(context.cooldownMs * 2, context.policy.breaker.maxCooldownMs)',
      'context.cooldownMs * 2',
    ],
    [
      'waiting for a permit counts as a try',
      'return { loss, lastError: loss, attempt: context.attempt - 1 };',
      'return { loss, lastError: loss };',
    ],
    [
      'a session that breaks while it is closed on request is a loss',
      'return { loss: context.demanded ? loss : null, lastError: loss };',
      'return { loss, lastError: loss };',
    ],
  ],
  'machines/session/opening.ts': [
    [
      'a wake-up does not restart the handshake deadline',
      "'server.woke': { actions: ['cancelConnectDeadline', 'startConnectDeadline'] },",
      "'server.woke': {},",
    ],
    [
      'a process that left when it was asked for its era is not started again',
      "{ guard: { type: 'hasLeft', params: outcomeOf }, target: 'leaving' },",
      '',
    ],
    ['SSE is never tried', "target: 'fallingBack',", "target: '#session.releasing',"],
    [
      'a failed fallback reports what SSE answered',
      '[failedOverSse, connected]',
      '[failed, connected]',
    ],
  ],
  'machines/server/engaged.ts': [
    ['the breaker exchanges a session that drains', "guard: 'isToStay',", ''],
    [
      'an exchange by the breaker counts as a try',
      "actions: ['takeTryBack', 'recordExchange']",
      "actions: ['recordExchange']",
    ],
    ['a start keeps its permit', "exit: 'returnSlot',", ''],
  ],
  'machines/server/catalog.ts': [
    ['a session that broke leaves its tools live', "'xstate.error.actor.session': 'lost',", ''],
    [
      'a lost session hides its tools',
      "'xstate.done.actor.session': 'lost',",
      "'xstate.done.actor.session': 'none',",
    ],
  ],
  'machines/server/parked.ts': [
    [
      'a suspension keeps its windows',
      "const byStorm = { entry: 'forgetWindows' } as const;",
      'const byStorm = {} as const;',
    ],
    [
      'an edit ends a backoff',
      "'server.demanded': { actions: 'noteDemand' },\n        'spec.updated': { actions: 'applySpec' },",
      "'server.demanded': { actions: 'noteDemand' },",
    ],
  ],
  'machines/server/circuit.ts': [
    ['a rest leaves the circuit open', "'server.rested': '.closed',", ''],
    [
      'the failed calls of an exchanged session still count',
      "actions: ['forgetFailedCalls', 'announceTrip'],",
      "actions: ['announceTrip'],",
    ],
  ],
  'machines/session/health.ts': [
    [
      'a late answer does not recover the health',
      "{ ...signOfLife, actions: 'noteAlive', target: 'unwatched' },",
      "{ ...signOfLife, target: 'unwatched' },",
    ],
  ],
  'machines/server/context.ts': [
    [
      'every loss counts as a crash',
      "loss.kind === 'crashed' ? recordInWindow(crashTimes, end.at, crashLoop) : crashTimes",
      'recordInWindow(crashTimes, end.at, crashLoop)',
    ],
    [
      'a short Retry-After shortens the backoff',
      'return Math.max(delayMs, asked);',
      'return asked;',
    ],
  ],
  'machines/slots.ts': [
    [
      'a fourth demanded retry overtakes an older one',
      'const mostOvertakings = 3;',
      'const mostOvertakings = 4;',
    ],
  ],
  'machines/permit.ts': [
    ['a permit does not lapse', "after: { patience: 'lapsed' }", ''],
    ['a permit lapses late', 'local: 1_000,', 'local: 1_001,'],
  ],
  'machines/troupe/setup.ts': [
    [
      'an approval of an old fingerprint counts',
      'if (shown !== undefined && shown !== fingerprint) return {};',
      '',
    ],
  ],
  'machines/troupe/pass.ts': [
    [
      'a command reaches a server that leaves',
      'target?.leaving === false ? [',
      'target !== undefined ? [',
    ],
    [
      'a removal during a handover leaves the successor',
      'orders: [retire(now), ...orders] };',
      'orders: [retire(now)] };',
    ],
    [
      'the successor of a lazy server is not demanded',
      'startWanted: seat.succeeds || startWishes.includes(name),',
      'startWanted: startWishes.includes(name),',
    ],
  ],
  'machines/session/session.ts': [
    [
      'a close has no deadline',
      "...(how !== 'draining' && { closeDeadline: { actions: 'killConnection' } }),",
      '',
    ],
  ],
  'machines/session/refresh.ts': [
    [
      'a change during a list is forgotten',
      "{ guard: 'isOutdated', actions: [report, noteOutcome], target: 'pausing.due' },",
      '',
    ],
  ],
};

export const mutants: readonly Mutant[] = Object.entries(changes).flatMap(([file, ofFile]) =>
  ofFile.map(([name, find, replace]) => ({ name, file, find, replace })),
);
