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
    file: 'machines/server/engaged.ts',
    find: "'server.woke': { target: 'connecting', reenter: true },",
    replace: "'server.woke': { target: 'connecting' },",
  },
  {
    name: 'the breaker exchanges a session that drains',
    file: 'machines/server/engaged.ts',
    find: "'breaker.tripped': {},",
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
    file: 'machines/server/engaged.ts',
    find: "onError: { actions: ['recordBrokenSession', 'announceAbandoned'], target: settle },",
    replace: "onError: { actions: ['recordBrokenSession'], target: settle },",
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
    name: 'an abandoned session hides its tools',
    file: 'machines/server/catalog.ts',
    find: "'session.abandoned': 'lost',",
    replace: "'session.abandoned': 'none',",
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
    file: 'machines/server/watch.ts',
    find: "{ ...signOfLife, actions: 'noteAlive', target: 'unwatched' },",
    replace: "{ ...signOfLife, target: 'unwatched' },",
  },
  {
    name: 'every loss counts as a crash',
    file: 'machines/server/context.ts',
    find: "loss.kind === 'crashed' ? recordInWindow(crashTimes, at, crashLoop) : crashTimes",
    replace: 'recordInWindow(crashTimes, at, crashLoop)',
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
    name: 'a start keeps its permit while it lists its tools',
    file: 'machines/server/engaged.ts',
    find: "['noteOpened', 'returnSlot', 'tellSessionToList']",
    replace: "['noteOpened', 'tellSessionToList']",
  },
  {
    name: 'a command reaches a server that leaves',
    file: 'machines/troupe/setup.ts',
    find: 'if (target !== undefined && !target.leaving) enqueue.sendTo(target.actorId, { type });',
    replace: 'if (target !== undefined) enqueue.sendTo(target.actorId, { type });',
  },
  {
    name: 'an approval of an old fingerprint counts',
    file: 'machines/troupe/setup.ts',
    find: 'if (event.fingerprint !== undefined && event.fingerprint !== fingerprint) return {};',
    replace: '',
  },
  {
    name: 'the successor of a lazy server is not demanded',
    file: 'machines/troupe/pass.ts',
    find: 'startWanted: succeeds || context.startWishes.includes(desired.name),',
    replace: 'startWanted: context.startWishes.includes(desired.name),',
  },
  {
    name: 'a removal during a handover leaves the successor',
    file: 'machines/troupe/handover.ts',
    find: 'return { ...server, leaving: true, successor: { ...successor, leaving: true } };',
    replace: 'return { ...server, leaving: true };',
  },
];
