/** Seeded random numbers. The runtime provides the seed, so everything below it is deterministic. */

/**
 * Returns a number in [0, 1) that depends only on its arguments. The same draw differs between
 * seeds. Only the lower 32 bits of both arguments count.
 *
 * @param draw - counts the draws made with this seed
 */
export function chanceOf(seed: number, draw: number): number {
  // Both are scrambled before they are combined: a plain sum would give two seeds the same
  // sequence, shifted by some draws.
  return scramble(scramble(seed) ^ scramble(~draw)) / 2 ** 32;
}

/** The finalizer of MurmurHash3 (public domain): one-to-one on 32 bits. */
function scramble(value: number): number {
  let bits = ((value | 0) + 0x9e3779b9) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
