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

/** Replaces the numbers of a JSON text, in order; undefined keeps one. */
function withNumbers(
  text: string,
  replace: (start: number, end: number) => string | undefined,
): string {
  const parts: string[] = [];
  let written = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (beginsNumber(code)) {
      const end = endOfNumber(text, at);
      const replaced = replace(at, end);
      if (replaced !== undefined) {
        parts.push(text.slice(written, at), replaced);
        written = end;
      }
      at = end - 1;
    }
  }
  parts.push(text.slice(written));
  return parts.join('');
}

/**
 * Placeholder for an inexact number during parsing. It is unambiguous: every other -0 in the input has
 * been replaced as well, because -0 is inexact. A list, unlike a string, cannot be mistaken for a key.
 */
const standIn = (index: number): string => `[-0,${index}]`;

/**
 * Parses JSON. Numbers are ordinary JavaScript numbers; {@link writeJson} writes them again as they
 * were written in this text.
 *
 * @param isInexact - whether the text holds inexact numbers, if that is known
 * @throws SyntaxError like `JSON.parse`
 */
export function parseJson(text: string, isInexact = holdsInexact(text)): unknown {
  if (!isInexact) return JSON.parse(text);
  const literals: string[] = [];
  const replaced = withNumbers(text, (start, end) => {
    if (isExact(text, start, end)) return undefined;
    const literal = text.slice(start, end);
    return isJsonNumber(literal) ? standIn(literals.push(literal) - 1) : undefined;
  });
  const root = { value: parseAs(replaced, text) };
  const open: Holder[] = [root];
  const restore = (holder: Holder, key: string | number): void => {
    const part = holder[key];
    if (!isHolder(part)) return;
    if (!Array.isArray(part) || !Object.is(part[0], -0)) return void open.push(part);
    const literal = String(literals[part[1]]);
    holder[key] = Number(literal);
    remember(holder, key, literal);
  };
  for (let next = open.pop(); next !== undefined; next = open.pop()) eachKey(next, restore);
  return root.value;
}

/** @throws SyntaxError about the original text */
function parseAs(replaced: string, text: string): unknown {
  try {
    return JSON.parse(replaced);
  } catch {
    return JSON.parse(text);
  }
}

type Holder = Record<string | number, unknown>;

/** Calls back for each key; those of a list stay numbers, which is far quicker. */
function eachKey(holder: Holder, visit: (holder: Holder, key: string | number) => void): void {
  if (Array.isArray(holder)) for (let at = 0; at < holder.length; at += 1) visit(holder, at);
  else for (const key of Object.keys(holder)) visit(holder, key);
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns whether JSON can hold a number as it is written. */
export function isJsonNumber(text: string): boolean {
  return jsonNumber.test(text);
}

/**
 * Remembers the text of a number that is already in its object or list, if it differs from what JavaScript would write
 * and JSON can hold it. Does nothing for any other value.
 */
export function setNumberText(holder: object, key: string | number, literal = ''): void {
  const value = (holder as Readonly<Record<string | number, unknown>>)[key];
  if (typeof value === 'number' && String(value) !== literal && isJsonNumber(literal))
    remember(holder, key, literal);
}

function remember(holder: object, key: string | number, literal: string): void {
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

/** Passes the number texts of an object or list on to a changed copy of it. */
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
  const open: (readonly [Holder, Holder])[] = [];
  const add = (to: unknown, from: unknown): void => {
    if (to !== from && isHolder(to) && isHolder(from)) open.push([to, from]);
  };
  add(copy, original);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [to] = next;
    keepNumbers(...next);
    eachKey(next[1], (from, key) => {
      if (isHolder(from[key]) && Object.hasOwn(to, key)) add(to[key], from[key]);
    });
  }
}

function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null;
}

/** Returns whether a value that is known not to contain itself holds numbers with texts. */
export function holdsNumberTexts(value: unknown): boolean {
  if (!hasTexts) return false;
  const open = isHolder(value) ? [value] : [];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (textsOf.has(next)) return true;
    eachKey(next, (holder, key) => {
      const part = holder[key];
      if (isHolder(part)) open.push(part);
    });
  }
  return false;
}

// `JSON.stringify` uses no more of an indent.
const indentCharacters = 10;

/** Like `JSON.stringify`, but writes numbers as they were written in the JSON they come from. */
export function writeJson(value: unknown, indent?: number | string): string {
  const text = JSON.stringify(value, null, indent);
  if (text === undefined || !holdsNumberTexts(value)) return text;
  // An own indent may hold digits. No other part of a document is a tab.
  const filler =
    typeof indent === 'string' && indent !== '' ? indent.slice(0, indentCharacters) : '';
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
    filler === '' ? indent : '\t',
  );
  let count = 0;
  const written = withNumbers(document, () => texts[count++]);
  return filler === '' ? written : written.replaceAll('\t', () => filler);
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
