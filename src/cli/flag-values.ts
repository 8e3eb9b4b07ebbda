/** Checks the values of flags; each throws commander's error, which names the flag. */

import { InvalidArgumentError } from 'commander';
import { isServerName } from '../policies/text/name-rule.ts';
import { maxLogLines } from './control/protocol.ts';

/** Longest delay that a timer of Node can hold, in milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

/** Takes one value and refuses a second: the last one winning would hide a mistake. */
export function once<Value>(parse: (text: string) => Value) {
  return (text: string, previous: Value | undefined): Value => {
    if (previous !== undefined) throw new InvalidArgumentError('It was given twice; give it once.');
    return parse(text);
  };
}

/** Gathers the values of a repeatable flag, in order. */
export function gather(text: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), text];
}

/** Reads a comma list of server names; the empty text is the empty list, which allows nothing. */
export function parseNames(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (name === '') {
      throw new InvalidArgumentError('There is an empty name in it; write names like db,api.');
    }
    if (!isServerName(name)) {
      throw new InvalidArgumentError(
        'Server names are 1 to 100 letters, digits or any of . _ : - and no others.',
      );
    }
  }
  return [...new Set(names)];
}

/** Reads a positive number of milliseconds, in plain digits. */
export function parseMilliseconds(text: string): number {
  const value = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= maxTimerMs)) {
    throw new InvalidArgumentError(`Write whole milliseconds from 1 to ${maxTimerMs}.`);
  }
  return value;
}

/** Reads how many lines are wanted, in plain digits. */
export function parseLineCount(text: string): number {
  const value = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= maxLogLines)) {
    throw new InvalidArgumentError(`Write a whole number from 1 to ${maxLogLines}.`);
  }
  return value;
}

/** Reads a text as it is, but not an empty one. */
export function parseText(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

/** Where to listen: a port, or a host and a port; `[::1]:8080` for an address of IPv6. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const loopback = '127.0.0.1';
const maxPort = 65_535;

/** Reads `[HOST:]PORT`; without a host only this machine can connect. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:(\[[\da-fA-F:.]+\]|[\w.-]+):)?(0|[1-9]\d{0,4})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > maxPort) {
    throw new InvalidArgumentError(
      `Write PORT or HOST:PORT, with a port from 0 to ${maxPort} (0 = any that is free).`,
    );
  }
  return { host: match[1]?.replace(/^\[|\]$/g, '') ?? loopback, port };
}

/** Reads a port; 0 is any that is free. */
export function parsePort(text: string): number {
  const port = /^(?:0|[1-9]\d{0,4})$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= maxPort)) throw new InvalidArgumentError(`Write a port from 0 to ${maxPort}.`);
  return port;
}
