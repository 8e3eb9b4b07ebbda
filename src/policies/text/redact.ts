/** Removes secrets from text by their values, in whatever form the text has. */

// Shorter values are ports, flags and counts: hiding every "1" would leave nothing to read.
const shortestSecret = 4;
// A key has lines of 64 characters; lines shorter than this are brackets and common words.
const shortestLine = 6;

const secretKey =
  /token|secret|passw|passphrase|api.?key|access.?key|private.?key|credential|authorization|cookie|session|^auth|_pat$|bearer/iu;

/** Returns whether a setting of this name usually holds a secret. */
export function looksSecret(key: string): boolean {
  return secretKey.test(key);
}

// Password of `scheme://user:password@host`. The bounds keep long strings from taking long.
const urlPassword = /:\/\/[^\s/?#:@]{0,256}:([^\s/?#]{1,1024})@/gu;
const bearer = /\b(?:bearer|basic)\s+(\S{4,})/giu;
// Text after a switch such as `--use-token` that is not a secret.
const switchValue = /^(?:-|true$|false$|none$|null$)/iu;

/** Finds the secrets in a string, whatever the name of its setting: passwords in URLs, bearer tokens. */
export function secretsInText(text: string): readonly string[] {
  const passwords = [...text.matchAll(urlPassword)].flatMap(([, password = '']) => [
    password,
    decoded(password),
  ]);
  return [...passwords, ...[...text.matchAll(bearer)].map(([, token = '']) => token)];
}

/** Finds the secrets of a command line: `--token X`, `--token=X`, `API_KEY=X`. */
export function secretsInArgs(args: readonly string[]): readonly string[] {
  return args.flatMap((arg, index) => {
    const [, dashes = '', name = '', value] =
      /^(-{0,2})([\w.-]{1,100})(?:=(.*))?$/su.exec(arg) ?? [];
    if (!looksSecret(name)) return [];
    const secret = value ?? (dashes === '' ? '' : (args[index + 1] ?? ''));
    return switchValue.test(secret) ? [] : [secret];
  });
}

/** Decodes a part of a URL; a text that is not encoded stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Sorts secrets into the order in which they must be removed: the longest first, so that a
 * secret that contains another is removed completely. Each line of a secret counts as a
 * secret, because text is shown line by line. So do its forms in URLs, JSON and Base64.
 */
export function secretsOf(values: Iterable<string>): readonly string[] {
  const kept = new Set<string>();
  for (const value of values) {
    if (value.length >= shortestSecret) kept.add(value);
    // Messages may show only "abc" of a header "Bearer abc".
    const word = /^\S+\s+(\S+)$/u.exec(value)?.[1];
    if (word !== undefined && word.length >= shortestSecret) kept.add(word);
    for (const line of linesOf(value)) kept.add(line);
  }
  for (const value of [...kept]) for (const form of formsOf(value)) kept.add(form);
  return [...kept].sort((left, right) => right.length - left.length);
}

// A key of 4,096 bits in its usual format is shorter; longer text is a document.
const longestEncoded = 8_192;
// Shorter secrets give at most four characters of Base64, which occur in many words.
const shortestEncoded = 6;

function formsOf(value: string): readonly string[] {
  if (value.length < shortestSecret || value.length > longestEncoded) return [];
  const inJson = JSON.stringify(value).slice(1, -1);
  const inAddress = encodeURIComponent(Buffer.from(value).toString());
  const inForm = inAddress.replaceAll('%20', '+');
  const encoded = value.length < shortestEncoded ? [] : inBase64(value);
  return [inJson, inAddress, inForm, ...encoded];
}

/**
 * Returns the forms of a secret in the Base64 of a longer text, such as `user:password`. It may
 * begin at any of a group's three bytes; characters that it shares with neighbours are left out.
 */
function inBase64(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  const forms = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    const first = before === 0 ? 0 : before + 1;
    const isShared = (before + bytes.length) % 3 !== 0;
    return text.slice(first, isShared ? -1 : undefined);
  });
  return forms.flatMap((form) => [form, form.replaceAll('-', '+').replaceAll('_', '/')]);
}

/** In an environment, line ends of keys are often written as `\n`. */
function linesOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n|\\n/u).map((line) => line.trim());
  return lines.length === 1 ? [] : lines.filter((line) => line.length >= shortestLine);
}

/**
 * Returns where a string that is still growing can be cut without splitting a secret, including
 * one whose end has not arrived yet.
 */
export function safeCut(text: string, secrets: readonly string[]): number {
  // A secret of several lines is looked for line by line.
  const words = secrets.filter((secret) => !secret.includes('\n'));
  const longest = words[0]?.length ?? 1;
  let cut = text.length - longest + 1;
  for (let before = Infinity; cut > 0 && cut < before; ) {
    before = cut;
    for (const word of words) {
      const from = Math.max(0, cut - word.length + 1);
      const at = text.slice(from, cut + word.length - 1).indexOf(word);
      if (at !== -1 && from + at < cut) cut = from + at;
    }
  }
  return Math.max(0, cut);
}

export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (clean.includes(secret)) clean = clean.replaceAll(secret, '[redacted]');
  }
  return clean;
}
