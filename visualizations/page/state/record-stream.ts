/**
 * Streams records. `EventSource` cannot send headers, so this module reads the event stream itself
 * and resumes after an interruption.
 */

// The server's own value; a troupe that restarts at the same address is found soon.
const retryMs = 1_000;

/** Requests a path of the inspector. */
export type Get = (path: string, init?: RequestInit) => Promise<Response>;

export interface RecordStreamEvents {
  readonly opened: () => void;
  readonly record: (text: string) => void;
  /** Records are missing and will not be sent again. */
  readonly gap: () => void;
  /** The connection broke; it is retried. */
  readonly interrupted: () => void;
  /** The server refused the stream; it is not retried. */
  readonly refused: () => void;
}

/** Reads records from number `from` on, until the returned function is called. */
export function streamRecords(get: Get, from: number, events: RecordStreamEvents): () => void {
  const over = new AbortController();
  void read({ get, events, signal: over.signal }, from);
  return () => over.abort();
}

interface Reading {
  readonly get: Get;
  readonly events: RecordStreamEvents;
  readonly signal: AbortSignal;
}

async function read(reading: Reading, from: number): Promise<void> {
  const { events, signal } = reading;
  for (let next = from; !signal.aborted; ) {
    const connection = await readOnce(reading, next);
    if (signal.aborted) return;
    if (connection === 'refused') return events.refused();
    next = connection.next;
    events.interrupted();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** Reads one connection to its end; returns the number of the next record. */
async function readOnce(
  { get, events, signal }: Reading,
  from: number,
): Promise<{ readonly next: number } | 'refused'> {
  let next = from;
  try {
    const response = await get(`api/stream?from=${from}`, { signal });
    if (response.status !== 200 || response.body === null) return 'refused';
    events.opened();
    for await (const { id, event, data } of eventsOf(response.body)) {
      next = id === undefined ? next : Number(id) + 1;
      if (event === 'gap') events.gap();
      else if (data !== undefined) events.record(data);
      if (signal.aborted) break;
    }
  } catch {
    // The connection broke, or the server does not listen yet.
  }
  return { next };
}

interface StreamEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => line.split(/: ?(.*)/su).slice(0, 2));
      yield Object.fromEntries(fields) as StreamEvent;
    }
  }
}
