/** The spellings of an address that a server may read as one. */

// More rounds of percent-encoding than any program uses.
const mostRounds = 5;

/**
 * Returns an address as it is written, decoded, and normalised: decoded completely, without dot segments and
 * empty ones. Undefined if it is encoded too many times over to be read.
 */
export function spellingsOf(uri: string): readonly string[] | undefined {
  const text = decodedFully(uri);
  if (text === undefined) return undefined;
  return [...new Set([uri, text, ...normalised(uri), ...normalised(text)])];
}

/** Returns the spellings of an address and of its part before the query, in lower case. */
export function looseSpellingsOf(uri: string): readonly string[] | undefined {
  const whole = spellingsOf(uri);
  const part = whole?.flatMap((each) => spellingsOf(each.split(/[?#]/u, 1)[0] ?? '') ?? []);
  return whole && [...new Set([...whole, ...(part ?? [])].map((each) => each.toLowerCase()))];
}

function decodedFully(uri: string): string | undefined {
  let text = uri;
  for (let round = 0; round < mostRounds; round += 1) {
    const next = text.replaceAll(/(?:%[\da-f]{2})+/giu, decoded);
    if (next === text) return text.normalize();
    text = next;
  }
  return undefined;
}

/** Decodes a run of encoded bytes, or what is ASCII in it if it is no UTF-8. */
function decoded(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return run.replaceAll(/%[0-7][\da-f]/giu, (byte) => decodeURIComponent(byte));
  }
}

/**
 * Removes what does not distinguish addresses: case of the scheme and host, dot segments, empty segments. Programs
 * differ in whether `..` leaves an empty segment, so there are two forms.
 */
function normalised(uri: string): readonly string[] {
  const parsed = URL.canParse(uri) ? new URL(uri).href : uri;
  return [uri, parsed].map((text) => {
    const segments: string[] = [];
    for (const segment of text.split(/[/\\]/u)) {
      if (segment === '..') segments.pop();
      else if (segment !== '.' && segment !== '') segments.push(segment);
    }
    return segments.join('/');
  });
}
