/**
 * Which states of a picture are highlighted. A picture may show only a part of its chart and may fold states, so
 * each active leaf highlights its deepest drawn ancestor.
 */

export interface LitStates {
  /** Active states, as deep as the picture shows. */
  readonly lit: ReadonlySet<string>;
  /** States around them. */
  readonly within: ReadonlySet<string>;
}

export function litStates(leaves: readonly string[], drawn: ReadonlySet<string>): LitStates {
  const lit = new Set<string>();
  const within = new Set<string>();
  for (const leaf of leaves) {
    const path = pathsTo(leaf).filter((state) => drawn.has(state));
    const deepest = path.pop();
    if (deepest !== undefined) lit.add(deepest);
    for (const state of path) within.add(state);
  }
  for (const state of within) lit.delete(state);
  return { lit, within };
}

/** `a.b.c` gives `a`, `a.b`, `a.b.c`. */
function pathsTo(state: string): string[] {
  const parts = state.split('.');
  return parts.map((_, place) => parts.slice(0, place + 1).join('.'));
}

/**
 * The active state of a picture, for the label of its tab; with several, their common ancestor.
 *
 * @param of - the state that the picture shows; undefined when it shows the whole chart
 */
export function activeWord(leaves: readonly string[], of: string | undefined): string | undefined {
  const [first, ...others] = leaves
    .filter((leaf) => of === undefined || leaf.startsWith(`${of}.`))
    .map(pathsTo);
  return first
    ?.findLast((state) => others.every((paths) => paths.includes(state)))
    ?.split('.')
    .at(-1);
}

/** A timer of a chart: `xstate.after.<delay>.<id of the state>`. */
export interface AfterTimer {
  readonly delay: string;
  readonly state: string;
}

export function afterTimer(id: string, delay?: string): AfterTimer | undefined {
  const prefix = 'xstate.after.';
  if (!id.startsWith(prefix)) return undefined;
  const rest = id.slice(prefix.length);
  const name = delay ?? rest.split('.')[0] ?? '';
  if (!rest.startsWith(`${name}.`)) return undefined;
  return { delay: name, state: rest.slice(name.length + 1) };
}
