/**
 * Formats an explanation: the state and its reason, then the next step, then what was tried. The details
 * add what the chart did, by the names of its guards, timers and events.
 */

import { printableLine } from '../../domain/data/printable.ts';
import type { Attempt, Explanation, QueuePlace, WindowUse } from '../../domain/host/explanation.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isOnItsWay } from '../../domain/server-state.ts';
import type { SourceRef } from '../../domain/settings.ts';
import { lengthText, sinceText } from './durations.ts';
import type { Paint, Style } from './output.ts';
import {
  actionOf,
  downloadNote,
  type Fact,
  factLines,
  isByFailure,
  stateText,
  stderrLines,
} from './status-lines.ts';
import { fitTable, wrapText } from './table.ts';

const titleWidth = 13;
const longestLine = 1_000;

export function explanationLines(
  explanation: Explanation,
  nowMs: number,
  width: number,
  paint: Paint,
  isDetailed = false,
): string[] {
  const next = explanation.nextStep ?? actionOf(explanation.status);
  const painted = (style: Style, text: string): readonly string[] =>
    wrapText(printableLine(text, longestLine), width).map((line) => paint(style, line));
  const stderr = stderrLines(explanation.lastFailure?.stderrTail, width);
  return [
    ...painted('bold', sentenceOf(explanation, nowMs)),
    ...painted('cyan', `Next: ${next ?? waitOf(explanation, nowMs)}`),
    '',
    ...factLines((isDetailed ? factsOf : plainFactsOf)(explanation, nowMs), titleWidth, width),
    ...(stderr.length === 0 ? [] : ['', ...stderr]),
    ...attemptLines(explanation.attempts, width, paint),
  ];
}

/** The state and its reason. */
function sentenceOf(explanation: Explanation, nowMs: number): string {
  const { status, decision, queue } = explanation;
  const what = `${status.name} is ${stateText(status)} for ${sinceText(status.since, nowMs)}`;
  if (decision === undefined) return `${what}: it has no chart now.`;
  if (queue !== undefined) {
    return `${what}: ${queueText(queue)}.`;
  }
  const message = status.lastError?.message;
  const failure = isByFailure(status.state) && message !== undefined ? ` ${message}` : '';
  if (decision.isForecast) return `${what}; then ${placeName(decision.target)}.${failure}`;
  if (status.mayDownload === true) return `${what}: ${downloadNote}.`;
  if (status.state === 'degraded' && message !== undefined) return `${what}: ${message}`;
  if (decision.guard === 'otherwise') return `${what}: nothing keeps it from running.${failure}`;
  return `${what}.${failure}`;
}

/** A restart may wait although permits are free; its place in the queue alone does not explain that. */
function queueText({ position, waiting, permits, pool, heldBy, retriesLeft }: QueuePlace): string {
  const place = `place ${position} of ${waiting} in the queue for ${permits} ${pool} start permits`;
  const holders = heldBy.length === 0 ? '' : `; held by ${heldBy.join(', ')}`;
  if (retriesLeft !== 0) return `${place}${holders}`;
  return `${place}${holders}; too many servers are restarting, so restarts take turns`;
}

/** The next transition of a server that does not need the user. */
function waitOf({ timers, status }: Explanation, nowMs: number): string {
  const timer = timers.find(({ to }) => to !== undefined);
  if (status.state === 'ready' || timer?.to === undefined) return 'nothing to do';
  const isTry = isOnItsWay(timer.to.state);
  const then = isTry ? 'it is tried again' : `then ${stateText(timer.to)}`;
  return `nothing to do; ${then} in ${leftText(timer.dueAt, nowMs)}`;
}

/** The state that a place in a chart stands for: `connection.parked.failed.crashLoop`. */
function placeName(target: string): string {
  const [state = target, reason] = target
    .replace(/^connection\.(?:parked|engaged)\.(?:live\.)?/u, '')
    .split('.');
  return reason === undefined ? state : `${state} (${reason})`;
}

/** What a user asks about first, without the chart's words. */
function plainFactsOf(explanation: Explanation, nowMs: number): readonly Fact[] {
  const { circuit, budgets, admission, lastFailure, status } = explanation;
  const isClosed = circuit === undefined || circuit.state === 'closed';
  const isAdmitted = admission.verdict === 'admitted';
  return [
    ['last failure', failureText(lastFailure, status.state !== 'ready', nowMs)],
    ['exit', exitText(lastFailure)],
    ['shared with', explanation.sharedWith?.join(', ')],
    ['new settings', status.successor && stateText(status.successor)],
    ['old process', status.predecessor && 'finishes its calls'],
    ['calls', isClosed ? undefined : `refused; circuit ${circuitText(circuit)}`],
    ['attempts', status.state !== 'ready' && budgets ? attemptsText(budgets) : undefined],
    ['kept out by', isAdmitted ? undefined : `${admission.rule}${placeText(admission.source)}`],
    ['settings', isAdmitted ? placeText(admission.source).replace(/^, /u, '') : undefined],
  ];
}

/** A failure before the server became ready again is over. */
function failureText(
  failure: Explanation['lastFailure'],
  isPresent: boolean,
  nowMs: number,
): string | undefined {
  if (failure === undefined) return undefined;
  const { code, message, at } = failure;
  return `${sinceText(at, nowMs)} ago${isPresent ? '' : ', over now'}: ${message} (${code})`;
}

function factsOf(explanation: Explanation, nowMs: number): readonly Fact[] {
  const { decision, session, timers, circuit, budgets, admission, lastFailure } = explanation;
  return [
    [
      'last failure',
      lastFailure === undefined
        ? undefined
        : `${lastFailure.code} (${lastFailure.kind}) ${sinceText(lastFailure.at, nowMs)} ago: ${lastFailure.message}`,
    ],
    ['exit', exitText(lastFailure)],
    ['shared with', explanation.sharedWith?.join(', ')],
    ['successor', successorText(explanation.status)],
    ['predecessor', predecessorText(explanation.status)],
    [
      'decided by',
      decision === undefined
        ? undefined
        : `${guardText(decision)} -> ${decision.target} (line ${decision.row} of ${decision.table})`,
    ],
    ['session', session?.state],
    ...timers.map(({ name, totalMs, dueAt, to }, index): Fact => {
      const where = to === undefined ? '' : ` -> ${stateText(to)}`;
      const left = `in ${leftText(dueAt, nowMs)} of ${lengthText(totalMs)}`;
      return [index === 0 ? 'timers' : '', `${name} ${left}${where}`];
    }),
    ...moverFacts(explanation),
    ['circuit', circuit === undefined ? undefined : circuitText(circuit)],
    ['budgets', budgets === undefined ? undefined : budgetText(budgets)],
    ['admission', `${admission.verdict}, by ${admission.rule}${placeText(admission.source)}`],
  ];
}

function successorText({ successor }: ServerStatus): string | undefined {
  if (successor === undefined) return undefined;
  const { generation, lastError } = successor;
  const failure = lastError === undefined ? '' : `: ${lastError.message}`;
  return `${stateText(successor)} (generation ${generation.slice(0, 8)})${failure}`;
}

function predecessorText({ predecessor }: ServerStatus): string | undefined {
  if (predecessor === undefined) return undefined;
  const { generation, pid } = predecessor;
  const process = pid === undefined ? '' : `, process ${pid}`;
  return `finishes its calls (generation ${generation.slice(0, 8)}${process})`;
}

/** One line for each state that an event leads to. */
function moverFacts({ movedBy }: Explanation): readonly Fact[] {
  const byTarget = new Map<string, string[]>();
  for (const { event, sentBy, to, failure } of movedBy) {
    const sender = sentBy === 'host' ? '' : ` by the ${sentBy}`;
    const assumed = failure === undefined ? '' : ` (${failure})`;
    const events = byTarget.get(stateText(to)) ?? [];
    events.push(`${event}${sender}${assumed}`);
    byTarget.set(stateText(to), events);
  }
  return [...byTarget].map(([target, events], index) => [
    index === 0 ? 'moved by' : '',
    `${events.join(', ')} -> ${target}`,
  ]);
}

function guardText({ guard, params = {} }: NonNullable<Explanation['decision']>): string {
  const values = Object.values(params);
  return values.length === 0 ? guard : `${guard}(${values.join(', ')})`;
}

function exitText(failure: { exitCode?: number; signal?: string } | undefined): string | undefined {
  if (failure?.signal !== undefined) return `signal ${failure.signal}`;
  return failure?.exitCode === undefined ? undefined : `code ${failure.exitCode}`;
}

function circuitText(circuit: NonNullable<Explanation['circuit']>): string {
  const { state, failedCalls, threshold, cooldownLeftMs } = circuit;
  if (cooldownLeftMs !== undefined) return `${state}, probed in ${lengthText(cooldownLeftMs)}`;
  if (state !== 'closed' || threshold === null) return state;
  return `closed, ${failedCalls} of ${threshold} failed calls`;
}

type Budgets = NonNullable<Explanation['budgets']>;

function budgetText(budgets: Budgets): string {
  const { attempts, sameExits, crashes, losses } = budgets;
  const used = ({ times, limit, windowMs }: WindowUse): string =>
    `${times.length} of ${limit} in ${lengthText(windowMs)}`;
  const inWindows = [
    crashes === undefined ? '' : `; crashes ${used(crashes)}`,
    losses === undefined ? '' : `; losses ${used(losses)}`,
  ];
  // One exit is like no other.
  const alike =
    sameExits === undefined || sameExits.used < 2
      ? ''
      : `; failed the same way ${timesOf(sameExits)} times`;
  return `attempts ${attemptsText({ attempts })}${alike}${inWindows.join('')}`;
}

/** A remote server is tried beyond the limit, but rarely. */
function timesOf({ used, max }: NonNullable<Budgets['sameExits']>): string {
  return used > max ? String(used) : `${used} of ${max}`;
}

/** A lost remote server is tried for ever, but more slowly. */
function attemptsText({ attempts: { used, max } }: Pick<Budgets, 'attempts'>): string {
  if (max === null) return String(used);
  return used > max ? `${used}, after the first ${max} more slowly` : `${used} of ${max}`;
}

function placeText(source: SourceRef | undefined): string {
  if (source === undefined) return '';
  const { file, line, key, scope } = source;
  const place = file === undefined ? scope : `${file}${line === undefined ? '' : `:${line}`}`;
  return `, ${key} in ${place}`;
}

function leftText(dueAt: string, nowMs: number): string {
  return lengthText(Math.max(0, Date.parse(dueAt) - nowMs));
}

function attemptLines(attempts: readonly Attempt[], width: number, paint: Paint): string[] {
  if (attempts.length === 0) return [];
  const length = (ms: number | undefined): { text: string } => ({
    text: ms === undefined ? '' : lengthText(ms),
  });
  const table = {
    columns: [
      { title: 'ATTEMPT', align: 'right' as const, leastWidth: 3 },
      { title: 'STARTED', leastWidth: 12 },
      { title: 'QUEUED', align: 'right' as const, dropOrder: 1 },
      { title: 'CONNECT', align: 'right' as const, dropOrder: 2 },
      { title: 'LIST', align: 'right' as const, dropOrder: 0 },
      { title: 'READY', align: 'right' as const },
      { title: 'ENDED', keptWidth: 17, leastWidth: 8 },
      { title: 'WAIT', align: 'right' as const, dropOrder: 3 },
    ],
    rows: attempts.map((attempt) => [
      { text: String(attempt.attempt) },
      { text: attempt.startedAt.slice(11, 23) },
      length(attempt.queuedMs),
      length(attempt.connectingMs),
      length(attempt.loadingToolsMs),
      length(attempt.readyMs),
      { text: endText(attempt) },
      length(attempt.waitMs),
    ]),
  };
  return ['', ...fitTable(table, width, (title) => paint('bold', title))];
}

function endText({ failure, endedAt, rested }: Attempt): string {
  if (failure !== undefined) {
    const exit = exitText(failure);
    return exit === undefined ? failure.kind : `${failure.kind}, ${exit}`;
  }
  if (endedAt === undefined) return 'goes on';
  return rested === undefined ? 'closed' : stateText(rested);
}
