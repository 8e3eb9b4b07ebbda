/** Tables of the library's methods and events, with the comments of their declarations. */

import type { Troupe } from '../../src/runtime/troupe.ts';
import { type Member, membersOf } from './doc-comments.ts';
import { code, linked, table } from './markdown.ts';

const methods = membersOf('src/runtime/troupe.ts', 'Troupe');

/** The methods that most programs need, for the README. */
const essentials: readonly (keyof Troupe)[] = [
  'ready',
  'tools',
  'callTool',
  'snapshot',
  'explain',
  'on',
  'addServer',
  'stop',
];

export function methodTable(): string {
  return table(['method', 'what it does'], methods.map(methodRow));
}

export function methodOverview(): string {
  const shown = essentials.flatMap((name) => methods.filter((it) => it.name === name));
  return table(['method', 'what it does'], shown.map(methodRow));
}

export function troupeEventTable(): string {
  return table(['event', 'carries', 'when'], eventRows('TroupeEvents'));
}

export function hostEventTable(): string {
  return table(['type', 'fields', 'what it does'], eventRows('HostEvent'));
}

function methodRow({ name, parts, isMethod, doc }: Member): readonly string[] {
  return [code(isMethod ? `${name}(${parts.join(', ')})` : name), linked(doc)];
}

function eventRows(union: 'TroupeEvents' | 'HostEvent'): readonly (readonly string[])[] {
  return membersOf('src/domain/host/event.ts', union).map(({ name, parts, doc }) => [
    code(name),
    parts.map(code).join(', '),
    linked(doc),
  ]);
}
