/** Names the parts of a chart as in its pictures, so that a page can highlight them. */

import { createHash } from 'node:crypto';
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition, StateValue } from 'xstate';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { handoverMachine } from '../../machines/troupe/handover.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import type { MachineKey } from '../domain/host/inspection.ts';

/** The recorded charts by key. */
export const machines: Readonly<Record<MachineKey, AnyStateMachine>> = {
  troupe: troupeMachine,
  server: serverMachine,
  session: sessionMachine,
  refresh: refreshMachine,
  handover: handoverMachine,
  slots: slotsMachine,
  authorization: authorizationMachine,
};

/** The machine that an actor runs, by the id of its chart. */
export function machineKeyOf(id: unknown): MachineKey | undefined {
  return typeof id === 'string' && Object.hasOwn(machines, id) ? (id as MachineKey) : undefined;
}

let hashes: Readonly<Record<MachineKey, string>> | undefined;

/** Hashes of all charts' definitions; equal when states and transitions are the same. */
export function machineHashes(): Readonly<Record<MachineKey, string>> {
  hashes ??= Object.fromEntries(
    Object.entries(machines).map(([key, machine]) => [key, hashOf(machine)]),
  ) as Record<MachineKey, string>;
  return hashes;
}

function hashOf({ config }: AnyStateMachine): string {
  return createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 16);
}

// Every copy of a machine has its own transition objects, with the same lifetime.
const edges = new WeakMap<AnyTransitionDefinition, string>();

/** `<state id>#<index of the transition>`; undefined for transitions that XState adds itself. */
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

/** A state's own transitions: on, after, done and error first, `always` last. */
export function transitionsOf(state: AnyStateNode): readonly AnyTransitionDefinition[] {
  return [...state.transitions.values()].flat().concat(state.always ?? []);
}

/** Paths of the innermost active states. */
export function leavesOf(nodes: readonly AnyStateNode[]): readonly string[] {
  return nodes
    .filter(({ type }) => type === 'atomic' || type === 'final')
    .map((node) => node.path.join('.'));
}

/** The name of the delay of an `after` timer. */
export function delayNameOf(timerId: string): string | undefined {
  const name = /^xstate\.after\.([^.]+)\./u.exec(timerId)?.[1];
  return name === undefined || /^\d/u.test(name) ? undefined : name;
}

/** A map, because a journal of unknown origin may name any key. */
interface Branch extends ReadonlyMap<string, Branch> {}

/** Converts leaf paths to an XState value: `['a.b', 'c.d']` becomes `{ a: 'b', c: 'd' }`. */
export function stateValueOf(leaves: readonly string[]): StateValue {
  const tree = new Map<string, Branch>();
  for (const leaf of leaves) {
    let branch = tree;
    for (const key of leaf.split('.')) {
      const below = (branch.get(key) ?? new Map()) as Map<string, Branch>;
      branch.set(key, below);
      branch = below;
    }
  }
  return valueOf(tree);
}

function valueOf(branch: Branch): StateValue {
  const entries = [...branch];
  const [first] = entries;
  // XState writes the innermost state of a region as its name.
  if (entries.length === 1 && first !== undefined && first[1].size === 0) {
    return first[0];
  }
  return Object.fromEntries(entries.map(([key, below]) => [key, valueOf(below)]));
}
