// What the SDK keeps for one metric by itself; beyond, it would drop what tells servers apart.
const mostLabels = 2_000;

/** Keeps names out of a metric once there were too many: a troupe edited for weeks has had a lot of them. */
export class BoundedLabels {
  readonly #known = new Set<string>();

  of(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= mostLabels) return '_OTHER';
    this.#known.add(name);
    return name;
  }
}
