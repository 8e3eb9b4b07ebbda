/** How records name the parts of a chart: as its pictures do, so that a page can light them. */

import { createHash } from 'node:crypto';
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition, StateValue } from 'xstate';
import { permitMachine } from '../../machines/permit.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { handoverMachine } from '../../machines/troupe/handover.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import type { MachineKey } from '../domain/host/inspection.ts';

/** Every chart that is recorded, by its key. */
export const machines: Readonly<Record<MachineKey, AnyStateMachine>> = {
  troupe: troupeMachine,
  server: serverMachine,
  session: sessionMachine,
  refresh: refreshMachine,
  handover: handoverMachine,
  slots: slotsMachine,
  permit: permitMachine,
};

/** The machine that an actor runs, by the id of its chart. */
export function machineKeyOf(id: unknown): MachineKey | undefined {
  return typeof id === 'string' && Object.hasOwn(machines, id) ? (id as MachineKey) : undefined;
}

let hashes: Readonly<Record<MachineKey, string>> | undefined;

/** Hashes of the definitions of all charts: equal only where states and transitions are the same. */
export function machineHashes(): Readonly<Record<MachineKey, string>> {
  hashes ??= Object.fromEntries(
    Object.entries(machines).map(([key, machine]) => [key, hashOf(machine)]),
  ) as Record<MachineKey, string>;
  return hashes;
}

function hashOf({ config }: AnyStateMachine): string {
  return createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16);
}

// Every copy of a machine has transitions of its own; they live as long as it does.
const edges = new WeakMap<AnyTransitionDefinition, string>();

/** `<id of the state>#<place among its transitions>`; undefined for those that XState adds of its own. */
export function edgeOf(transition: AnyTransitionDefinition): string | undefined {
  const known = edges.get(transition);
  if (known !== undefined) return known;
  const { source } = transition;
  const place = transitionsOf(source).indexOf(transition);
  if (place === -1) return undefined;
  const edge = `${source.id}#${place}`;
  edges.set(transition, edge);
  return edge;
}

/** The transitions written in one state: on, after, done and error first, `always` last. */
export function transitionsOf(state: AnyStateNode): readonly AnyTransitionDefinition[] {
  return [...state.transitions.values()].flat().concat(state.always ?? []);
}

/** Paths of the innermost states among the active ones. */
export function leavesOf(nodes: readonly AnyStateNode[]): readonly string[] {
  return nodes
    .filter(({ type }) => type === 'atomic' || type === 'final')
    .map((node) => node.path.join('.'));
}

/** The name of the delay that a timer of `after` waits for. */
export function delayNameOf(timerId: string): string | undefined {
  const name = /^xstate\.after\.([^.]+)\./u.exec(timerId)?.[1];
  return name === undefined || /^\d/u.test(name) ? undefined : name;
}

interface Branch {
  [key: string]: Branch;
}

/** Paths of leaves as a value of XState: `['a.b', 'c.d']` is `{ a: 'b', c: 'd' }`. */
export function stateValueOf(leaves: readonly string[]): StateValue {
  const tree: Branch = {};
  for (const leaf of leaves) {
    let branch = tree;
    for (const key of leaf.split('.')) branch = branch[key] ??= {};
  }
  return valueOf(tree);
}

function valueOf(branch: Branch): StateValue {
  const entries = Object.entries(branch);
  const [first] = entries;
  // The innermost state of a region is written as its name.
  if (entries.length === 1 && first !== undefined && Object.keys(first[1]).length === 0) {
    return first[0];
  }
  return Object.fromEntries(entries.map(([key, below]) => [key, valueOf(below)]));
}
