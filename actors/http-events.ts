/** Reads the events of an answer that is an event stream. */

import { createParser, type EventSourceMessage } from 'eventsource-parser';

export interface EventListeners {
  /** Must not throw. */
  readonly onEvent: (event: EventSourceMessage) => void;
  /** How long the server wants to be left alone after this stream, in milliseconds. */
  readonly onRetry?: (ms: number) => void;
}

/** Resolves when the stream ends, and rejects with what broke it off. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  listeners: EventListeners,
): Promise<void> {
  const decoder = new TextDecoder();
  const parser = createParser(listeners);
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
  }
}

// "Not now" in its several forms; anything else means that there is no such stream.
const busyStatuses: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504, 529]);

/** Says whether a refused stream may be there later. */
export function isBusy({ status }: Response): boolean {
  return busyStatuses.has(status);
}

// It goes back in a header.
const eventId = /^[ -~]{1,1024}$/u;

/** The event to go on after: an id that cannot be sent back, or an empty one, is none. */
export function eventIdOf(
  { id }: EventSourceMessage,
  before: string | undefined,
): string | undefined {
  if (id === undefined) return before;
  return eventId.test(id) ? id : undefined;
}

export function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

/** Says whether an event carries a message of MCP. */
export function isMessageEvent({ event, data }: EventSourceMessage): boolean {
  return data !== '' && (event === undefined || event === '' || event === 'message');
}
