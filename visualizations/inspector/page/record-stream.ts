/**
 * Records as they come. The browser's own reader of event streams can send no header, so this one
 * reads the stream itself, and goes on after an interruption where it was.
 */

import { request } from './entry.ts';

// As the server says; a troupe that was started again at the same place is found soon.
const retryMs = 1_000;

export interface RecordStreamEvents {
  readonly opened: () => void;
  readonly record: (text: string) => void;
  /** Records are missing that will not come any more. */
  readonly gap: () => void;
  /** It is tried again. */
  readonly interrupted: () => void;
  /** It is not tried again. */
  readonly refused: () => void;
}

/** Reads records from number `from` on, until the function that is returned is called. */
export function streamRecords(from: number, events: RecordStreamEvents): () => void {
  const over = new AbortController();
  void read(from, events, over.signal);
  return () => over.abort();
}

async function read(from: number, events: RecordStreamEvents, signal: AbortSignal): Promise<void> {
  for (let next = from; !signal.aborted; ) {
    const connection = await readOnce(next, events, signal);
    if (signal.aborted) return;
    if (connection === 'refused') return events.refused();
    next = connection.next;
    events.interrupted();
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** Reads to the end of one connection; tells which record comes next. */
async function readOnce(
  from: number,
  events: RecordStreamEvents,
  signal: AbortSignal,
): Promise<{ readonly next: number } | 'refused'> {
  let next = from;
  try {
    const response = await request(`api/stream?from=${from}`, { signal });
    if (response.status !== 200 || response.body === null) return 'refused';
    events.opened();
    for await (const { id, event, data } of eventsOf(response.body)) {
      next = id === undefined ? next : Number(id) + 1;
      if (event === 'gap') events.gap();
      else if (data !== undefined) events.record(data);
      if (signal.aborted) break;
    }
  } catch {
    // The connection broke, or nobody listens yet.
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
