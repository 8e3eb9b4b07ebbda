/**
 * Picks what explains a failure from the lines that a process wrote.
 *
 * Each line has a weight; the heaviest decides, and of several errors the first, because the later
 * ones follow from it. Stack frames, code frames, properties of errors, brackets and Node's version
 * explain nothing. The lines are printable: trimmed, without colours and without empty ones.
 */

import { isRecord } from '../../domain/data/is-record.ts';

/** How much a line explains, from nothing to an exception that ended the process. */
const weights = {
  noise: 0,
  aside: 1,
  plain: 2,
  usage: 3,
  demand: 4,
  error: 5,
  uncaught: 6,
} as const;

/** `exit`: any line that says something; `errorsOnly`: the process did not end by itself. */
export type SearchedFor = 'exit' | 'errorsOnly';

// An explanation of errors is short; more of them hide the first.
const maxIssues = 3;
// A heading is followed by its text, perhaps after another heading.
const headingLines = 3;

const brackets = /^[\s{}[\](),;]+$/u;
const carets = /^[\^~]+$/u;
const frame = /^at .*(?::\d+\)?|\))(?: \{)?$|^File ".*", line \d+|^goroutine \d+ /u;
const place = /^(?:file:\/\/|node:|\/|[A-Za-z]:\\)\S*:\d+$/u;
const property =
  /^(?:'[^']*'|"[^"]*"|\[?(?!error\b)[a-z$_][\w$]*\]?): (?:-?\d+|'[^']*'|"[^"]*"|null|undefined|true|false|\[|\{|\[[^\]]*\]),?$/u;
const listItem = /^(?:'[^']*'|"[^"]*"),?$/u;
const footer =
  /^Node\.js v\d|^Traceback \(|^Require stack:|^\[cause\]: |^npm (?:error|ERR!) (?:code|errno|syscall|path|command|A complete log)\b|^\(Use `node /u;

const usage = /^usage\b/iu;
const helpLine = /^(?:(?:options|commands|flags|examples?):|-{1,2}\w)/iu;
const logged = /^(?:\S+ )?\W*(?:info|debug|trace|notice|warn|warning)\b|\w*Warning:/iu;
const announcement = /\b(?:running|listening|started|starting|connected|ready)\b/iu;
const errorLine =
  /(?:^|[^\w-])[\w$.]*(?:error|exception|panic|panicked|fatal)(?:[^\w:][^:]{0,80})?:(?:\s|$)|^\W*(?:error|fatal)\b/iu;
/** Codes of the operating system. */
const systemCode =
  /\bE(?:CONN\w+|NOTFOUND|TIMEDOUT|AI_AGAIN|HOSTUNREACH|NETUNREACH|ADDRINUSE|ACCES|NOENT|PERM)\b/u;
const demandLine =
  /\b(?:required|requires|missing|must|please|invalid|denied|refused|unable|cannot|can't|could not|couldn't|not (?:set|found|enough|provided|specified|defined|configured|supported|recognized|permitted|installed|authorized|allowed)|unauthorized|unknown|unrecognized|unsupported|expired|failed|no such)\b/iu;

const issueMessage = /"message":\s*"((?:[^"\\]|\\.)*)"/gu;

interface Weighed {
  readonly text: string;
  readonly weight: number;
  readonly index: number;
}

/** The text that explains why the process failed; undefined if no line does. */
export function explainingLine(
  lines: readonly string[],
  searchedFor: SearchedFor,
): string | undefined {
  const weighed = lines.map((text, index) => ({
    text,
    weight: weightOf(lines, text, index),
    index,
  }));
  const least = searchedFor === 'exit' ? weights.aside : weights.error;
  const heaviest = Math.max(least, ...weighed.map(({ weight }) => weight));
  const found = weighed.filter(({ weight }) => weight === heaviest);
  // The last of several plain lines is the nearest to the end.
  const chosen = heaviest === weights.plain ? found.at(-1) : found[0];
  return chosen && textOf(chosen.text, weighed.slice(chosen.index + 1));
}

/** The sentence that follows the failure's own; empty if nothing explains it. */
export function explanationInWords({
  explanation,
}: {
  readonly explanation?: string | undefined;
}): string {
  return explanation === undefined ? '' : ` It wrote: ${explanation}`;
}

function weightOf(lines: readonly string[], line: string, index: number): number {
  if (isNoise(lines, line, index)) return weights.noise;
  const record = recordOf(line);
  if (record !== undefined) return record.isError ? weights.error : weights.aside;
  if (usage.test(line)) return weights.usage;
  if (helpLine.test(line)) return weights.aside;
  if (carets.test(lines[index - 1] ?? '')) return weights.uncaught;
  if (systemCode.test(line)) return weights.error;
  if (logged.test(line)) return weights.aside;
  if (errorLine.test(line)) return weights.error;
  if (demandLine.test(line)) return weights.demand;
  return announcement.test(line) ? weights.aside : weights.plain;
}

function isNoise(lines: readonly string[], line: string, index: number): boolean {
  // The source of a frame: above its carets, or below the place of a Python frame.
  if (carets.test(lines[index + 1] ?? '') || (lines[index - 1] ?? '').startsWith('File "'))
    return true;
  return [brackets, carets, frame, place, property, listItem, footer].some((each) =>
    each.test(line),
  );
}

/** The text of a line, with what the lines below add to it. */
function textOf(line: string, below: readonly Weighed[]): string {
  const record = recordOf(line);
  if (record !== undefined) return record.text;
  const text = withoutStamps(line);
  const end = below.findIndex(({ weight }) => weight !== weights.noise);
  const details = (end === -1 ? below : below.slice(0, end)).map((each) => each.text);
  const issues = issuesIn(text.endsWith('[') ? [text, ...details] : [text]);
  if (issues !== '') return `${text.slice(0, text.indexOf('[')).trim()} ${issues}`.trim();
  if (text.endsWith(':') || /^usage$/iu.test(text)) return withTextBelow(text, below);
  const cause = causeIn(details);
  return text.includes(cause) ? text : `${text} (${cause})`;
}

/** The messages of a list of issues, as Zod writes it; empty if it is none. */
function issuesIn(lines: readonly string[]): string {
  const list = lines.join(' ');
  if (!/\[\s*\{/u.test(list)) return '';
  const found = [...list.matchAll(issueMessage)].map(([, message]) => message);
  return found.slice(0, maxIssues).join('; ');
}

function withTextBelow(heading: string, below: readonly Weighed[]): string {
  for (const { text, weight } of below.slice(0, headingLines)) {
    // A numbered list does not have one text.
    if (/^\d+[.)] /u.test(text)) break;
    if (weight >= weights.plain) return `${heading} ${text.replace(/^[-*] /u, '')}`;
  }
  return heading;
}

/** The deepest cause of an error, which stands among its frames; empty if there is none. */
function causeIn(details: readonly string[]): string {
  const causes = details.filter((line) => line.startsWith('[cause]: '));
  const last = causes.at(-1) ?? '';
  return last.replace(/^\[cause\]: (?:\w*Error(?: \[\w+\])?: )?/u, '').replace(/ \{$/u, '');
}

/** Without the process id, time and level that loggers put before a message. */
function withoutStamps(line: string): string {
  // Some text is left: a line is trimmed, and every stamp ends in a blank.
  return line
    .replace(/^(?:\[[\d\-T:.Z, ]+\] |\d{4}-\d\d-\d\d[T ][\d:.,Z+]+ )+/u, '')
    .replace(/^(\w+) \[[\d:.]+\] \(\d+\): /u, '$1: ');
}

/** A line that a logger wrote as JSON: pino, bunyan, zap, winston, slog and others. */
function recordOf(line: string): { readonly isError: boolean; readonly text: string } | undefined {
  if (!line.startsWith('{"')) return undefined;
  try {
    const record = JSON.parse(line) as Record<string, unknown>;
    const { level = record['severity'], message, msg = message } = record;
    const cause = reasonIn(record);
    const text = typeof msg === 'string' ? msg : cause;
    if (text === undefined) return undefined;
    // The numbers are those of pino and bunyan.
    const isError =
      typeof level === 'number'
        ? level >= errorLevel
        : /error|fatal|panic|crit|emerg|alert/iu.test(String(level));
    return { isError, text: text.includes(cause ?? '') ? text : `${text}: ${cause}` };
  } catch {
    return undefined;
  }
}

// Of pino and bunyan.
const errorLevel = 50;
// The fields in which loggers put what was thrown.
const reasonFields = ['err', 'error', 'exception', 'cause', 'reason'];

/** The message of the error in a record, and of its deepest cause. */
function reasonIn(record: Readonly<Record<string, unknown>>): string | undefined {
  const thrown = reasonFields
    .map((field) => record[field])
    .find((value) => typeof value === 'string' || isRecord(value));
  if (typeof thrown === 'string') return thrown.split('\n')[0];
  if (!isRecord(thrown)) return undefined;
  const message = typeof thrown['message'] === 'string' ? thrown['message'] : undefined;
  return reasonIn(thrown) ?? message;
}
