/**
 * The one redactor of what servers and systems say: log lines, errors, last words, whatever leaves
 * for a person's eyes or a file. It takes out the secrets that are known, and what looks like one.
 * Results of tools do not come here: the host asked for them.
 *
 * Takes time in proportion to the text and to the number of secrets, and looks at a bounded beginning only.
 */

import { isRecord } from './is-record.ts';
import { looksSecret, redact, safeCut } from './redact.ts';

// Eight times what is shown of the longest line; the end of a longer text is let go unread.
const searchedCharacters = 16_384;
// More than any key or token; what is longer is a document.
const longestToken = 4_096;
// Deeper than any error or log record of a person's making.
const deepest = 32;

const shown = '[redacted]';
const token = `{1,${longestToken}}`;

// The beginnings that services give their keys so that they can be found, and signed tokens (JWT).
const knownKeys = new RegExp(
  String.raw`(?<![\w-])(?:(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|npm_|hf_)[\w-]{6,${longestToken}}|eyJ[\w-]{6,${longestToken}}(?:\.[\w-]${token}){1,4})`,
  'gu',
);
const authorizationHeader = new RegExp(
  String.raw`((?<![\w-])(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,4})?)[^\s"',;]${token}`,
  'giu',
);
// All of the line: a cookie header has several values.
const cookieHeader = new RegExp(
  String.raw`((?<![\w-])(?:set-)?cookie["']?\s{0,4}[:=]\s{0,4}["']?)[^\r\n"']${token}`,
  'giu',
);
// "bearer" is hardly ever followed by anything but a token, except by these words.
const bearerAndToken = new RegExp(
  String.raw`(?<![\w-])(bearer\s{1,4})(?!(?:auth|token|scheme|header|credential|realm|access|method)|(?:is|was|and|or|in|for|with|from|not)\b)[\w.~+/=-]{4,${longestToken}}`,
  'giu',
);
const basicAndToken = new RegExp(
  String.raw`(?<![\w-])(basic\s{1,4})([\w.~+/=-]{8,${longestToken}})`,
  'giu',
);
const userAndPassword = /(:\/\/[^\s/?#:@]{0,256}:)[^\s/?#]{1,1024}@/gu;
const userAlone = /(:\/\/)([^\s/?#:@]{8,1024})@/gu;

const nameBeforeValue = /(?<![\w.-])([\w.-]{1,100})["']?(\s{0,4}[:=]\s{0,4})["']?/gu;
const valueHere = new RegExp(String.raw`[^\s"',;&)}\]]{4,${longestToken}}`, 'uy');
// Under these names stands nothing else; "token" and "session" are words of prose as well.
const surelySecret = /secret|passw|passphrase|api.?key|access.?key|private.?key|authorization/iu;
const keyName = /(?:^|[_.-])key$/iu;
const noSecret =
  /^(?:true|false|none|null|undefined|bearer|basic|token|digest|negotiate|\[redacted\]?)$/iu;

/** Takes known secrets out of words for people, and whatever looks like a secret. */
export function redactWords(text: string, secrets: readonly string[] = []): string {
  const beginning = text.length <= searchedCharacters ? text : beginningOf(text, secrets);
  const known = redact(beginning, secrets)
    .replace(authorizationHeader, `$1${shown}`)
    .replace(cookieHeader, `$1${shown}`)
    .replace(userAndPassword, `$1${shown}@`)
    .replace(userAlone, hideWhenRandom('@'))
    .replace(bearerAndToken, `$1${shown}`)
    .replace(basicAndToken, hideWhenRandom(''))
    .replace(knownKeys, shown);
  return withoutNamedValues(known);
}

/** The same for every text in a value that is data; what is nested too deeply is left out. */
export function redactData(value: unknown, secrets: readonly string[] = [], depth = 0): unknown {
  if (typeof value === 'string') return redactWords(value, secrets);
  if (depth >= deepest) return typeof value === 'object' ? shown : value;
  if (Array.isArray(value)) return value.map((each) => redactData(each, secrets, depth + 1));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, redactData(each, secrets, depth + 1)]),
  );
}

/** Cut where neither a known secret nor what may be a part of a token is cut in two. */
function beginningOf(text: string, secrets: readonly string[]): string {
  const cut = safeCut(text.slice(0, searchedCharacters), secrets);
  const lowest = Math.max(0, cut - longestToken);
  for (let end = cut; end > lowest; end -= 1) {
    if (/[\s"',;]/u.test(text.charAt(end - 1))) return text.slice(0, end);
  }
  return text.slice(0, lowest);
}

function hideWhenRandom(end: string) {
  return (all: string, begin: string, word: string): string =>
    looksRandom(word) ? `${begin}${shown}${end}` : all;
}

/** `name=value` and `name: value`, where the name says that the value is a secret. */
function withoutNamedValues(text: string): string {
  let clean = '';
  let done = 0;
  nameBeforeValue.lastIndex = 0;
  for (let found = nameBeforeValue.exec(text); found !== null; ) {
    const [, name = '', sign = ''] = found;
    // The name first: reading a long value behind every name would take quadratic time.
    const value = mayNameSecret(name) ? valueAt(text, nameBeforeValue.lastIndex) : undefined;
    if (value !== undefined && isSecretValue(name, sign, value)) {
      clean += `${text.slice(done, nameBeforeValue.lastIndex)}${shown}`;
      done = nameBeforeValue.lastIndex + value.length;
      nameBeforeValue.lastIndex = done;
    }
    found = nameBeforeValue.exec(text);
  }
  return clean + text.slice(done);
}

function mayNameSecret(name: string): boolean {
  return looksSecret(name) || keyName.test(name);
}

function valueAt(text: string, at: number): string | undefined {
  valueHere.lastIndex = at;
  return valueHere.exec(text)?.[0];
}

function isSecretValue(name: string, sign: string, value: string): boolean {
  if (noSecret.test(value)) return false;
  return surelySecret.test(name) || (sign === '=' && !/^\d+$/u.test(value)) || looksRandom(value);
}

/** Neither a word of prose nor a number. */
function looksRandom(value: string): boolean {
  return value.length >= 20 || !/^(?:[a-z]+|[A-Z]?[a-z]+|\d+)[.!?:]?$/u.test(value);
}
