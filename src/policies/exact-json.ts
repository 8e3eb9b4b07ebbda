/**
 * Reads and writes JSON without changing its numbers.
 *
 * A JavaScript number holds neither `1915883588174806058` nor the zero of `1.10`. Values read here are
 * plain JavaScript values. Where a number's source text differs from what JavaScript would write, the
 * text is remembered beside its object or list, and written again as long as the number is unchanged.
 * A copy of that object or list needs {@link keepNumbers} or {@link graftNumbers}.
 */

/** By object or list: the texts of its own inexact numbers, by key. */
const textsOf = new WeakMap<object, Map<string, string>>();
/** Set with the first inexact number, so that processes without any never search for them. */
let hasTexts = false;

const [quote, backslash, minus, point, zero, nine] = [0x22, 0x5c, 0x2d, 0x2e, 0x30, 0x39];
// A short string is scanned by character; for a longer one, `indexOf` finds the end.
const walkedCharacters = 32;
// Every number of up to 15 digits can be held.
const sureDigits = 15;

/** Returns the position of a string's closing quote, or of the input's end if there is none. */
export function endOfString(text: string, start: number): number {
  let at = start;
  let walkUntil = start + walkedCharacters;
  while (at < text.length) {
    if (at >= walkUntil) {
      const end = text.indexOf('"', at);
      if (end === -1) return text.length;
      if (!isEscaped(text, end, at)) return end;
      at = end + 1;
      walkUntil = at + walkedCharacters;
      continue;
    }
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    at += code === backslash ? 2 : 1;
  }
  return text.length;
}

/** Returns whether an odd number of backslashes precedes the quote. */
function isEscaped(text: string, end: number, start: number): boolean {
  let first = end;
  while (first > start && text.charCodeAt(first - 1) === backslash) first -= 1;
  return (end - first) % 2 === 1;
}

/** Returns whether a number may begin with this character. */
export function beginsNumber(code: number): boolean {
  return (code >= zero && code <= nine) || code === minus;
}

/** Returns the end of the number that begins here. */
export function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isOfNumber(text.charCodeAt(at))) at += 1;
  return at;
}

function isOfNumber(code: number): boolean {
  // Digits, `.`, `+`, `-`, `e` and `E`.
  return (
    (code >= zero && code <= nine) ||
    (code >= 0x2b && code <= point && code !== 0x2c) ||
    code === 0x65 ||
    code === 0x45
  );
}

/** Returns whether JavaScript writes a number's text as it is. */
export function isExact(text: string, start: number, end: number): boolean {
  // Most numbers are short integers, or short fractions that do not end in a zero.
  if (end - start <= sureDigits) {
    let points = 0;
    let at = text.charCodeAt(start) === minus ? start + 1 : start;
    const isWholeZero = text.charCodeAt(at) === zero;
    for (; at < end; at += 1) {
      const code = text.charCodeAt(at);
      if (code === point) points += 1;
      else if (code < zero || code > nine) break;
    }
    const isSure = points === 0 ? !isWholeZero || end - start === 1 : !isWholeZero;
    if (at === end && isSure && (points === 0 || text.charCodeAt(end - 1) !== zero)) return true;
  }
  const literal = text.slice(start, end);
  return String(Number(literal)) === literal;
}

/** Returns whether a JSON text holds a number that JavaScript would write differently. */
export function holdsInexact(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (beginsNumber(code)) {
      const end = endOfNumber(text, at);
      if (!isExact(text, at, end)) return true;
      at = end - 1;
    }
  }
  return false;
}

/** Replaces the numbers of a JSON text, in order. */
function withNumbers(text: string, replace: (literal: string) => string): string {
  const parts: string[] = [];
  let written = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (beginsNumber(code)) {
      const end = endOfNumber(text, at);
      parts.push(text.slice(written, at), replace(text.slice(at, end)));
      written = end;
      at = end - 1;
    }
  }
  parts.push(text.slice(written));
  return parts.join('');
}

/**
 * Parses JSON. Numbers are ordinary JavaScript numbers; {@link writeJson} writes them again as they
 * were written in this text.
 *
 * @param isInexact - whether the text holds inexact numbers, if that is known
 * @throws SyntaxError like `JSON.parse`
 */
export function parseJson(text: string, isInexact = holdsInexact(text)): unknown {
  if (!isInexact) return JSON.parse(text);
  // Reports errors in the original text.
  JSON.parse(text);
  const literals: string[] = [];
  const root = {
    value: JSON.parse(withNumbers(text, (literal) => `${literals.push(literal) - 1}`)),
  };
  const open: Record<string, unknown>[] = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const key of Object.keys(next)) {
      const value = next[key];
      if (typeof value === 'number') restore(next, key, String(literals[value]));
      else if (typeof value === 'object' && value !== null)
        open.push(value as Record<string, unknown>);
    }
  }
  return root.value;
}

function restore(holder: Record<string, unknown>, key: string, literal: string): void {
  const value = Number(literal);
  holder[key] = value;
  if (String(value) !== literal) setNumberText(holder, key, literal);
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns whether JSON can hold a number as it is written. */
export function isJsonNumber(text: string): boolean {
  return jsonNumber.test(text);
}

/** Remembers the text of a number that is already in its object or list, if JSON can hold it. */
export function setNumberText(holder: object, key: string | number, literal: string): void {
  if (!isJsonNumber(literal)) return;
  hasTexts = true;
  const texts = textsOf.get(holder) ?? new Map<string, string>();
  textsOf.set(holder, texts.set(String(key), literal));
}

/** Returns a number's text if it differs from what JavaScript would write. */
export function numberTextAt(holder: object, key: string | number): string | undefined {
  const text = hasTexts ? textsOf.get(holder)?.get(String(key)) : undefined;
  if (text === undefined) return undefined;
  return Object.is(Number(text), (holder as Record<string, unknown>)[key]) ? text : undefined;
}

/** Gives a copy of an object or list, made with other changes, the number texts of the original. */
export function keepNumbers<Copy extends object>(copy: Copy, original: object): Copy {
  const texts = hasTexts ? textsOf.get(original) : undefined;
  if (texts === undefined || copy === original) return copy;
  const own = textsOf.get(copy);
  textsOf.set(copy, own === undefined ? texts : new Map([...texts, ...own]));
  return copy;
}

/** Does the same for a deep copy, at every place that both have. */
export function graftNumbers(copy: unknown, original: unknown): void {
  if (!hasTexts) return;
  const open = [[copy, original]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [to, from] = next;
    if (to === from || !isHolder(to) || !isHolder(from)) continue;
    keepNumbers(to, from);
    for (const key of Object.keys(from)) {
      if (Object.hasOwn(to, key)) open.push([to[key], from[key]]);
    }
  }
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns whether a value that is known not to contain itself holds numbers with texts. */
export function holdsNumberTexts(value: unknown): boolean {
  if (!hasTexts) return false;
  const open = isHolder(value) ? [value] : [];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (textsOf.has(next)) return true;
    for (const key of Object.keys(next)) {
      const part = next[key];
      if (isHolder(part)) open.push(part);
    }
  }
  return false;
}

/** Like `JSON.stringify`, but writes numbers as they were written in the JSON they come from. */
export function writeJson(value: unknown, indent?: number | string): string {
  const text = JSON.stringify(value, null, indent);
  if (text === undefined || !holdsNumberTexts(value)) return text;
  // The texts of the numbers that the document will contain, in its order.
  const texts: (string | undefined)[] = [];
  const document = JSON.stringify(
    value,
    function (this: object, key, part: unknown) {
      const own = isBoxedNumber(part) ? Number(part) : part;
      if (isRawNumber(own)) texts.push(undefined);
      if (typeof own !== 'number') return own;
      const literal = numberTextAt(this, key);
      if (literal === undefined && !Number.isFinite(own)) return null;
      texts.push(literal);
      return literal === undefined ? own : 0;
    },
    indent,
  );
  let count = 0;
  return withNumbers(document, (literal) => texts[count++] ?? literal);
}

function isBoxedNumber(value: unknown): boolean {
  return typeof value === 'object' && Object.prototype.toString.call(value) === '[object Number]';
}

/** Whether a value is a number made by `JSON.rawJSON`, which newer Node versions have. */
function isRawNumber(value: unknown): boolean {
  const { isRawJSON } = JSON as { readonly isRawJSON?: (value: unknown) => boolean };
  return isRawJSON?.(value) === true && /^[-\d]/.test((value as { rawJSON: string }).rawJSON);
}

/**
 * Describes the first part of a value that JSON cannot hold, where `JSON.stringify` would write null or
 * nothing; undefined if there is none. An undefined property is a missing one.
 */
export function unwritablePart(value: unknown): string | undefined {
  const found = unwritableIn(value, []);
  if (found === undefined) return undefined;
  const { why, path } = found;
  return path.length === 0 ? why : `${path.toReversed().join('.')} is ${why}`;
}

interface Unwritable {
  readonly why: string;
  /** Innermost key first. */
  readonly path: (string | number)[];
}

function unwritableIn(value: unknown, holders: unknown[]): Unwritable | undefined {
  const why = whyUnwritable(value, holders);
  if (why !== undefined) return { why, path: [] };
  if (!isHolder(value) || 'toJSON' in value) return undefined;
  holders.push(value);
  const isList = Array.isArray(value);
  for (const key of isList ? value.keys() : Object.keys(value)) {
    const part = value[key];
    if (isWritten(value, key, part) || (part === undefined && !isList)) continue;
    const found = unwritableIn(part, holders);
    if (found === undefined) continue;
    found.path.push(key);
    return found;
  }
  holders.pop();
  return undefined;
}

/** Infinity is written too, if it was read from JSON. */
function isWritten(holder: object, key: string | number, part: unknown): boolean {
  if (typeof part === 'string' || typeof part === 'boolean' || part === null) return true;
  return typeof part === 'number' && numberTextAt(holder, key) !== undefined;
}

// Objects of these kinds would be written as {}.
const contentless = /^\[object (?:Map|Set|WeakMap|WeakSet|WeakRef|Promise|RegExp|Error)\]$/;

function whyUnwritable(value: unknown, holders: readonly unknown[]): string | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : String(value);
    case 'bigint':
      return 'a bigint; pass its digits as text, or parse them with parseJson';
    case 'undefined':
      return 'undefined';
    case 'function':
    case 'symbol':
      return `a ${typeof value}`;
    case 'object': {
      if (value === null) return undefined;
      if (holders.includes(value)) return 'a part of itself';
      const kind = Object.prototype.toString.call(value);
      return contentless.test(kind) && !('toJSON' in value) ? `a ${kind.slice(8, -1)}` : undefined;
    }
    default:
      return undefined;
  }
}
