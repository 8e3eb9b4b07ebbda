/**
 * The picture of the server chart for readers who see it for the first time: the
 * connection region with the states folded that only say why.
 */

import { serverMachine } from '../../machines/server/server.ts';
import { chartMermaid } from '../../src/testing/chart-mermaid.ts';

const top = 'connection';
/** States drawn as one box, whatever is inside. */
const folded = ['blocked', 'backingOff', 'suspended', 'failed'].map(
  (state) => `${top}__parked__${state}`,
);
const foldedReady = `${top}__engaged__ready`;

export function serverPicture(): string {
  return foldMermaid(chartMermaid(serverMachine, { of: top }), [...folded, foldedReady]);
}

/**
 * Draws the named composite states of a diagram as simple ones: arrows inside
 * them vanish, arrows to and from their inside lead to them. Where that joins many
 * labels, guards lose their parameters.
 */
export function foldMermaid(diagram: string, ids: readonly string[]): string {
  const lines: string[] = [];
  const labels = new Map<string, Set<string>>();
  let closing: string | undefined;
  for (const line of diagram.trimEnd().split('\n')) {
    if (closing !== undefined) {
      if (line === closing) closing = undefined;
      continue;
    }
    const box = /^(\s*)(state ".*" as (\S+)) \{$/.exec(line);
    if (box !== null && ids.includes(box[3] ?? '')) {
      lines.push(`${box[1]}${box[2]}`);
      closing = `${box[1]}}`;
      continue;
    }
    const arrow = /^\s*(\S+) --> (\S+) : (.*)$/.exec(line);
    if (arrow === null) {
      lines.push(line);
      continue;
    }
    const [from, to] = [outside(arrow[1] ?? '', ids), outside(arrow[2] ?? '', ids)];
    if (from === to) continue;
    const ends = `  ${from} --> ${to}`;
    const known = labels.get(ends) ?? new Set<string>();
    for (const label of (arrow[3] ?? '').split('<br>'))
      known.add(label.replace(' [isCurrentSession]', ''));
    labels.set(ends, known);
  }
  const arrows = [...labels].map(([ends, known]) => `${ends} : ${joined([...known])}`);
  return [...lines, ...arrows].join('\n');
}

// With more labels than these nobody reads an arrow.
const maxLabels = 4;

function joined(labels: readonly string[]): string {
  const isGuarded = labels.every((label) => label.endsWith(']'));
  if (labels.length <= maxLabels || !isGuarded) return labels.join('<br>');
  return [...new Set(labels.map((label) => label.replace(/\([^)]*\)/, '')))].join('<br>');
}

function outside(id: string, ids: readonly string[]): string {
  return ids.find((around) => id.startsWith(`${around}__`)) ?? id;
}
