/** Takes secrets out of text, by value: whatever shape the text has, the value is gone. */

// Shorter values are ports, flags and counts: hiding every "1" would leave nothing to read.
const shortestSecret = 4;

const secretKey =
  /token|secret|passw|passphrase|api.?key|access.?key|private.?key|credential|authorization|cookie|session|^auth|_pat$|bearer/iu;

/** Says whether a setting of this name usually holds a secret. */
export function looksSecret(key: string): boolean {
  return secretKey.test(key);
}

/**
 * Puts the secrets into the order in which they must be taken out: the longest
 * first, so that a secret that contains another one leaves no half behind.
 */
export function secretsOf(values: Iterable<string>): readonly string[] {
  const kept = new Set<string>();
  for (const value of values) {
    if (value.length >= shortestSecret) kept.add(value);
    // A header "Bearer abc" turns up in messages as "abc", too.
    const word = /^\S+\s+(\S+)$/u.exec(value)?.[1];
    if (word !== undefined && word.length >= shortestSecret) kept.add(word);
  }
  return [...kept].sort((left, right) => right.length - left.length);
}

export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (clean.includes(secret)) clean = clean.replaceAll(secret, '[redacted]');
  }
  return clean;
}
