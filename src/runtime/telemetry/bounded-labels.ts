// The SDK's own limit for one metric; beyond it, the SDK would drop the labels of servers.
const mostLabels = 2_000;

/** Replaces names in a metric once there are too many: a troupe that is edited for weeks has had a lot of them. */
export class BoundedLabels {
  readonly #known = new Set<string>();

  of(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= mostLabels) return '_OTHER';
    this.#known.add(name);
    return name;
  }
}
