/**
 * The stream that says when to read the settings again. A file of its own so that
 * RxJS, a third of what importing this package would cost, is loaded behind the
 * first reading and not before it.
 */

import {
  concatMap,
  debounce,
  defer,
  finalize,
  from,
  merge,
  Observable,
  Subject,
  switchMap,
  tap,
  throttle,
} from 'rxjs';

import type { Clock } from '../src/domain/clock.ts';
import type { SettingsReading } from './settings-reader.ts';

export interface WakeUpPorts {
  readonly clock: Clock;
  readonly read: () => Promise<SettingsReading>;
  /** Takes every reading, in order. */
  readonly take: (reading: SettingsReading) => void;
}

/** Where signals go in; the readings they lead to come out of the port `take`. */
export interface WakeUps {
  /** Reads now. */
  command(): void;
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

export function startWakeUps({ clock, read, take }: WakeUpPorts): WakeUps {
  const commands = new Subject<void>();
  const touches = new Subject<void>();
  const dues = new Subject<number>();
  const later = (delayMs: number): void => dues.next(delayMs);
  const wakeUps = merge(
    commands,
    calmed(touches, clock),
    dues.pipe(switchMap((ms) => clockTimer(clock, ms))),
  );
  const readings = oneAtATime(wakeUps, read).subscribe((reading) => {
    if (reading.againInMs !== undefined) later(reading.againInMs);
    take(reading);
  });
  return {
    command: () => commands.next(),
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

/** Reads for a signal; any number of signals during a reading cause exactly one more. */
function oneAtATime(
  signals: Observable<void>,
  read: () => Promise<SettingsReading>,
): Observable<SettingsReading> {
  return defer(() => {
    const done = new Subject<void>();
    return signals.pipe(
      throttle(() => done, { leading: true, trailing: true }),
      concatMap(() => from(read()).pipe(finalize(() => done.next()))),
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
