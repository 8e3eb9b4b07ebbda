/** What a page can ask, path by path, once it was let in. */

import type { IncomingMessage } from 'node:http';
import type { CallerCode, ErrorDocument } from '../domain/caller-code.ts';
import type {
  InspectionSession,
  InspectionSource,
  PossibleAct,
} from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { printableLine } from '../policies/text/printable.ts';
import { machineHashes } from '../recorder/chart-names.ts';

/** What is looked at, and what can be done with it. */
export interface Inspected {
  readonly source: InspectionSource;
  readonly mode: 'live' | 'replay';
  /** Folder of the project, or name of the journal's file. */
  readonly title: string;
  /**
   * Does what a page asks for, by the names of the control socket. Absent where nothing runs.
   * @throws what is told to the page as an error document
   */
  readonly command?: (name: string, args: unknown, signal: AbortSignal) => Promise<unknown>;
  /** Undefined when there is no such server. Absent where nothing runs. */
  readonly acts?: (server: string) => readonly PossibleAct[] | undefined;
}

export interface Answer {
  readonly status: number;
  readonly document: unknown;
}

// A page that wants more asks again; more would keep everybody else waiting.
const mostRecords = 5_000;
// A command is small; a call of a tool may bring a document.
const maxBodyBytes = 1_048_576;
const longestMessage = 1_000;

/** Answers what is only looked at; undefined for paths that are none. */
export function lookAt(
  inspected: Inspected,
  path: string,
  query: URLSearchParams,
): Answer | undefined {
  const { source } = inspected;
  const [, area = '', name = '', part = '', ...rest] = path.split('/').slice(1);
  if (rest.length > 0) return undefined;
  switch (`${area}/${name === '' ? '' : '*'}/${part}`) {
    case 'session//':
      return { status: 200, document: sessionOf(inspected) };
    case 'picture//':
      return pictureAt(source, numberOf(query, 'at') ?? source.last);
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

function sessionOf({ source, mode, title }: Inspected): InspectionSession {
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
    sameCharts: Object.entries(ours).every(
      ([key, hash]) => machines[key as keyof typeof machines] === hash,
    ),
  };
}

function pictureAt(source: InspectionSource, at: number): Answer {
  const picture = source.picture(at);
  return picture === undefined ? gone(at, source) : { status: 200, document: picture };
}

function recordsFrom(source: InspectionSource, from: number, limit = mostRecords): Answer {
  const records = source.records(from, Math.min(limit, mostRecords));
  const following = (records.at(-1)?.n ?? source.last) + 1;
  const next = following <= source.last ? following : null;
  return { status: 200, document: { records, next } };
}

function contextOf(source: InspectionSource, actor: string, at: number): Answer {
  if (at < source.first - 1 || at > source.last) return gone(at, source);
  const context = source.context(actor, at);
  if (context === undefined)
    return refused(
      404,
      'INVALID_ARGUMENTS',
      `no chart ${actor} was there after record ${at}; look at the picture`,
    );
  return { status: 200, document: { context, n: at } };
}

function actsOf({ acts }: Inspected, server: string): Answer {
  if (acts === undefined) return { status: 200, document: { acts: [] } };
  const possible = acts(server);
  if (possible === undefined)
    return refused(404, 'SERVER_UNKNOWN', `there is no server ${server}; see the picture`);
  return { status: 200, document: { acts: possible } };
}

function gone(at: number, { first, last }: InspectionSource): Answer {
  return refused(
    410,
    'INVALID_ARGUMENTS',
    `what was true after record ${at} is not known; ask for ${first - 1} to ${last}`,
  );
}

/** Does what a page wants done. Its mistakes are answers like any other. */
export async function act(
  { command }: Inspected,
  body: unknown,
  signal: AbortSignal,
): Promise<Answer> {
  if (command === undefined)
    return refused(
      409,
      'NOT_RUNNING',
      'this is a journal, and nothing runs; look at a running troupe with troupe inspect',
    );
  if (!isRecord(body) || typeof body['command'] !== 'string')
    return refused(400, 'INVALID_ARGUMENTS', 'send {"command": "status", "args": {}}');
  try {
    return {
      status: 200,
      document: { result: await command(body['command'], body['args'] ?? {}, signal) },
    };
  } catch (error) {
    return { status: 200, document: { error: documentOf(error) } };
  }
}

function documentOf(error: unknown): ErrorDocument {
  const known =
    error instanceof TroupeError
      ? error
      : new TroupeError('INTERNAL', error instanceof Error ? error.message : String(error));
  return { ...known.toJSON(), message: printableLine(known.message, longestMessage) };
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

/** Reads what a page posts; a refusal where it is no JSON or too much of it. */
export async function bodyOf(
  request: IncomingMessage,
): Promise<{ readonly value: unknown } | { readonly refusal: Answer }> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  // Also what keeps a form on some page from posting here: it can send no such type.
  if (type !== 'application/json')
    return {
      refusal: refused(415, 'INVALID_ARGUMENTS', 'send JSON: Content-Type: application/json'),
    };
  const tooLarge = {
    refusal: refused(413, 'INVALID_ARGUMENTS', 'a body has 1 MB at most; send less'),
  };
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return tooLarge;
  // Whoever is refused in the middle still hears why.
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of pieces) {
    size += chunk.length;
    if (size > maxBodyBytes) return tooLarge;
    chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch {
    return {
      refusal: refused(400, 'INVALID_ARGUMENTS', 'the body is not JSON; send {"command": …}'),
    };
  }
}

export function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/u.test(text) ? Number(text) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
