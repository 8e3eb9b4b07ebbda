/**
 * Redacts text from servers and the system before it reaches a user or a file: log lines, errors,
 * output. Removes known secrets and text that looks like a secret. Tool results are not redacted,
 * because the host asked for them.
 *
 * Takes time in proportion to the text and to the number of secrets, and reads only a bounded
 * beginning of a long text.
 */

import { keepNumbers } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { looksSecret, redact, safeCut } from './redact.ts';

// Eight times the longest line that is shown; the rest of a longer text is dropped unread.
const searchedCharacters = 16_384;
// More than any key or token; longer text is a document.
const longestToken = 4_096;
// Deeper than any reasonable error or log record.
const deepest = 32;

const shown = '[redacted]';
const token = `{1,${longestToken}}`;

// Prefixes that services give their keys so that scanners find them, and signed tokens (JWT).
const knownKeys = new RegExp(
  String.raw`(?<![\w-])(?:(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|npm_|hf_)[\w-]{6,${longestToken}}|eyJ[\w-]{6,${longestToken}}(?:\.[\w-]${token}){1,4})`,
  'gu',
);
const authorizationHeader = new RegExp(
  String.raw`((?<![\w-])(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{1,4})?)[^\s"',;]${token}`,
  'giu',
);
// The whole line, because a cookie header has several values.
const cookieHeader = new RegExp(
  String.raw`((?<![\w-])(?:set-)?cookie["']?\s{0,4}[:=]\s{0,4}["']?)[^\r\n"']${token}`,
  'giu',
);
// Any word after "bearer" is taken for a token, except these, which follow it in prose.
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
// These names always hold secrets; "token" and "session" also occur in prose.
const surelySecret = /secret|passw|passphrase|api.?key|access.?key|private.?key|authorization/iu;
const keyName = /(?:^|[_.-])key$/iu;
const noSecret =
  /^(?:true|false|none|null|undefined|bearer|basic|token|digest|negotiate|\[redacted\]?)$/iu;

/** Redacts known secrets, and text that looks like a secret. */
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

/** Redacts every string in a JSON-like value; parts that are nested too deeply are replaced. */
export function redactData(value: unknown, secrets: readonly string[] = [], depth = 0): unknown {
  if (typeof value === 'string') return redactWords(value, secrets);
  if (depth >= deepest) return typeof value === 'object' ? shown : value;
  const redactPart = (part: unknown): unknown => redactData(part, secrets, depth + 1);
  if (Array.isArray(value)) return keepNumbers(value.map(redactPart), value);
  if (!isRecord(value)) return value;
  const parts = Object.entries(value).map(([key, part]) => [key, redactPart(part)] as const);
  return keepNumbers(Object.fromEntries(parts), value);
}

/** Cuts a string where neither a known secret nor a possible token is split. */
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

/** Redacts values in `name=value` and `name: value` whose name marks them as secret. */
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

/** Returns whether a value is neither a word of prose nor a number. */
function looksRandom(value: string): boolean {
  return value.length >= 20 || !/^(?:[a-z]+|[A-Z]?[a-z]+|\d+)[.!?:]?$/u.test(value);
}
