/**
 * Sends records to pages while they happen, as server-sent events. A stream is a place in
 * what is recorded and nothing more: who reads slowly waits for the socket, and is told of a
 * gap when what it has not seen is gone. So nobody makes our memory grow.
 */

import type { ServerResponse } from 'node:http';
import type { InspectionSource } from '../domain/host/inspection.ts';

// One page has one; this is for many windows and for those that were left open.
const mostStreams = 16;
// A page that sleeps or a proxy that is bored would otherwise let go of the line.
const heartbeatMs = 15_000;
// Between two of them the socket is asked whether it can take more.
const batchCount = 100;
// What comes after a calm is sent at once; what follows it goes together, at the pace of an eye.
const gatherMs = 100;
// A page that lost us comes back after this.
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
    const tellGap = (count: number): void =>
      send(`id: ${next - 1}\nevent: gap\ndata: ${JSON.stringify({ count })}\n\n`);
    const pump = (): void => {
      if (isBlocked || response.destroyed) return;
      if (next < source.first) {
        const count = source.first - next;
        next = source.first;
        tellGap(count);
      }
      while (!isBlocked && next <= source.last) {
        const records = source.records(next, batchCount);
        next = (records.at(-1)?.n ?? source.last) + 1;
        send(records.map((it) => `id: ${it.n}\ndata: ${JSON.stringify(it)}\n\n`).join(''));
      }
    };
    let gathering: NodeJS.Timeout | undefined;
    const tell = (): void => {
      const isNews = next <= source.last;
      gathering = isNews ? setTimeout(tell, gatherMs).unref() : undefined;
      if (isNews) pump();
    };
    const unfollow = source.follow(() => {
      if (gathering === undefined) tell();
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
      // A proxy that gathers would hold back what happens now.
      'x-accel-buffering': 'no',
    });
    send(`retry: ${retryMs}\n\n`);
    // It has seen another run, of which we know nothing.
    if (from > next) tellGap(0);
    pump();
  }

  close(): void {
    for (const response of this.#open) response.end();
  }
}
