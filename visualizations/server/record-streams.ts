/**
 * Streams new records to pages as server-sent events. A stream is only a position in the recording, so a slow
 * reader takes no memory: it waits for its socket, and gets a gap in place of records that were removed since.
 */

import type { ServerResponse } from 'node:http';
import type { InspectionSource } from '../../src/domain/host/inspection.ts';
import { promptClock } from '../../src/runtime/real-clock.ts';
import { createThrottle } from '../../src/runtime/throttle.ts';
import { guardingHeaders } from './request-guard.ts';

// One per page; enough for many windows, including those left open.
const mostStreams = 16;
// Otherwise a proxy or a sleeping page may close an idle connection.
const heartbeatMs = 15_000;
// Between batches the socket is checked for back-pressure.
const batchCount = 100;
// The first record after a pause is sent at once; records that follow are sent together at this interval.
const gatherMs = 100;
// A page reconnects after this time.
const retryMs = 1_000;

export class RecordStreams {
  readonly #open = new Set<ServerResponse>();

  get isFull(): boolean {
    return this.#open.size >= mostStreams;
  }

  /** Streams records from number `from` until the page disconnects. */
  add(response: ServerResponse, source: InspectionSource, from: number): void {
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
    const gathering = createThrottle(promptClock, gatherMs, pump);
    const unfollow = source.follow(() => gathering.trigger());
    const beat = setInterval(() => {
      if (!isBlocked) send(': still here\n\n');
    }, heartbeatMs).unref();
    this.#open.add(response);
    response.on('drain', () => {
      isBlocked = false;
      pump();
    });
    response.on('close', () => {
      unfollow();
      gathering.stop();
      clearInterval(beat);
      this.#open.delete(response);
    });
    response.writeHead(200, {
      ...guardingHeaders,
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
