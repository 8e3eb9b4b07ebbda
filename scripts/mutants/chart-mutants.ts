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

/** Tests of behaviour, by the chart that they run; none of them compares source text. */
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

/** One line for each text that its file holds not once: the table no longer fits the charts. */
export function staleMutants(root: string): readonly string[] {
  return mutants.flatMap(({ name, file, find }) => {
    const count = readFileSync(join(root, file), 'utf8').split(find).length - 1;
    return count === 1 ? [] : [`${name}: its text occurs ${count} times in ${file}`];
  });
}

export const mutants: readonly Mutant[] = [
  {
    name: 'a stop leaves the server in demand',
    file: 'machines/server/setup.ts',
    find: 'wishStop: assign({ stopWanted: true, demanded: false,',
    replace: 'wishStop: assign({ stopWanted: true, demanded: true,',
  },
  {
    name: 'an exchange on request counts as a try',
    file: 'machines/server/setup.ts',
    find: 'takeTryBack: assign(({ context }) => ({ attempt: Math.max(0, context.attempt - 1) })),',
    replace: 'takeTryBack: assign({}),',
  },
  {
    name: 'a sustained service keeps the last error',
    file: 'machines/server/setup.ts',
    find: 'forgetAttempts: assign({ ...freshTries, lastError: null, floods: 0 }),',
    replace: 'forgetAttempts: assign({ ...freshTries, floods: 0 }),',
  },
  {
    name: 'the cool-down grows without a maximum',
    file: 'machines/server/setup.ts',
    find: 'Math.min(context.cooldownMs * 2, context.policy.breaker.maxCooldownMs)',
    replace: 'context.cooldownMs * 2',
  },
  {
    name: 'waiting for a permit counts as a try',
    file: 'machines/server/setup.ts',
    find: 'return { loss, lastError: loss, attempt: context.attempt - 1 };',
    replace: 'return { loss, lastError: loss };',
  },
  {
    name: 'a session that breaks while it is closed on request is a loss',
    file: 'machines/server/setup.ts',
    find: 'return { loss: context.demanded ? loss : null, lastError: loss };',
    replace: 'return { loss, lastError: loss };',
  },
  {
    name: 'a wake-up does not restart the handshake deadline',
    file: 'machines/session/opening.ts',
    find: "'server.woke': { actions: ['cancelConnectDeadline', 'startConnectDeadline'] },",
    replace: "'server.woke': {},",
  },
  {
    name: 'the breaker exchanges a session that drains',
    file: 'machines/server/engaged.ts',
    find: "guard: 'isToStay',",
    replace: '',
  },
  {
    name: 'an exchange by the breaker counts as a try',
    file: 'machines/server/engaged.ts',
    find: "actions: ['takeTryBack', 'recordExchange']",
    replace: "actions: ['recordExchange']",
  },
  {
    name: 'a start keeps its permit',
    file: 'machines/server/engaged.ts',
    find: "exit: 'returnSlot',",
    replace: '',
  },
  {
    name: 'a session that broke leaves its tools live',
    file: 'machines/server/catalog.ts',
    find: "'xstate.error.actor.session': 'lost',",
    replace: '',
  },
  {
    name: 'a suspension keeps its windows',
    file: 'machines/server/parked.ts',
    find: "const byStorm = { entry: 'forgetWindows' } as const;",
    replace: 'const byStorm = {} as const;',
  },
  {
    name: 'an edit ends a backoff',
    file: 'machines/server/parked.ts',
    find: "'server.demanded': { actions: 'noteDemand' },\n        'spec.updated': { actions: 'applySpec' },",
    replace: "'server.demanded': { actions: 'noteDemand' },",
  },
  {
    name: 'a lost session hides its tools',
    file: 'machines/server/catalog.ts',
    find: "'xstate.done.actor.session': 'lost',",
    replace: "'xstate.done.actor.session': 'none',",
  },
  {
    name: 'a rest leaves the circuit open',
    file: 'machines/server/circuit.ts',
    find: "'server.rested': '.closed',",
    replace: '',
  },
  {
    name: 'the failed calls of an exchanged session still count',
    file: 'machines/server/circuit.ts',
    find: "actions: ['forgetFailedCalls', 'announceTrip'],",
    replace: "actions: ['announceTrip'],",
  },
  {
    name: 'a late answer does not recover the health',
    file: 'machines/session/watch.ts',
    find: "{ ...signOfLife, actions: 'noteAlive', target: 'unwatched' },",
    replace: "{ ...signOfLife, target: 'unwatched' },",
  },
  {
    name: 'every loss counts as a crash',
    file: 'machines/server/context.ts',
    find: "loss.kind === 'crashed' ? recordInWindow(crashTimes, end.at, crashLoop) : crashTimes",
    replace: 'recordInWindow(crashTimes, end.at, crashLoop)',
  },
  {
    name: 'a short Retry-After shortens the backoff',
    file: 'machines/server/context.ts',
    find: 'return Math.max(delayMs, asked);',
    replace: 'return asked;',
  },
  {
    name: 'a fourth demanded retry overtakes an older one',
    file: 'machines/slots.ts',
    find: 'const mostOvertakings = 3;',
    replace: 'const mostOvertakings = 4;',
  },
  {
    name: 'a permit does not lapse',
    file: 'machines/permit.ts',
    find: "after: { patience: 'lapsed' }",
    replace: '',
  },
  {
    name: 'a permit lapses late',
    file: 'machines/permit.ts',
    find: 'local: 1_000,',
    replace: 'local: 1_001,',
  },
  {
    name: 'a command reaches a server that leaves',
    file: 'machines/troupe/moves.ts',
    find: 'target?.leaving === false ? [',
    replace: 'target !== undefined ? [',
  },
  {
    name: 'an approval of an old fingerprint counts',
    file: 'machines/troupe/setup.ts',
    find: 'if (shown !== undefined && shown !== fingerprint) return {};',
    replace: '',
  },
  {
    name: 'the successor of a lazy server is not demanded',
    file: 'machines/troupe/pass.ts',
    find: 'startWanted: seat.succeeds || startWishes.includes(name),',
    replace: 'startWanted: startWishes.includes(name),',
  },
  {
    name: 'a removal during a handover leaves the successor',
    file: 'machines/troupe/moves.ts',
    find: 'orders: [retire(now), ...orders] };',
    replace: 'orders: [retire(now)] };',
  },
  {
    name: 'a process that left when it was asked for its era is not started again',
    file: 'machines/session/opening.ts',
    find: "{ guard: { type: 'hasLeft', params: outcomeOf }, target: 'leaving' },",
    replace: '',
  },
  {
    name: 'SSE is never tried',
    file: 'machines/session/opening.ts',
    find: "target: 'fallingBack',",
    replace: "target: '#session.releasing',",
  },
  {
    name: 'a failed fallback reports what SSE answered',
    file: 'machines/session/opening.ts',
    find: '[failedOverSse, connected]',
    replace: '[failed, connected]',
  },
  {
    name: 'a close has no deadline',
    file: 'machines/session/session.ts',
    find: "...(how !== 'draining' && { closeDeadline: { actions: 'killConnection' } }),",
    replace: '',
  },
  {
    name: 'a change during a list is forgotten',
    file: 'machines/session/refresh.ts',
    find: "{ guard: 'isOutdated', actions: [report, noteOutcome], target: 'pausing.due' },",
    replace: '',
  },
];
