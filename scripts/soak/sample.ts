/** Samples of the resources that this process holds. */

import { readdirSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';

import { childrenOf } from '../../test/lab/processes.ts';

export interface Sample {
  /** Since the first sample. */
  readonly atMs: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly fdCount: number;
  /** Children of this process, zombies included. */
  readonly childCount: number;
  /** Open handles and requests that keep the process alive. */
  readonly handleCount: number;
  /** Listeners on the process itself. */
  readonly listenerCount: number;
  /** 99th percentile since the sample before. */
  readonly delayP99Ms: number;
}

export const fdCount = (): number => readdirSync('/proc/self/fd').length;

const listenerCount = (): number =>
  process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);

export class Sampler {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: 10 });
  readonly #from = performance.now();

  constructor() {
    this.#delay.enable();
  }

  async take(): Promise<Sample> {
    const delayP99Ms = this.#delay.percentile(99) / 1e6;
    // One collection may free objects that kept others alive.
    for (let turn = 0; turn < 3; turn += 1) {
      globalThis.gc?.();
      await pause(10);
    }
    const { heapUsed, rss } = process.memoryUsage();
    const sample = {
      atMs: performance.now() - this.#from,
      heapBytes: heapUsed,
      rssBytes: rss,
      fdCount: fdCount(),
      childCount: childrenOf(process.pid).length,
      handleCount: process.getActiveResourcesInfo().length,
      listenerCount: listenerCount(),
      delayP99Ms,
    };
    // The collections above are not the troupe's.
    this.#delay.reset();
    return sample;
  }

  end(): void {
    this.#delay.disable();
  }
}
