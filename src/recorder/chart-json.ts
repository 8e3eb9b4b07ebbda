/** A chart as data. */

import type { AnyStateMachine } from 'xstate';
import { isRecord } from '../domain/data/is-record.ts';

/**
 * Returns a chart as the configuration of XState's `createMachine`, as JSON: without functions, which are
 * replaced by their names, and without what only they can compute.
 */
export function chartConfig({ config }: AnyStateMachine): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(config, withoutFunctions)) as Readonly<Record<string, unknown>>;
}

function withoutFunctions(key: string, value: unknown): unknown {
  if (typeof value !== 'function') return value;
  if (key === 'input' || key === 'params' || key === 'context') return undefined;
  return { type: textOf(value) };
}

/** The name of a function; that of a guard made of others is a sentence, as in the pictures. */
function textOf(part: unknown): string {
  if (typeof part === 'string') return part;
  const isNamed = isRecord(part) && typeof part['type'] === 'string';
  const name = typeof part === 'function' ? part.name : isNamed ? String(part['type']) : '?';
  const guards: unknown = typeof part === 'function' ? Reflect.get(part, 'guards') : undefined;
  if (!Array.isArray(guards)) return name;
  const texts = guards.map(textOf);
  return name === 'not' ? `not ${texts.join()}` : texts.join(` ${name} `);
}
