/**
 * Counts calls against the limits in the settings. A request takes a place in the window of every
 * limit that applies to it before it is sent, and gives its places back if it provably never ran.
 */

import type { CallLimits, DesiredServer, Settings, ViewSettings } from '../../domain/settings.ts';
import { rateLimited } from '../errors/refused.ts';
import type { Operation } from './operation.ts';

/** A place that a call holds in a window. */
export interface QuotaPlace {
  readonly window: string;
  /** Monotonic time in milliseconds at which it was taken. */
  readonly at: number;
}

/** What is counted of a call. */
interface QuotaCall {
  readonly server: string;
  /** The tool, and its name for the caller, are undefined until it is known, and for other requests. */
  readonly operation: Pick<Operation<unknown>, 'tool' | 'shownTool'>;
  readonly places: QuotaPlace[];
}

interface Quota {
  readonly window: string;
  readonly most: number;
  /** What is limited, as in "calls to db". */
  readonly words: string;
}

const windowMs = 60_000;
// Windows without recent calls are dropped once there are this many; each holds one list of times.
const sweepAt = 256;

export class CallQuotas {
  /** Times of the calls in each window, in ascending order. */
  readonly #windows = new Map<string, number[]>();
  #sweepAt = sweepAt;

  /**
   * Takes all places that the call does not hold yet, or none. The tool's limit is included once the
   * tool is known.
   *
   * @throws TroupeError `RATE_LIMITED`
   */
  admit(call: QuotaCall, subject: QuotaSubject, now: number): void {
    const missing = quotasFor(call, subject).filter(
      ({ window }) => !call.places.some((place) => place.window === window),
    );
    for (const { window, most, words } of missing) {
      const times = this.#recent(window, now);
      const freeAt = (times.at(-most) ?? now) + windowMs;
      if (times.length >= most) throw rateLimited(call.server, words, most, freeAt - now);
    }
    for (const { window } of missing) {
      this.#recent(window, now).push(now);
      call.places.push({ window, at: now });
    }
  }

  /** Frees the places of a call that never ran. */
  giveBack(call: QuotaCall): void {
    for (const { window, at } of call.places.splice(0)) {
      const times = this.#windows.get(window);
      const index = times?.lastIndexOf(at) ?? -1;
      if (index >= 0) times?.splice(index, 1);
    }
  }

  #recent(window: string, now: number): number[] {
    const times = this.#windows.get(window) ?? [];
    const first = times.findIndex((at) => now - at < windowMs);
    times.splice(0, first < 0 ? times.length : first);
    if (!this.#windows.has(window)) {
      this.#sweep(now);
      this.#windows.set(window, times);
    }
    return times;
  }

  #sweep(now: number): void {
    if (this.#windows.size < this.#sweepAt) return;
    for (const [window, times] of this.#windows)
      if (now - (times.at(-1) ?? 0) >= windowMs) this.#windows.delete(window);
    this.#sweepAt = Math.max(sweepAt, 2 * this.#windows.size);
  }
}

/** The client that a call is counted for, unique among users and clients, and the limits in force. */
export interface QuotaSubject {
  readonly client: string;
  readonly limits: Settings['callLimits'];
  /** The view through which it is made. */
  readonly view: Pick<ViewSettings, 'name' | 'limits'> | undefined;
  readonly desired: DesiredServer | undefined;
}

function quotasFor(
  { server, operation: { tool, shownTool = tool } }: QuotaCall,
  { client, limits, view, desired }: QuotaSubject,
): readonly Quota[] {
  const override = desired?.tools.overrides?.find((it) => it.tool === tool)?.limits;
  const toolWords = `calls of ${shownTool} of ${server}`;
  return [
    ...quotasIn(limits, [], client, 'calls'),
    ...quotasIn(view?.limits, [{ view: view?.name }], client, `calls in the view ${view?.name}`),
    ...quotasIn(desired?.limits, [server], client, `calls to ${server}`),
    ...quotasIn(override, [server, tool], client, toolWords),
  ];
}

function quotasIn(
  limits: CallLimits | undefined,
  subject: readonly unknown[],
  client: string,
  words: string,
): readonly Quota[] {
  if (limits === undefined) return [];
  const { perMinute, perClientPerMinute } = limits;
  const quotas: Quota[] = [];
  if (perMinute !== undefined)
    quotas.push({ window: JSON.stringify([subject]), most: perMinute, words });
  if (perClientPerMinute !== undefined)
    quotas.push({
      window: JSON.stringify([subject, client]),
      most: perClientPerMinute,
      words: `${words} by one client`,
    });
  return quotas;
}
