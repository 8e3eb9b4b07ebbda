/**
 * Streams new records to pages as server-sent events. A stream is only a position in the recording, so a slow
 * reader takes no memory: it waits for its socket, and gets a gap when records it has not seen are gone.
 */

import type { ServerResponse } from 'node:http';
import type { InspectionSource } from '../domain/host/inspection.ts';

// One per page; enough for many windows, including those left open.
const mostStreams = 16;
// Otherwise a proxy or a sleeping page may close an idle connection.
const heartbeatMs = 15_000;
// Between batches the socket is checked for back-pressure.
const batchCount = 100;
// After a quiet time a record is sent at once; records that follow are sent together at this pace.
const gatherMs = 100;
// A page reconnects after this time.
const retryMs = 1_000;

export class RecordStreams {
  readonly #source: InspectionSource;
  readonly #open = new Set<ServerResponse>();

  constructor(source: InspectionSource) {
    this.#source = source;
  }

  get isFull(): boolean {
    return this.#open.size >= mostStreams;
  }

  /** Streams records from number `from` on until the page goes away. */
  add(response: ServerResponse, headers: Readonly<Record<string, string>>, from: number): void {
    const source = this.#source;
    let next = Math.min(from, source.last + 1);
    let isBlocked = false;
    const send = (text: string): void => {
      isBlocked = !response.write(text);
    };
    const sendGap = (count: number): void =>
      send(`id: ${next - 1}\nevent: gap\ndata: ${JSON.stringify({ count })}\n\n`);
    const pump = (): void => {
      if (isBlocked || response.destroyed) return;
      if (next < source.first) {
        const count = source.first - next;
        next = source.first;
        sendGap(count);
      }
      while (!isBlocked && next <= source.last) {
        const records = source.records(next, batchCount);
        next = (records.at(-1)?.n ?? source.last) + 1;
        send(records.map((it) => `id: ${it.n}\ndata: ${JSON.stringify(it)}\n\n`).join(''));
      }
    };
    let gathering: NodeJS.Timeout | undefined;
    const sendNew = (): void => {
      const isNews = next <= source.last;
      gathering = isNews ? setTimeout(sendNew, gatherMs).unref() : undefined;
      if (isNews) pump();
    };
    const unfollow = source.follow(() => {
      if (gathering === undefined) sendNew();
    });
    const beat = setInterval(() => {
      if (!isBlocked) send(': still here\n\n');
    }, heartbeatMs);
    beat.unref();
    this.#open.add(response);
    response.on('drain', () => {
      isBlocked = false;
      pump();
    });
    response.on('close', () => {
      unfollow();
      clearTimeout(gathering);
      clearInterval(beat);
      this.#open.delete(response);
    });
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream',
      // A buffering proxy would delay the records.
      'x-accel-buffering': 'no',
    });
    send(`retry: ${retryMs}\n\n`);
    // The page has seen records of another run.
    if (from > next) sendGap(0);
    pump();
  }

  close(): void {
    for (const response of this.#open) response.end();
  }
}
