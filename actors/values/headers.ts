/** Reads the headers that a program prints or the host provides. */

import type { Clock } from '../../src/domain/clock.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { HeadersReason } from '../../src/domain/host/headers.ts';
import type { ValueCommand } from '../../src/domain/server-spec.ts';
import { reservedHeaders } from '../../src/settings/entry/rules.ts';
import { withinTime } from '../host/time-limit.ts';
import { SettingError } from './setting-error.ts';

interface Asked {
  readonly server: string;
  readonly url: string;
  readonly reason: HeadersReason;
}

/** Asks the host. The result is checked here. */
export type HostHeaders = (asked: Asked) => Promise<unknown>;

type Headers = Readonly<Record<string, string>>;

// As long as a command may take, for the same reasons.
const hostMs = 10_000;
const maxShownLength = 200;

/**
 * Returns the variables that tell a program which server it is run for. Programs written for Claude
 * Code's `headersHelper` expect its names.
 */
export function serverVariables({ server, url }: Omit<Asked, 'reason'>): Headers {
  return {
    MCP_TROUPE_SERVER_NAME: server,
    MCP_TROUPE_SERVER_URL: url,
    CLAUDE_CODE_MCP_SERVER_NAME: server,
    CLAUDE_CODE_MCP_SERVER_URL: url,
  };
}

/** @throws SettingError if a program printed anything but a JSON object of headers */
export function headersInText(text: string, { words: [program = ''] }: ValueCommand): Headers {
  const source = `The command "${printableLine(program, maxShownLength)}", which gives "headersCommand",`;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // The exception's message contains parts of the text.
  }
  return checked(parsed, source, 'printed');
}

/** Asks the host within a time limit. */
export async function headersOfHost(
  ask: HostHeaders | undefined,
  asked: Asked,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Headers> {
  if (ask === undefined) return {};
  const source = 'The host\'s function "headers"';
  let given: unknown;
  try {
    const answer = Promise.resolve(ask(asked)).then((headers) => ({ headers }));
    given = await withinTime(clock, hostMs, answer, signal);
  } catch {
    // The host's error may contain a token.
    throw new SettingError(`${source} failed for "${asked.server}"; see the host's own log.`);
  }
  if (!isRecord(given))
    throw new SettingError(
      `${source} did not answer for "${asked.server}" within ${hostMs / 1_000} seconds.`,
    );
  const { headers } = given;
  return headers === undefined ? {} : checked(headers, source, 'returned');
}

function checked(given: unknown, source: string, verb: string): Headers {
  const wrong = `${verb} something that is not an object of header strings, as in { "Authorization": "Bearer …" }`;
  if (!isRecord(given)) throw new SettingError(`${source} ${wrong}.`);
  const headers = Object.entries(given);
  for (const [name, value] of headers) {
    if (typeof value !== 'string') throw new SettingError(`${source} ${wrong}.`);
    if (reservedHeaders.has(name.toLowerCase()))
      throw new SettingError(
        `${source} ${verb} the header "${printableLine(name, maxShownLength)}", which the protocol sets itself; leave it out.`,
      );
  }
  return Object.fromEntries(headers) as Headers;
}
