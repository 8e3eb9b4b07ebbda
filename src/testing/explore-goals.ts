/** Lists the states from which none of the goal states can be reached, in ascending order. */
export function unreached(
  stateCount: number,
  edges: readonly (readonly [from: number, to: number])[],
  goals: ReadonlySet<number>,
): readonly number[] {
  const sources = new Map<number, number[]>();
  for (const [from, to] of edges) {
    const known = sources.get(to);
    if (known === undefined) sources.set(to, [from]);
    else known.push(from);
  }
  const reaching = new Set(goals);
  // A set that grows while it is walked is its own queue.
  for (const state of reaching) {
    for (const source of sources.get(state) ?? []) reaching.add(source);
  }
  return Array.from({ length: stateCount }, (_, state) => state).filter(
    (state) => !reaching.has(state),
  );
}
