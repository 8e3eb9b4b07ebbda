/** Makes any value showable: plain data, bounded, printable, without secrets. Never throws. */

import { printableLine } from '../domain/data/printable.ts';
import type { LastError, ServerStatus } from '../domain/host/status.ts';
import { redactData, redactWords } from '../policies/text/redact-words.ts';

// Two lines of a terminal; longer strings influence no chart.
const longestText = 200;
// Deeper than any context; ends cycles.
const deepest = 8;
// Longer than any list that influences a chart; the rest is counted.
const longestList = 1_000;

// Types, names and ids repeat, and searching each for secrets would be the slowest part.
const known = new Map<string, string>();
const mostKnown = 4_000;
const longestKnown = 120;

export function shownText(text: string): string {
  if (text.length > longestKnown) return cleaned(text);
  const before = known.get(text);
  if (before !== undefined) return before;
  if (known.size >= mostKnown) known.clear();
  const shown = cleaned(text);
  known.set(text, shown);
  return shown;
}

function cleaned(text: string): string {
  const bounded = text.length > longestText * 4 ? text.slice(0, longestText * 4) : text;
  return printableLine(redactWords(bounded), longestText);
}

/** Undefined for values that are not data. */
export function shownValue(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
      return shownText(value);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : shownObject(value, depth);
    default:
      return undefined;
  }
}

const tooDeep = '[deeper]';
const unreadable = '[unreadable]';

function shownObject(value: object, depth: number): unknown {
  if (depth >= deepest) return tooDeep;
  try {
    if (Array.isArray(value)) return shownList(value, depth);
    const entries = Object.entries(value).slice(0, longestList);
    return Object.fromEntries(
      entries.flatMap(([key, each]) => {
        const shown = shownValue(each, depth + 1);
        return shown === undefined ? [] : [[shownText(key), shown] as const];
      }),
    );
  } catch {
    return unreadable;
  }
}

function shownList(list: readonly unknown[], depth: number): readonly unknown[] {
  const shown = list.slice(0, longestList).map((each) => shownValue(each, depth + 1) ?? null);
  const left = list.length - shown.length;
  return left === 0 ? shown : [...shown, `[${left} more]`];
}

/** A status without the tokens and passwords that a server may write into its last failure. */
export function shownStatus(status: ServerStatus): ServerStatus {
  const { lastError } = status;
  if (lastError === undefined) return status;
  return { ...status, lastError: redactData(lastError) as LastError };
}
