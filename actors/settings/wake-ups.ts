/**
 * The stream that says when to read the settings again. RxJS is a third of what
 * importing this package would cost, so `late-wake-ups.ts` loads this
 * file behind the first reading and not before it.
 */

import {
  concatMap,
  debounce,
  defer,
  finalize,
  from,
  merge,
  Observable,
  of,
  Subject,
  switchMap,
  tap,
  throttle,
} from 'rxjs';

import type { Clock } from '../../src/domain/clock.ts';
import { recordInWindow } from '../../src/policies/window-limit.ts';
import type { ReadingScope, SettingsReading } from './reader.ts';

export interface WakeUpPorts {
  readonly clock: Clock;
  readonly read: (scope: ReadingScope) => Promise<SettingsReading>;
  /** Takes every reading, in order. */
  readonly take: (reading: SettingsReading) => void;
}

/** Where signals go in; the readings they lead to come out of the port `take`. */
export interface WakeUps {
  /** Reads now, unless that was done too often just before. */
  command(): void;
  /** The same, where at most the servers that the host added have changed. */
  added(): void;
  /** Reads once it has been calm for a moment. */
  touch(): void;
  /** Reads after so many milliseconds, counted anew each time. */
  later(delayMs: number): void;
  stop(): void;
}

// An editor writes a file in several steps, all within a fraction of this; a
// person does not notice the wait.
const debounceMs = 300;

// A file that is written without a pause is read all the same, at the latest after this.
const maxDebounceMs = 2_000;

// A host that sends its settings without a pause must not keep the process busy with them; a
// person at the keys never does anything four times a second.
const pace = { limit: 4, windowMs: 1_000 };

export function startWakeUps({ clock, read, take }: WakeUpPorts): WakeUps {
  const commands = new Subject<void>();
  const additions = new Subject<void>();
  const touches = new Subject<void>();
  const dues = new Subject<number>();
  const later = (delayMs: number): void => dues.next(delayMs);
  const wholeReads = merge(
    commands,
    calmed(touches, clock),
    dues.pipe(switchMap((ms) => clockTimer(clock, ms))),
  );
  // Signals that fall together are one: what is read for it must do for all of them.
  let scope: ReadingScope = 'added';
  const widen = tap<void>(() => {
    scope = 'all';
  });
  const turn = pacedTurns(clock);
  const readOnce = () =>
    turn.pipe(
      concatMap(() => {
        const due = scope;
        scope = 'added';
        return from(read(due));
      }),
    );
  const wakeUps = merge(wholeReads.pipe(widen), additions);
  const readings = oneAtATime(wakeUps, readOnce).subscribe((reading) => {
    if (reading.againInMs !== undefined) later(reading.againInMs);
    take(reading);
  });
  return {
    command: () => commands.next(),
    added: () => additions.next(),
    touch: () => touches.next(),
    later,
    stop: () => readings.unsubscribe(),
  };
}

/** One signal after a burst of them: when it has been calm, or has lasted too long. */
function calmed(signals: Observable<void>, clock: Clock): Observable<void> {
  return defer(() => {
    let burstSince: number | undefined;
    return signals.pipe(
      debounce(() => {
        burstSince ??= clock.now();
        const leftMs = burstSince + maxDebounceMs - clock.now();
        return clockTimer(clock, Math.max(0, Math.min(debounceMs, leftMs)));
      }),
      tap(() => {
        burstSince = undefined;
      }),
    );
  });
}

/** Works for a signal; any number of signals during that cause exactly one more. */
function oneAtATime<Result>(
  signals: Observable<void>,
  work: () => Observable<Result>,
): Observable<Result> {
  return defer(() => {
    const done = new Subject<void>();
    return signals.pipe(
      throttle(() => done, { leading: true, trailing: true }),
      concatMap(() => work().pipe(finalize(() => done.next()))),
    );
  });
}

/** Gives a turn at once, or as soon as the window has room for one more. */
function pacedTurns(clock: Clock): Observable<void> {
  let turns: readonly number[] = [];
  return defer(() => {
    const [oldest] = turns;
    const isFull = oldest !== undefined && turns.length >= pace.limit;
    const waitMs = isFull ? oldest + pace.windowMs - clock.now() : 0;
    return (waitMs <= 0 ? of(undefined) : clockTimer(clock, waitMs)).pipe(
      tap(() => {
        turns = recordInWindow(turns, clock.now(), pace);
      }),
    );
  });
}

function clockTimer(clock: Clock, delayMs: number): Observable<void> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => {
      subscriber.next();
      subscriber.complete();
    }, delayMs);
    return () => clock.clearTimeout(timer);
  });
}
