/**
 * Bounds the cost of a JSON or TOML text, in one pass over its characters before a
 * parser sees it. The result depends only on the text, never on the machine's load or
 * on how much stack is left.
 */

import { maxSettingsBytes } from './settings-bytes.ts';

/** Where a document exceeds a bound, and what to do about it. */
export interface Excess {
  /** Characters from the start of the text. */
  readonly offset: number;
  readonly message: string;
}

/** Far beyond any settings and far below where a recursive reader runs out of stack. */
export const maxDepth = 256;

export const tooDeepMessage = `the text is nested deeper than ${maxDepth} levels; flatten it`;

/** Thrown when a bound is exceeded while a tree is built; the line is 1-based. */
export class TreeLimit extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

/** Bounds of a document. Both numbers are checked before a parser sees it. */
export interface TextBounds {
  /** Characters. */
  readonly length: number;
  /** Brackets, commas, colons, strings, comments, numbers and other words. */
  readonly tokens: number;
}

/** The user's own settings: ten thousand servers of a hundred tokens each; an ordinary one has 45. */
export const ownText: TextBounds = { length: maxSettingsBytes, tokens: 1_000_000 };

/**
 * A file of a project folder, which is read before it is approved: a thousand servers of forty
 * tokens each. The worst such text takes about 50 ms.
 */
export const folderText: TextBounds = { length: 256_000, tokens: 40_000 };

/** TOML, which only one program writes and which takes several times as long to parse as JSON. */
export const tomlText: TextBounds = { length: 1_000_000, tokens: 40_000 };

/**
 * YAML, in tokens of its parser: about ten a line, blanks and line ends included, and one for a
 * block scalar. A thousand lines are more than any program writes, and few enough for the
 * parser's slowest paths, whose time grows with the square of the tokens.
 */
export const yamlText: TextBounds = { length: 256_000, tokens: 10_000 };

/** Maximum length of a number, a key or another word without quotes. No number needs 400 characters. */
const maxWordLength = 1_000;

export function tooManyTokens({ tokens }: TextBounds): string {
  return `the text holds more than ${tokens} tokens; split it into several files`;
}

/** The cost of a document within its bounds. */
export interface TextWeight {
  readonly tokens: number;
  readonly depth: number;
}

/** Finds the first place where the text is nested too deeply or holds too many tokens. */
export function excessOf(
  text: string,
  language: 'json' | 'toml',
  bounds: TextBounds,
): Excess | undefined {
  const weight = weightOf(text, language, bounds);
  return 'message' in weight ? weight : undefined;
}

/** Counts tokens and levels, up to the first excess. */
export function weightOf(
  text: string,
  language: 'json' | 'toml',
  bounds: TextBounds,
): TextWeight | Excess {
  const endOfQuiet = language === 'json' ? endInJson : endInToml;
  let depth = 0;
  let deepest = 0;
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const char = text[at] ?? '';
    if (blanks.has(char)) {
      at += 1;
      continue;
    }
    const start = at;
    const quietEnd = endOfQuiet(text, at);
    if (quietEnd !== undefined) at = quietEnd;
    else if (marks.has(char)) {
      if (char === '[' || char === '{') depth += 1;
      if (char === ']' || char === '}') depth -= 1;
      at += 1;
    } else {
      at = endOfWord(text, at);
      if (at - start > maxWordLength) {
        const message = `a number or word is longer than ${maxWordLength} characters; shorten it`;
        return { offset: start, message };
      }
    }
    count += 1;
    if (depth > maxDepth) return { offset: start, message: tooDeepMessage };
    if (count > bounds.tokens) return { offset: start, message: tooManyTokens(bounds) };
    deepest = Math.max(deepest, depth);
  }
  return { tokens: count, depth: deepest };
}

const blanks: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r']);
const marks: ReadonlySet<string> = new Set(['[', ']', '{', '}', ',', ':', '=', '.']);
const wordEnds: ReadonlySet<string> = new Set([...blanks, ...marks, '"', "'", '#', '/']);

function endOfWord(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && !wordEnds.has(text[at] ?? '')) at += 1;
  return at;
}

/** Returns the end of a string or comment that starts here; undefined when none does. */
function endInJson(text: string, start: number): number | undefined {
  if (text[start] === '"') return endOfString(text, start);
  if (text.startsWith('//', start)) return endOf(text, '\n', start);
  return text.startsWith('/*', start) ? endOf(text, '*/', start + 2) : undefined;
}

export function endInToml(text: string, start: number): number | undefined {
  const char = text[start] ?? '';
  if (char === '#') return endOf(text, '\n', start);
  if (char !== '"' && char !== "'") return undefined;
  const triple = char.repeat(3);
  return endOfString(text, start, text.startsWith(triple, start) ? triple : char);
}

/** Returns the string's end: its closing quote or, for an unterminated single-line string, the line's end. */
function endOfString(text: string, start: number, quote = '"'): number {
  let at = start + quote.length;
  while (at < text.length) {
    if (text.startsWith(quote, at)) {
      at += quote.length;
      // A triple-quoted string may end with one or two quotes of its own.
      while (quote.length === 3 && text[at] === quote[0]) at += 1;
      return at;
    }
    if (quote.length === 1 && text[at] === '\n') return at;
    at += text[at] === '\\' && quote.startsWith('"') ? 2 : 1;
  }
  return text.length;
}

function endOf(text: string, end: string, start: number): number {
  const found = text.indexOf(end, start);
  return found === -1 ? text.length : found + end.length;
}
