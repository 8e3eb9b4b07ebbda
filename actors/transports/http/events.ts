/**
 * Reads an event stream as HTML defines it (section 9.2.6, "Interpreting an event stream").
 *
 * A server may send anything for any length of time. Therefore every byte costs the same, whatever
 * surrounds it, and only the current event is kept.
 */

import { unexpected } from '../../../src/protocol/errors.ts';
import { maxMessageBytes } from '../connection/connection.ts';
import type { InputBudget } from '../connection/input-budget.ts';
import { headBytes } from './body.ts';

// A chunk can contain thousands of tiny events; other servers get their turn between two pieces.
const pieceCharacters = 8_192;
// A line costs this share of a message. A line without data is also charged by its length; data is
// charged with its message.
const workPerLine = 1 / 16;
const idleCharactersPerWork = 2_048;

export interface StreamEvent {
  /**
   * The event's id. An event with nothing but an id is also reported, because the stream may be
   * resumed after it.
   */
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
}

export interface EventListeners {
  /** The budget that each line is charged to; delays reading when it is spent. */
  readonly budget?: Pick<InputBudget, 'charge' | 'free'> | undefined;
  /** Called with each event; must not throw. */
  readonly onEvent: (event: StreamEvent) => void;
  /** Receives the delay, in milliseconds, that the server requests after this stream. */
  readonly onRetry?: (ms: number) => void;
}

/** Resolves when the stream ends, and rejects with the error that interrupted it. */
export async function readEvents(
  body: AsyncIterable<Uint8Array>,
  listeners: EventListeners,
): Promise<void> {
  const decoder = new TextDecoder();
  const events = new EventReader(listeners);
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    for (let at = 0; at < text.length; at += pieceCharacters) {
      if (!events.read(text.slice(at, at + pieceCharacters)))
        throw unexpected('The server sent an event of more than 16 MB.', { head: events.head() });
      await listeners.budget?.free();
    }
  }
}

/** Parses a stream's data, however it is split. */
export class EventReader {
  readonly #listeners: EventListeners;
  readonly #maxCharacters: number;
  /** Number of characters since the last empty line, including line ends. */
  #characters = 0;
  /** The beginning of a line whose end has not arrived. */
  #line: string[] = [];
  /** Whether a line feed at the start of the next chunk belongs to the previous line end. */
  #endsWithReturn = false;
  #id: string | undefined;
  #event: string | undefined;
  #data: string[] = [];

  constructor(listeners: EventListeners, maxCharacters = maxMessageBytes) {
    this.#listeners = listeners;
    this.#maxCharacters = maxCharacters;
  }

  /** Returns false if an event is too long; nothing may follow then. */
  read(text: string): boolean {
    if (text === '') return true;
    const isSecondHalf = this.#endsWithReturn && text.startsWith('\n');
    const lines = linesOf(isSecondHalf ? text.slice(1) : text);
    this.#endsWithReturn = text.endsWith('\r');
    const rest = lines.pop() ?? '';
    for (const end of lines) {
      if (!this.#count(end.length + 1)) {
        this.#line.push(end);
        return false;
      }
      this.#endLine(end);
    }
    if (rest !== '') this.#line.push(rest);
    return this.#count(rest.length);
  }

  /** The beginning of the current event's data. */
  head(): Uint8Array {
    const line = /^data: ?(.*)/u.exec(this.#line.join('').slice(0, headBytes));
    return Buffer.from(this.#data[0]?.slice(0, headBytes) ?? line?.[1] ?? '');
  }

  #count(characters: number): boolean {
    this.#characters += characters;
    return this.#characters <= this.#maxCharacters;
  }

  #endLine(end: string): void {
    this.#line.push(end);
    const line = this.#line.join('');
    this.#line = [];
    if (line !== '') return this.#take(line);
    this.#charge(line);
    this.#endEvent();
  }

  #take(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const start = line[colon + 1] === ' ' ? colon + 2 : colon + 1;
    const value = colon === -1 ? '' : line.slice(start);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d+$/u.test(value)) this.#listeners.onRetry?.(Number(value));
    this.#charge(name === 'data' ? '' : line);
  }

  #charge({ length }: string): void {
    this.#listeners.budget?.charge(workPerLine + length / idleCharactersPerWork);
  }

  #endEvent(): void {
    if (this.#data.length > 0 || this.#id !== undefined)
      this.#listeners.onEvent({ id: this.#id, event: this.#event, data: this.#data.join('\n') });
    this.#characters = 0;
    this.#id = undefined;
    this.#event = undefined;
    this.#data = [];
  }
}

/** Splits a string into lines, the last of which is incomplete. */
function linesOf(text: string): string[] {
  return text.includes('\r') ? text.split(/\r\n?|\n/u) : text.split('\n');
}

// The stream may be available later; any other status means that it does not exist.
const busyStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 529]);

/** Returns whether a refused stream may be available later. */
export function isBusy({ status }: { readonly status: number }): boolean {
  return busyStatuses.has(status);
}

// The id is returned in a header.
const eventId = /^[ -~]{1,1024}$/u;

/** The event to resume after; an id that is empty or cannot be sent in a header does not count. */
export function eventIdOf({ id }: StreamEvent, before: string | undefined): string | undefined {
  if (id === undefined) return before;
  return eventId.test(id) ? id : undefined;
}

/** Returns whether an event carries an MCP message. */
export function isMessageEvent({ event, data }: StreamEvent): boolean {
  return data !== '' && (event === undefined || event === '' || event === 'message');
}
