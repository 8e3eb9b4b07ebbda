/** Formats the status of servers: a table, everything about one, and log lines. */

import { printableLine } from '../../domain/data/printable.ts';
import type { StateName } from '../../domain/host/explanation.ts';
import type { ServerStatus, ServerUsage } from '../../domain/host/status.ts';
import type { Step, StepKind } from '../../domain/plan.ts';
import {
  isUsable,
  needsUser,
  type ServerState,
  statesByConcern,
} from '../../domain/server-state.ts';
import type { Problem } from '../../domain/settings.ts';
import { memoryUseText } from '../../policies/text/memory-text.ts';
import { counted } from './counted.ts';
import { sinceText, untilText } from './durations.ts';
import type { Paint, Style } from './output.ts';
import { type Cell, cutTo, fitTable, type Table, wrapText } from './table.ts';

const styleOf: Readonly<Record<ServerState, Style>> = {
  ready: 'green',
  degraded: 'yellow',
  queued: 'cyan',
  connecting: 'cyan',
  loadingTools: 'cyan',
  backingOff: 'yellow',
  stopping: 'yellow',
  authRequired: 'magenta',
  blocked: 'magenta',
  suspended: 'red',
  failed: 'red',
  dormant: 'gray',
  disabled: 'gray',
  stopped: 'gray',
};

/** The longest cell; a name has at most 100 characters. */
const longestCell = 200;
/** As long as a log line; `troupe status SERVER` shows the rest. */
const longestText = 500;
const longestFact = 1_000;

export type Fact = readonly [title: string, value: string | number | undefined];

/**
 * Formats the table of servers in lines that fit `width`, with the failure below a server that waits or is
 * degraded because of one.
 *
 * When the table has more than `mostLines`, failures are first cut to one line, then left out. Then problems
 * come first, each with its failure, the last servers are left out, and a line says how many.
 */
export function statusLines(
  servers: readonly ServerStatus[],
  nowMs: number,
  width: number,
  paint: Paint,
  mostLines = Number.POSITIVE_INFINITY,
): string[] {
  if (servers.length === 0) return ['no servers'];
  const table = statusTable(servers, nowMs, paint);
  const fit = (rows: Table['rows']): string[] =>
    fitTable({ ...table, rows }, width, (title) => paint('bold', title));
  const whole = fit(table.rows);
  const isCut = servers.map(
    (server, index) => whole[index + 1]?.includes(actionText(server)) === false,
  );
  const without = table.rows.map((row, index) =>
    isCut[index] === true ? [...row.slice(0, -1), { text: '' }] : row,
  );
  const [titles = '', ...rows] = fit(without);
  // Its end says what to fix, so an action that does not fit in its column stands below the row.
  const below = (index: number, mostWhyLines: number): string[] => {
    const server = servers[index];
    if (server === undefined) return [];
    const action = isCut[index] === true ? wrapText(actionText(server), width, '  -> ') : [];
    return [
      ...whyLines(server, nowMs, width, paint, mostWhyLines),
      ...action.map((line) => paint('cyan', line)),
    ];
  };
  for (const mostWhyLines of [Number.POSITIVE_INFINITY, 1]) {
    const lines = [titles, ...rows.flatMap((row, index) => [row, ...below(index, mostWhyLines)])];
    if (lines.length <= mostLines) return lines;
  }
  if (rows.length + 1 <= mostLines) return whole;
  const most = Math.max(0, mostLines - 2);
  const shown: string[] = [];
  let count = 0;
  for (const server of byConcern(servers)) {
    if (shown.length >= most) break;
    const index = servers.indexOf(server);
    shown.push(...[rows[index] ?? '', ...below(index, 1)].slice(0, most - shown.length));
    count += 1;
  }
  const more = `… and ${rows.length - count} more: troupe status`;
  return [titles, ...shown, cutTo(more, width)];
}

/** Writes the places in actions relative to the project folder, which the reader knows. */
export function withShortPlaces(
  servers: readonly ServerStatus[],
  projectRoot: string,
): readonly ServerStatus[] {
  const folder = projectRoot.endsWith('/') ? projectRoot : `${projectRoot}/`;
  return servers.map((server) =>
    server.action?.includes(folder) === true
      ? { ...server, action: server.action.replaceAll(folder, '') }
      : server,
  );
}

/** Orders servers by how much they need the user; equal ones keep their order. */
export function byConcern(servers: readonly ServerStatus[]): readonly ServerStatus[] {
  return servers.toSorted((a, b) => concernOf(a) - concernOf(b));
}

/** Says whether a server needs attention: it waits for the user or after a failure, or works in part. */
export function needsAttention(server: ServerStatus): boolean {
  return concernOf(server) <= statesByConcern.indexOf('backingOff');
}

/** A server that is up but refuses calls is as bad as a degraded one. */
function concernOf(server: ServerStatus): number {
  const isPartial = isUsable(server.state) && actionOf(server) !== undefined;
  return statesByConcern.indexOf(isPartial ? 'degraded' : server.state);
}

/** How many servers are in each state: `46 ready, 5 failed, 1 blocked`. */
export function summaryText(servers: readonly ServerStatus[]): string {
  const counts = new Map<ServerState, number>();
  for (const { state } of servers) counts.set(state, (counts.get(state) ?? 0) + 1);
  const states = ['ready' as const, ...statesByConcern.filter((state) => state !== 'ready')];
  return states
    .filter((state) => counts.has(state))
    .map((state) => `${counts.get(state)} ${state}`)
    .join(', ');
}

function whyLines(
  server: ServerStatus,
  nowMs: number,
  width: number,
  paint: Paint,
  mostLines: number,
): string[] {
  const why = whyOf(server, nowMs);
  if (why === undefined) return [];
  const text = printableLine(why, longestText);
  const lines = mostLines === 1 ? [cutTo(`  ${text}`, width)] : wrapText(text, width, '  ');
  return lines.map((line) => paint('gray', line));
}

function statusTable(servers: readonly ServerStatus[], nowMs: number, paint: Paint): Table {
  return {
    columns: [
      // Together 80 columns, so that name, state and action fit on the usual terminal.
      { title: 'SERVER', keptWidth: 24, leastWidth: 8 },
      { title: 'STATE', leastWidth: 12 },
      { title: 'REASON', keptWidth: 17, dropOrder: 3 },
      { title: 'TOOLS', align: 'right', dropOrder: 4 },
      { title: 'PID', align: 'right', leastWidth: 7, dropOrder: 1 },
      { title: 'SINCE', align: 'right', leastWidth: 6, dropOrder: 0 },
      { title: 'NEXT TRY', leastWidth: 8, dropOrder: 2 },
      { title: 'ACTION', keptWidth: 40, leastWidth: 20 },
    ],
    rows: servers.map((server) => rowOf(server, nowMs, paint)),
  };
}

function rowOf(server: ServerStatus, nowMs: number, paint: Paint): Cell[] {
  return [
    { text: printableLine(server.name, longestCell) },
    { text: server.state, paint: (text) => paint(styleOf[server.state], text) },
    { text: reasonOf(server) ?? '' },
    { text: server.tools === 0 && !isUsable(server.state) ? '' : String(server.tools) },
    { text: server.pid === undefined ? '' : String(server.pid) },
    { text: sinceText(server.since, nowMs) },
    { text: untilText(server.nextAttemptAt, nowMs) },
    {
      text: actionText(server),
      paint: (text) => paint('cyan', text),
    },
  ];
}

function actionText(server: ServerStatus): string {
  return printableLine(actionOf(server) ?? '', longestText);
}

/** Everything about one server, one fact per line, in lines that fit `width`. */
export function statusDetails(
  server: ServerStatus & {
    readonly usage?: Omit<ServerUsage, 'server'>;
    /** The names of the further clients that use it. */
    readonly usedBy?: string;
  },
  nowMs: number,
  width: number,
  isDetailed = false,
): string[] {
  const { source, usage } = server;
  // A ready server's last error is over, and its time is not known.
  const lastError = isDetailed || server.state !== 'ready' ? server.lastError : undefined;
  const detail = <Value>(value: Value): Value | undefined => (isDetailed ? value : undefined);
  const isClosed = server.circuit === 'closed';
  const isCatalogLive = server.catalog === 'live' || server.catalog === 'none';
  const place = source.file === undefined ? source.key : `${source.file}${lineOf(source.line)}`;
  const facts: readonly Fact[] = [
    ['server', server.name],
    ['state', stateText(server)],
    ['note', server.mayDownload === true ? downloadNote : undefined],
    ['since', `${server.since} (${sinceText(server.since, nowMs)} ago)`],
    ['tools', isCatalogLive && !isDetailed ? server.tools : `${server.tools} (${server.catalog})`],
    ...(server.toolNotes ?? []).map((note): Fact => ['', note]),
    ['circuit', isClosed ? detail(server.circuit) : server.circuit],
    ['attempt', server.attempt],
    ['next try', untilText(server.nextAttemptAt, nowMs)],
    ['restarts', server.restarts],
    ['calls', usage?.calls],
    ['pid', server.pid],
    ['memory', usage?.memory && memoryUseText(usage.memory)],
    ['used by', server.usedBy],
    ['transport', server.transport],
    ['era', detail(server.era)],
    ['source', `${place} (${source.scope})`],
    ['generation', detail(server.generation.slice(0, 12))],
    ...errorFacts(lastError),
    ['next step', actionOf(server)],
  ];
  return [...factLines(facts, 11, width), ...stderrLines(lastError?.stderrTail, width)];
}

function errorFacts(error: ServerStatus['lastError']): readonly Fact[] {
  if (error === undefined) return [];
  return [
    ['last error', `${error.code}: ${error.message}`],
    ['exit', error.signal ?? error.exitCode],
  ];
}

/** One line for each fact that has a value, wrapped to fit `width`. */
export function factLines(facts: readonly Fact[], titleWidth: number, width: number): string[] {
  return facts.flatMap(([title, value]) =>
    value === undefined || value === ''
      ? []
      : wrapText(printableLine(String(value), longestFact), width, `${title.padEnd(titleWidth)} `),
  );
}

/** The end of a server's stderr below a title; nothing without any. */
export function stderrLines(tail: readonly string[] = [], width: number): string[] {
  if (tail.length === 0) return [];
  const lines = tail.map((line) => cutTo(`  | ${printableLine(line, longestText)}`, width));
  return ['stderr', ...lines];
}

function lineOf(line: number | undefined): string {
  return line === undefined ? '' : `:${line}`;
}

/** The line of a status: name, state, reason and the facts that matter in that state. */
export function statusLine(status: ServerStatus, nowMs: number): string {
  const next = untilText(status.nextAttemptAt, nowMs);
  const facts = [
    status.mayDownload === true ? 'may be downloading' : '',
    status.tools > 0 || isUsable(status.state) ? counted(status.tools, 'tool') : '',
    status.catalog === 'deferred' || status.catalog === 'stale' ? status.catalog : '',
    status.pid === undefined ? '' : `pid ${status.pid}`,
    status.attempt === undefined || status.attempt < 2 ? '' : `attempt ${status.attempt}`,
    next === '' ? '' : `next try ${next}`,
    status.circuit === 'closed' ? '' : `circuit ${status.circuit}`,
  ].filter((fact) => fact !== '');
  const details = facts.length === 0 ? '' : `: ${facts.join(', ')}`;
  const failure = failureOf(status);
  const why = failure === undefined ? '' : ` - ${failure}`;
  const action = actionOf(status);
  const help = action === undefined ? '' : ` -> ${action}`;
  return printableLine(`${status.name} ${stateText(status)}${details}${why}${help}`, longestText);
}

/** A state with its reason. */
export function stateText({ state, reason }: StateName): string {
  return reason === undefined ? state : `${state} (${reason})`;
}

/** The steps of a plan that change something, one line each. */
export function planLines(plan: readonly Step[]): string[] {
  return plan
    .filter((step) => step.step !== 'keep')
    .map((step) => printableLine(`plan: ${planText(step)}`, longestText));
}

const verbs: Readonly<Partial<Record<StepKind, string>>> = {
  spawn: 'start',
  retire: 'stop',
  replace: 'restart',
};

function planText({ step, server, why }: Step): string {
  const [, origin, verdict] = /^(.*), not running yet, but (\w+)$/u.exec(why) ?? [];
  if (verdict !== undefined) return `${server} does not start: ${verdict} (${origin})`;
  return `${verbs[step] ?? step} ${server} (${why})`;
}

/** The problems in the settings, one line each. */
export function problemLines(problems: readonly Problem[]): string[] {
  return problems.map((problem) => `settings: ${placedProblem(problem)}`);
}

/** A problem after its place: `troupe.json:7 mcpServers.db.url: write a URL`. */
export function placedProblem({ file, line, key, message }: Problem, beforeKey = ' '): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return printableLine(
    `${place}${key === undefined ? '' : `${beforeKey}${key}`}: ${message}`,
    longestFact,
  );
}

/** Whether the last error is the reason for the state: the server waits, or works only in part. */
export function isByFailure(state: ServerState): boolean {
  return state === 'backingOff' || state === 'degraded' || needsUser(state);
}

/** The message of the failure because of which a server waits or is degraded. */
function failureOf({ state, lastError }: ServerStatus): string | undefined {
  return isByFailure(state) ? lastError?.message : undefined;
}

/** Why a start takes long. */
export const downloadNote = 'first start: the package runner may be downloading the server';
/** Most servers are ready before; a note would only flicker. */
export const downloadNoteAfterMs = 3_000;

/** The line below a server: why it is in its state, or why it takes so long. */
function whyOf(server: ServerStatus, nowMs: number): string | undefined {
  const isLong = nowMs - Date.parse(server.since) >= downloadNoteAfterMs;
  return server.mayDownload === true && isLong ? downloadNote : failureOf(server);
}

/** The reason for a state; for a server that is up but refuses calls, its circuit. */
function reasonOf(server: ServerStatus): string | undefined {
  if (!refusesCalls(server)) return server.reason;
  const circuit = `circuit ${server.circuit}`;
  return server.reason === undefined ? circuit : `${circuit}, ${server.reason}`;
}

/** The command that helps. Restarting a server closes its circuit. */
export function actionOf(server: ServerStatus): string | undefined {
  return server.action ?? (refusesCalls(server) ? `troupe restart ${server.name}` : undefined);
}

function refusesCalls({ state, circuit }: ServerStatus): boolean {
  return isUsable(state) && circuit !== 'closed';
}
