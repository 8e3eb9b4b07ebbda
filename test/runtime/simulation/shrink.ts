/**
 * Makes a failing list of steps shorter while it still fails: leaves out larger
 * parts first, then smaller ones, at last single steps.
 */
export async function shrink<Step>(
  steps: readonly Step[],
  fails: (steps: readonly Step[]) => Promise<boolean>,
  maxRuns: number,
): Promise<readonly Step[]> {
  let shortest = steps;
  let runs = 0;
  for (let part = Math.ceil(steps.length / 2); part >= 1; part = halfOf(part)) {
    for (let from = 0; from < shortest.length && runs < maxRuns; runs += 1) {
      const shorter = [...shortest.slice(0, from), ...shortest.slice(from + part)];
      if (await fails(shorter)) shortest = shorter;
      else from += part;
    }
  }
  return shortest;
}

function halfOf(part: number): number {
  return part === 1 ? 0 : Math.ceil(part / 2);
}
