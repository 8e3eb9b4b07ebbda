/** Parses the values of flags. */

import { usageError } from '../domain/user-errors.ts';
import { isServerName } from '../policies/text/name-rule.ts';
import { longestName, maxLogLines } from './control/protocol.ts';

/** The longest delay of a Node timer, in milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

/** Rejects a second value: if the last one won, a mistake would go unnoticed. */
export function once<Value>(parse: (text: string) => Value) {
  return (text: string, previous: Value | undefined): Value => {
    if (previous !== undefined) throw usageError('It was given twice; use it once.');
    return parse(text);
  };
}

/** Collects the values of a repeatable flag, in order. */
export function gatherText(
  text: string,
  previous: readonly string[] | undefined,
): readonly string[] {
  return [...(previous ?? []), parseText(text)];
}

/** Parses server names separated by commas; an empty text is an empty list, which allows nothing. */
export function parseNames(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (name === '') {
      throw usageError('It contains an empty name; write names like db,api.');
    }
    if (!isServerName(name)) {
      throw usageError('Server names have 1 to 100 characters: letters, digits and . _ : -');
    }
  }
  return [...new Set(names)];
}

/** Parses a whole number in plain digits. */
const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw usageError(`Write a whole number from ${least} to ${most}.`);
  };

export const parseMilliseconds = wholeNumber(1, maxTimerMs);
export const parseLineCount = wholeNumber(1, maxLogLines);

const unitsMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?$/u;

/** Parses an age, such as `2h`, or an ISO time, to milliseconds since 1970. */
export function parseSince(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/u.exec(text) ?? [];
  const at = isoTime.test(text) ? Date.parse(text) : Number.NaN;
  const since = count === '' ? at : Date.now() - Number(count) * (unitsMs[unit] ?? 0);
  if (!Number.isNaN(since)) return since;
  throw usageError('Write an age such as 90s, 30m, 2h or 7d, or a time such as 2026-11-30T07:00Z.');
}

/** Accepts any non-empty string. */
export function parseText(text: string): string {
  if (text === '') throw usageError('It must not be empty.');
  return text;
}

/** Where to listen: a port, or a host and a port; IPv6 addresses in brackets, as in `[::1]:8080`. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const loopback = '127.0.0.1';
const maxPort = 65_535;

/** Parses `[HOST:]PORT`; without a host, only this machine can connect. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:(\[[\da-fA-F:.]+\]|[\w.-]+):)?(0|[1-9]\d{0,4})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > maxPort) {
    throw usageError(
      `Write PORT or HOST:PORT, with a port from 0 to ${maxPort} (0 = any free port).`,
    );
  }
  return { host: match[1]?.replace(/^\[|\]$/g, '') ?? loopback, port };
}

/** A port that is registered elsewhere, so never any free one. */
export const parseOpenPort = wholeNumber(1, maxPort);

/** 0 = any free port. */
export const parsePort = wholeNumber(0, maxPort);

/**
 * Rejects a name that the socket would reject.
 * @throws TroupeError `USAGE`
 */
export function checkName(kind: string, name: string, command: string): void {
  if (name !== '' && name.length <= longestName) return;
  throw usageError(
    `the name of the ${kind} must have 1 to ${longestName} characters; see troupe help ${command}`,
  );
}

/**
 * Reads the values of `--env` and `--header`, by name. Headers are usually written with a colon.
 * @throws TroupeError `USAGE`
 */
export function pairsOf(
  flagName: '--env' | '--header',
  texts: readonly string[],
): Readonly<Record<string, string>> {
  const pattern = flagName === '--env' ? /^([^=\s]+)=(.*)$/su : /^([^=:\s]+)(?:=|:\s*)(.*)$/su;
  const pairs = texts.map((text): [string, string] => {
    const [, name, value] = pattern.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, value];
    // The text itself may be a secret.
    throw usageError(`a value of ${flagName} has another form; write NAME=VALUE`);
  });
  return Object.fromEntries(pairs);
}
