/**
 * Reads a server's answers: those to the first request of a handshake (`initialize` of older servers,
 * and `server/discover` of those since the 2026-07-28 revision, which is also the probe for the
 * era), and the type of any later result.
 */

import type { DiscoverResult, ServerCapabilities } from '@modelcontextprotocol/client';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import type { ServerProfile } from '../domain/session.ts';
import { isUnexpected, ProtocolFault, RefusedError } from './errors.ts';
import { metaKeys } from './meta.ts';
import { methods } from './methods.ts';
import {
  methodNotFound,
  RpcError,
  type RpcErrorBody,
  rpcErrorIn,
  unsupportedVersion,
} from './rpc-codes.ts';

export type Answered = Readonly<Record<string, unknown>>;

/** The supported revisions before 2026-07-28, the newest first. */
export const legacyVersions: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];
export const modernVersion = '2026-07-28';

/** What a server says of itself. */
export interface ServerFacts {
  readonly version: string;
  readonly capabilities: ServerCapabilities;
  /** Its name and version; modern servers may leave them out. */
  readonly info: Omit<ServerProfile, 'capabilities'> | undefined;
  readonly instructions: string | undefined;
  /** What a modern server answered, for later sessions. */
  readonly discovery?: DiscoverResult;
}

/** How the probe for the era ended. */
export type ProbeOutcome =
  | { readonly kind: 'result'; readonly result: Answered }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'silent' | 'closed' };

export type EraFound =
  | { readonly era: 'legacy' }
  | { readonly era: 'modern'; readonly facts: ServerFacts }
  /** The answer is missing or unusable, which the old handshake may not be. */
  | { readonly era: 'unclear'; readonly error: Error }
  /** The server refused our version and listed it as supported; the probe may be repeated once. */
  | { readonly era: 'contradicted'; readonly error: RpcError };

/**
 * Reads the answer to `initialize`.
 *
 * @throws ProtocolFault if it is malformed, Error if its version is not supported
 */
export function readGreeting(result: Answered): ServerFacts {
  const { protocolVersion: version, serverInfo, instructions } = result;
  const faults = [
    ...faultsIn(result),
    ...(infoOf(serverInfo) === undefined ? ['serverInfo has no name and version'] : []),
  ];
  if (faults.length > 0) throw invalid(methods.initialize.name, faults.join('; '));
  if (typeof version !== 'string' || !legacyVersions.includes(version))
    throw new Error(`Server's protocol version is not supported: ${String(version)}`);
  return {
    version,
    capabilities: result['capabilities'] as ServerCapabilities,
    info: infoOf(serverInfo),
    instructions: instructions as string | undefined,
  };
}

/**
 * Reads a modern server's description of itself.
 *
 * @throws ProtocolFault if it is malformed
 */
export function readDiscovery(result: unknown): ServerFacts {
  const facts = isRecord(result) ? discoveryIn(result) : undefined;
  if (facts === undefined) throw invalid(methods.discover.name, 'it does not describe a server');
  return facts;
}

function discoveryIn(result: Answered): ServerFacts | undefined {
  const { supportedVersions, resultType = 'complete', _meta: meta } = result;
  const isFit = isVersions(supportedVersions) && faultsIn(result).length === 0;
  if (!isFit || resultType !== 'complete') return undefined;
  return {
    version: modernVersion,
    capabilities: result['capabilities'] as ServerCapabilities,
    info: infoOf(isRecord(meta) ? meta[metaKeys.serverInfo] : undefined),
    instructions: result['instructions'] as string | undefined,
    discovery: result as unknown as DiscoverResult,
  };
}

/**
 * Decides the era. A server on a channel of its own that stays silent or ends the connection is an
 * older one. Over HTTP, whatever stands in front of a server may answer what the server does not
 * know, or drop it; only an address that was not reached, a login and a request to wait end the attempt.
 *
 * @throws if the server was not reached, or no version is supported by both sides
 */
export function judgeProbe(outcome: ProbeOutcome, hasChannel: boolean): EraFound {
  if (outcome.kind === 'result') return eraIn(outcome.result);
  if (outcome.kind === 'failed') return eraAfter(outcome.error);
  if (hasChannel) return { era: 'legacy' };
  if (outcome.kind === 'silent')
    return {
      era: 'unclear',
      error: new ProtocolFault('REQUEST_TIMEOUT', 'Version negotiation probe timed out'),
    };
  throw probeFault(new Error('Connection closed during the version negotiation probe'));
}

function eraIn(result: Answered): EraFound {
  const facts = discoveryIn(result);
  const isModern = facts?.discovery?.supportedVersions.includes(modernVersion) === true;
  return isModern ? { era: 'modern', facts } : { era: 'legacy' };
}

function eraAfter(error: unknown): EraFound {
  if (error instanceof RpcError) return eraOfRefusal(error);
  if (error instanceof Error && error.name === 'UnauthorizedError') throw error;
  if (error instanceof RefusedError) return eraOfStatus(error);
  if (isUnexpected(error) || error instanceof SyntaxError)
    return unclear(
      eraFault(
        `the server answered with an unusable reply (${wordsOf(error)})`,
        'probe failed',
        error,
      ),
    );
  if (error instanceof Error && 'wasConnected' in error && error.wasConnected === true)
    return unclear(probeFault(error));
  throw probeFault(error);
}

function unclear(error: Error): EraFound {
  return { era: 'unclear', error };
}

// The era has no part in these: a login, a lack of time, too many requests.
const statusesInEveryEra: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/**
 * Returns whether a server refused `initialize` the way a modern-only server does: with the versions
 * that it supports, as an unknown method, or with an HTTP status.
 */
export function isModernRefusal(error: unknown): boolean {
  if (error instanceof RefusedError) {
    const { status } = error;
    return status >= 400 && status < 500 && !statusesInEveryEra.has(status);
  }
  if (!(error instanceof RpcError)) return false;
  return error.code === methodNotFound || supportedIn(error)?.includes(modernVersion) === true;
}

/** Returns the versions that a server lists when it refuses ours; undefined for any other error. */
function supportedIn({
  code,
  data,
}: Pick<RpcErrorBody, 'code' | 'data'>): readonly string[] | undefined {
  const supported = isRecord(data) ? data['supported'] : undefined;
  return code === unsupportedVersion && isVersions(supported) ? supported : undefined;
}

/** Any error but one is what an older server answers to an unknown method. */
function eraOfRefusal(refusal: RpcErrorBody): EraFound {
  const supported = supportedIn(refusal);
  if (supported === undefined) return { era: 'legacy' };
  const error = new RpcError(refusal);
  if (supported.includes(modernVersion)) return { era: 'contradicted', error };
  if (supported.some((each) => each > modernVersion)) throw error;
  return { era: 'legacy' };
}

function eraOfStatus(error: RefusedError): EraFound {
  const { status, data } = error;
  const isDenied = status === 401 || status === 403;
  // Without a challenge, the refusal may be about the unknown method alone.
  if (status >= 500 || (isDenied && data.hasChallenge !== true)) return unclear(error);
  const refused = (why: string, code: string): RefusedError =>
    new RefusedError(`Version negotiation failed: ${why}`, data, code);
  if (status === 401)
    throw refused('the server requires authorization (HTTP 401)', 'CLIENT_HTTP_AUTHENTICATION');
  if (status === 403) throw refused('the server denied access (HTTP 403)', 'CLIENT_HTTP_FORBIDDEN');
  if (status === 429) throw error;
  const answer = rpcErrorIn(data.text);
  return answer === undefined ? { era: 'legacy' } : eraOfRefusal(answer);
}

/** A server whose settings say that it is modern turned out to be an older one. */
export function oldFault(hasClosed: boolean): ProtocolFault {
  return hasClosed
    ? eraFault(
        `the connection closed during the server/discover probe before the server offered pinned protocol version ${modernVersion} (no fallback in pin mode)`,
      )
    : eraFault(
        `the server did not offer pinned protocol version ${modernVersion} via server/discover (no fallback in pin mode)`,
      );
}

export function eraFault(why: string, what = 'failed', cause?: unknown): ProtocolFault {
  const message = `Version negotiation ${what}: ${why}`;
  return new ProtocolFault('ERA_NEGOTIATION_FAILED', message, cause === undefined ? {} : { cause });
}

function probeFault(error: unknown): ProtocolFault {
  return eraFault(wordsOf(error), 'probe failed', error);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function invalid(method: string, why: string): ProtocolFault {
  return new ProtocolFault('INVALID_RESULT', `Invalid result for ${method}: ${why}`);
}

const capabilityNames = ['tools', 'resources', 'prompts', 'logging', 'completions'] as const;

/** What is wrong in the fields that both answers have. */
function faultsIn({ capabilities, instructions }: Answered): readonly string[] {
  if (!isRecord(capabilities)) return ['capabilities is not an object'];
  const wrong = capabilityNames.filter(
    (name) => capabilities[name] !== undefined && !isRecord(capabilities[name]),
  );
  return [
    ...wrong.map((name) => `capabilities.${name} is not an object`),
    ...(instructions === undefined || typeof instructions === 'string'
      ? []
      : ['instructions is not a string']),
  ];
}

function infoOf(info: unknown): ServerFacts['info'] {
  if (!isRecord(info)) return undefined;
  const { name, version, title, description, websiteUrl, icons } = info;
  if (typeof name !== 'string' || typeof version !== 'string') return undefined;
  return {
    name,
    version,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    ...(typeof websiteUrl === 'string' && { websiteUrl }),
    ...(Array.isArray(icons) && {
      icons: icons.filter((icon) => isRecord(icon) && typeof icon['src'] === 'string'),
    }),
  };
}

function isVersions(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
  );
}

/** Removes a field of a later revision. */
export function withoutType(result: Answered): Answered {
  if (!('resultType' in result)) return result;
  const { resultType: _type, ...rest } = result;
  return keepNumbers(rest, result);
}

/** Returns a result of the 2026-07-28 revision; one without a type is complete. */
export function completed(method: string, result: Answered, mayAsk: boolean): Answered {
  const type = result['resultType'] ?? 'complete';
  if (type === 'complete') return withoutType(result);
  if (type === 'input_required' && mayAsk) {
    const asked = isRecord(result['inputRequests']) ? result['inputRequests'] : {};
    if (Object.keys(asked).length > 0 || typeof result['requestState'] === 'string')
      return keepNumbers({ ...result, inputRequests: asked }, result);
    const why = 'it asks for input without a question or a state';
    throw invalid(method, why);
  }
  throw new ProtocolFault(
    'UNSUPPORTED_RESULT_TYPE',
    `Unsupported result type ${JSON.stringify(type)} for ${method}`,
  );
}
