import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { guardText, transitionsOf, triggerOf } from '../../src/testing/chart-parts.ts';
import { actionsText } from './chart-state-lines.ts';

/** One arrow of a picture: all transitions of one kind between the same two states. */
export interface Arrow {
  readonly id: string;
  readonly kind: 'event' | 'after' | 'always' | 'done' | 'error';
  readonly source: AnyStateNode;
  readonly target: AnyStateNode;
  /** `<id of the state>#<place among its transitions>`, as the recorder of a running chart names them. */
  readonly transitions: readonly string[];
  readonly lines: readonly string[];
}

// A label wider than this would push the states of two layers too far apart.
const widestLetters = 40;

/** The arrows between these states, in the order in which their transitions are written. */
export function arrowsOf(states: readonly AnyStateNode[]): readonly Arrow[] {
  const known = new Set(states);
  const arrows = new Map<string, Arrow>();
  for (const source of states) {
    for (const [place, transition] of transitionsOf(source).entries()) {
      for (const target of targetsOf(transition).filter((state) => known.has(state))) {
        const kind = kindOf(transition);
        const id = `${source.id} ${kind} ${target.id}`;
        const before = arrows.get(id);
        arrows.set(id, {
          id,
          kind,
          source,
          target,
          transitions: [...(before?.transitions ?? []), `${source.id}#${place}`],
          lines: [...(before?.lines ?? []), ...linesOf(transition)],
        });
      }
    }
  }
  return [...arrows.values()];
}

function targetsOf(transition: AnyTransitionDefinition): readonly AnyStateNode[] {
  return transition.target ?? [];
}

function kindOf(transition: AnyTransitionDefinition): Arrow['kind'] {
  const [first] = triggerOf(transition).split(' ');
  return first === 'after' || first === 'always' || first === 'done' || first === 'error'
    ? first
    : 'event';
}

const marks: Readonly<Record<Arrow['kind'], string>> = {
  event: '',
  after: '',
  always: '',
  done: '✓ ',
  error: '✗ ',
};

function linesOf(transition: AnyTransitionDefinition): readonly string[] {
  const kind = kindOf(transition);
  const trigger = triggerOf(transition).replace(/^(?:done|error) /, '');
  const guard = transition.guard === undefined ? '' : ` [${guardText(transition.guard)}]`;
  const actions = actionsText(transition.actions);
  return wrapped(`${marks[kind]}${trigger}${guard}${actions === '' ? '' : ` / ${actions}`}`);
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    const joined = last === undefined ? word : `${last} ${word}`;
    if (last !== undefined && joined.length > widestLetters) lines.push(`  ${word}`);
    else lines.splice(-1, 1, joined);
  }
  return lines;
}
