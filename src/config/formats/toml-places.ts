/**
 * Finds the line of every table header and every key of a valid TOML text, as a tree of
 * names. Keys inside a value get the line of the key that has the value.
 *
 * A step down costs the length of one name, so the total cost stays linear in the text's
 * length, whatever the names and however deep the tables.
 */

import { maxDepth, TreeLimit, tooDeepMessage } from '../text-bounds.ts';

export interface TomlPlace {
  /** 1-based. */
  readonly line: number;
  /** By name of key or table, and by number of a table in its list. */
  readonly below: ReadonlyMap<string | number, TomlPlace>;
}

interface GrowingPlace extends TomlPlace {
  readonly below: Map<string | number, GrowingPlace>;
  /** Number of the list's tables so far; 0 = this is not a list. */
  tableCount: number;
}

type KeyPath = readonly string[];

const bareKey = /[\w-]/u;

/** @throws TreeLimit for a key with more parts than settings may be deep. */
export function tomlPlaces(text: string): TomlPlace {
  const walk = new Walk(text);
  while (walk.statement());
  return walk.root;
}

class Walk {
  readonly root: GrowingPlace = { line: 1, below: new Map(), tableCount: 0 };
  readonly #text: string;
  #at = 0;
  #line = 1;
  #table = this.root;

  constructor(text: string) {
    this.#text = text;
  }

  /** Consumes one header or one pair; false at the end. */
  statement(): boolean {
    this.#skipBlank();
    if (this.#at >= this.#text.length) return false;
    const line = this.#line;
    if (this.#peek() === '[') this.#head(line);
    else {
      follow(this.#table, this.#key(), line);
      this.#take(); // =
      this.#value();
    }
    return true;
  }

  #head(line: number): void {
    const isList = this.#text.startsWith('[[', this.#at);
    this.#take(isList ? 2 : 1);
    const path = this.#key();
    this.#take(isList ? 2 : 1);
    if (!isList) {
      this.#table = follow(this.root, path, line);
      return;
    }
    const list = step(follow(this.root, path.slice(0, -1), line), path.at(-1) ?? '', line);
    this.#table = step(list, list.tableCount, line);
    list.tableCount += 1;
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
      if (path.length > maxDepth) throw new TreeLimit(tooDeepMessage, this.#line);
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
      // JSON lacks this escape; the key keeps its table's line.
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
    // A triple-quoted string may end with one or two quotes of its own.
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

/** Follows a dotted path and creates missing places; in a list it takes the last table. */
function follow(from: GrowingPlace, path: KeyPath, line: number): GrowingPlace {
  let place = from;
  for (const name of path) {
    place = step(place, name, line);
    if (place.tableCount > 0) place = step(place, place.tableCount - 1, line);
  }
  return place;
}

function step(from: GrowingPlace, name: string | number, line: number): GrowingPlace {
  const known = from.below.get(name);
  if (known !== undefined) return known;
  const made: GrowingPlace = { line, below: new Map(), tableCount: 0 };
  from.below.set(name, made);
  return made;
}
