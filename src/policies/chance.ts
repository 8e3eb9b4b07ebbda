/** Seeded chance: nothing random is drawn below the runtime, which hands in the seed. */

/**
 * A number in [0, 1) that depends on nothing but its arguments; equal draws of
 * different seeds always differ. Of both only the lower 32 bits count.
 *
 * @param draw - counts the draws made with this seed
 */
export function chanceOf(seed: number, draw: number): number {
  // Both are scrambled before they meet: were they just added, one seed's
  // sequence would be another's, some draws later.
  return scramble(scramble(seed) ^ scramble(~draw)) / 2 ** 32;
}

/** The finalizer of MurmurHash3 (public domain): one-to-one on 32 bits. */
function scramble(value: number): number {
  let bits = ((value | 0) + 0x9e3779b9) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
