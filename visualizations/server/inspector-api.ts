/** Answers the API requests of an authenticated page. */

import type { IncomingMessage } from 'node:http';
import { declaresJson, readBody } from '../../actors/host/http-server.ts';
import type { CallerCode } from '../../src/domain/caller-code.ts';
import { parseJson } from '../../src/domain/data/exact-json.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type {
  InspectionSession,
  InspectionSource,
  PossibleAct,
} from '../../src/domain/host/inspection.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { decoded } from '../../src/policies/text/redact.ts';
import { machineHashes } from '../../src/recorder/chart-names.ts';
import { type ComparedJournal, comparisonOf } from './compare.ts';

/** The data that the inspector shows, and the commands that a page can send. */
export interface Inspected {
  readonly source: InspectionSource;
  readonly mode: 'live' | 'replay';
  /** The project's folder, or the name of the journal file. */
  readonly title: string;
  /** Another journal, and the first difference to it. */
  readonly compared?: ComparedJournal;
  /**
   * Runs a command of the control socket. Absent in a replay.
   * @throws an error, which the page gets as a document
   */
  readonly command?: (name: string, args: unknown, signal: AbortSignal) => Promise<unknown>;
  /** Undefined for an unknown server. Absent in a replay. */
  readonly acts?: (server: string) => readonly PossibleAct[] | undefined;
}

export interface Answer {
  readonly status: number;
  readonly document: unknown;
}

// A page requests further records separately, because a longer answer would delay other requests.
const mostRecords = 5_000;
// A command is small, but a tool call may carry a document.
const maxBodyBytes = 1_048_576;
const longestMessage = 1_000;

/** Answers requests that only read; undefined for unknown paths. */
export function readAnswer(
  inspected: Inspected,
  path: string,
  query: URLSearchParams,
): Answer | undefined {
  const { source } = inspected;
  const [, area = '', name = '', part = '', ...rest] = path.split('/').slice(1);
  if (rest.length > 0) return undefined;
  switch (`${area}/${name === '' ? '' : '*'}/${part}`) {
    case 'session//':
      return ok(sessionOf(inspected));
    case 'picture//':
      return pictureAt(source, numberOf(query, 'at') ?? source.last);
    case 'comparison//':
      return inspected.compared && ok(comparisonOf(inspected.compared, inspected));
    case 'records//':
      return recordsFrom(source, numberOf(query, 'from') ?? 1, numberOf(query, 'limit'));
    case 'actors/*/context':
      return contextOf(source, decoded(name), numberOf(query, 'at') ?? source.last);
    case 'servers/*/acts':
      return actsOf(inspected, decoded(name));
    default:
      return undefined;
  }
}

function sessionOf({ source, mode, title, compared }: Inspected): InspectionSession {
  const { startedAt, version, machines, first, last } = source;
  const ours = machineHashes();
  return {
    mode,
    version,
    title: printableLine(title, longestMessage),
    startedAt,
    first,
    last,
    firstT: source.picture(first - 1)?.t ?? 0,
    lastT: source.picture(last)?.t ?? 0,
    isCompared: compared !== undefined,
    sameCharts: Object.entries(ours).every(
      ([key, hash]) => machines[key as keyof typeof machines] === hash,
    ),
  };
}

function pictureAt(source: InspectionSource, at: number): Answer {
  const picture = source.picture(at);
  return picture === undefined ? gone(at, source) : ok(picture);
}

function recordsFrom(source: InspectionSource, from: number, limit = mostRecords): Answer {
  const records = source.records(from, Math.min(limit, mostRecords));
  const following = (records.at(-1)?.n ?? source.last) + 1;
  const next = following <= source.last ? following : null;
  return ok({ records, next });
}

function contextOf(source: InspectionSource, actor: string, at: number): Answer {
  if (at < source.first - 1 || at > source.last) return gone(at, source);
  const context = source.context(actor, at);
  if (context === undefined)
    return refused(
      404,
      'INVALID_ARGUMENTS',
      `actor ${actor} had no chart after record ${at}; see the picture`,
    );
  return ok({ context, n: at });
}

function actsOf({ acts }: Inspected, server: string): Answer {
  const possible = acts === undefined ? [] : acts(server);
  return possible === undefined
    ? refused(404, 'SERVER_UNKNOWN', `unknown server ${server}; see the picture`)
    : ok({ acts: possible });
}

function gone(at: number, { first, last }: InspectionSource): Answer {
  return refused(
    410,
    'INVALID_ARGUMENTS',
    `the state after record ${at} is not kept; use ${first - 1} to ${last}`,
  );
}

/** Runs a command of a page. A command that fails is answered with an error document and status 200. */
export async function act(
  { command }: Inspected,
  body: unknown,
  signal: AbortSignal,
): Promise<Answer> {
  if (command === undefined)
    return refused(
      409,
      'NOT_RUNNING',
      'a journal cannot run commands; use troupe inspect for a running troupe',
    );
  if (!isRecord(body) || typeof body['command'] !== 'string')
    return refused(400, 'INVALID_ARGUMENTS', 'send {"command": "status", "args": {}}');
  try {
    return ok({ result: await command(body['command'], body['args'] ?? {}, signal) });
  } catch (error) {
    const known =
      error instanceof TroupeError
        ? error
        : new TroupeError('INTERNAL', error instanceof Error ? error.message : String(error));
    const message = printableLine(known.message, longestMessage);
    return ok({ error: { ...known.toJSON(), message } });
  }
}

export function ok(document: unknown): Answer {
  return { status: 200, document };
}

export function refused(
  status: number,
  code: CallerCode,
  message: string,
  retryable = false,
): Answer {
  const shown = printableLine(message, longestMessage);
  return { status, document: { error: new TroupeError(code, shown, { retryable }).toJSON() } };
}

/** Runs `work`; a TroupeError becomes a refusal. */
export async function answered(work: () => unknown): Promise<Answer> {
  try {
    return ok(await work());
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return refused(400, error.code, error.message);
  }
}

/** Reads the JSON that a page posts. */
export async function bodyOf(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | { readonly refusal: Answer }> {
  const refuse = (status: number, message: string) => ({
    refusal: refused(status, 'INVALID_ARGUMENTS', message),
  });
  if (!declaresJson(request.headers))
    return refuse(415, 'send JSON: Content-Type: application/json');
  const bytes = await readBody(request, maxBodyBytes);
  if (bytes === undefined) return refuse(413, 'a body may have 1 MB; send less');
  try {
    return { value: parseJson(bytes.toString('utf8')) };
  } catch {
    return refuse(400, 'the body is not JSON; send {"command": …}');
  }
}

export function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/u.test(text) ? Number(text) : undefined;
}
