/**
 * The line of every table head and every key of a valid TOML text, by its path as
 * JSON. Keys inside a value stand on the line of the key that has the value.
 */

import { maxDepth, tooDeepMessage } from '../settings-tree.ts';

type KeyPath = readonly string[];

const bareKey = /[\w-]/u;

export function tomlLines(text: string): ReadonlyMap<string, number> {
  const walk = new Walk(text);
  while (walk.statement());
  return walk.lines;
}

class Walk {
  readonly lines = new Map<string, number>();
  readonly #text: string;
  #at = 0;
  #line = 1;
  #table: readonly (string | number)[] = [];
  /** How many tables of a list there are so far, by the path of the list. */
  readonly #counts = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Walks over one head or one pair; false at the end. */
  statement(): boolean {
    this.#skipBlank();
    if (this.#at >= this.#text.length) return false;
    const { line } = this;
    if (this.#peek() === '[') this.#head(line);
    else {
      const path = this.#key();
      this.#note(this.#table, path, line);
      this.#take(); // =
      this.#value();
    }
    return true;
  }

  get line(): number {
    return this.#line;
  }

  #head(line: number): void {
    const isList = this.#text.startsWith('[[', this.#at);
    this.#take(isList ? 2 : 1);
    const path = this.#key();
    this.#take(isList ? 2 : 1);
    this.#note([], isList ? path.slice(0, -1) : path, line);
    if (!isList) {
      this.#table = this.#indexed(path);
      return;
    }
    const list = [...this.#indexed(path.slice(0, -1)), path.at(-1) ?? ''];
    const id = JSON.stringify(list);
    const count = this.#counts.get(id) ?? 0;
    this.#counts.set(id, count + 1);
    this.#table = [...list, count];
    this.#remember(list, line);
    this.#remember(this.#table, line);
  }

  /** A path of names, with the number of the last table wherever it leads over a list. */
  #indexed(path: KeyPath): readonly (string | number)[] {
    const indexed: (string | number)[] = [];
    for (const name of path) {
      indexed.push(name);
      const count = this.#counts.get(JSON.stringify(indexed));
      if (count !== undefined) indexed.push(count - 1);
    }
    return indexed;
  }

  /** Notes a dotted path and, on the way, tables that it opens without a head of their own. */
  #note(table: readonly (string | number)[], path: KeyPath, line: number): void {
    for (let length = 1; length <= path.length; length += 1) {
      const part = path.slice(0, length);
      this.#remember(table.length === 0 ? this.#indexed(part) : [...table, ...part], line);
    }
  }

  #remember(path: readonly (string | number)[], line: number): void {
    const id = JSON.stringify(path);
    if (!this.lines.has(id)) this.lines.set(id, line);
  }

  #key(): KeyPath {
    const path: string[] = [];
    do {
      if (path.length > 0) this.#take(); // .
      this.#skipSpaces();
      const quote = this.#peek();
      if (quote === '"' || quote === "'") path.push(this.#quoted(quote));
      else {
        const start = this.#at;
        while (bareKey.test(this.#peek())) this.#take();
        path.push(this.#text.slice(start, this.#at));
      }
      this.#skipSpaces();
      // Every part costs a look at all before it: a key of ten thousand would take minutes.
      if (path.length > maxDepth) throw new RangeError(tooDeepMessage);
    } while (this.#peek() === '.');
    return path;
  }

  #quoted(quote: string): string {
    const start = this.#at;
    this.#string(quote);
    const inner = this.#text.slice(start, this.#at);
    if (quote === "'") return inner.slice(1, -1);
    try {
      return String(JSON.parse(inner));
    } catch {
      // An escape that JSON has not: the key keeps the line of its table.
      return inner;
    }
  }

  #value(): void {
    let depth = 0;
    while (this.#at < this.#text.length) {
      const char = this.#peek();
      if (char === '"' || char === "'") {
        this.#string(this.#text.startsWith(char.repeat(3), this.#at) ? char.repeat(3) : char);
        continue;
      }
      if (char === '#') {
        this.#skipComment();
        continue;
      }
      if (char === '\n' && depth === 0) return;
      if (char === '[' || char === '{') depth += 1;
      if (char === ']' || char === '}') depth -= 1;
      this.#take();
    }
  }

  #string(quote: string): void {
    this.#take(quote.length);
    while (this.#at < this.#text.length && !this.#text.startsWith(quote, this.#at))
      this.#take(quote.startsWith('"') && this.#peek() === '\\' ? 2 : 1);
    this.#take(quote.length);
    // A text in three quotes may end with one or two that belong to it.
    while (quote.length === 3 && this.#peek() === quote[0]) this.#take();
  }

  #skipBlank(): void {
    for (;;) {
      const char = this.#peek();
      if (char === '#') this.#skipComment();
      else if (char !== '' && /\s/u.test(char)) this.#take();
      else return;
    }
  }

  #skipSpaces(): void {
    while (this.#peek() === ' ' || this.#peek() === '\t') this.#take();
  }

  #skipComment(): void {
    while (this.#at < this.#text.length && this.#peek() !== '\n') this.#take();
  }

  #peek(): string {
    return this.#text[this.#at] ?? '';
  }

  #take(count = 1): void {
    for (let taken = 0; taken < count; taken += 1) {
      if (this.#peek() === '\n') this.#line += 1;
      this.#at += 1;
    }
  }
}
