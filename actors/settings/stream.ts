/** Turns signals into a stream with one fact for each real change of the settings. */

import {
  audit,
  BehaviorSubject,
  concatMap,
  connect,
  defer,
  EMPTY,
  exhaustMap,
  filter,
  finalize,
  from,
  merge,
  Observable,
  of,
  Subject,
  startWith,
  switchMap,
  take,
  tap,
} from 'rxjs';

import type { Clock } from '../../src/domain/clock.ts';
import type { SettingsFact } from '../../src/domain/settings-facts.ts';
import { recordInWindow } from '../../src/policies/window-limit.ts';
import type { ReadingScope, SettingsReading } from './last-good-settings.ts';

/** A touched file, or the scope of a reading that must happen now. */
export type SettingsSignal = 'touched' | ReadingScope;

export interface SettingsStreamPorts {
  readonly clock: Clock;
  /** Registers the function that receives all signals, including earlier ones. */
  readonly signals: (receive: (signal: SettingsSignal) => void) => void;
  /** Reads the settings. Never rejects. */
  readonly read: (scope: ReadingScope) => Promise<SettingsReading>;
  /** Turns a reading into a fact; resolves with undefined if nothing has changed. */
  readonly newsOf: (reading: SettingsReading) => Promise<SettingsFact | undefined>;
}

// An editor writes a file in several steps, all within a fraction of this; a user does not notice
// the wait.
const quietMs = 300;

// A file that is written continuously is read after this.
const maxQuietMs = 2_000;

// A host that sends its settings continuously must not keep the process busy; a user makes fewer
// than four edits a second.
const pace = { limit: 4, windowMs: 1_000 };

/**
 * Reads one thing at a time, at most four times a second. All signals that arrive before a reading
 * begins count as one, so the latest settings win.
 */
export function settingsStream({
  clock,
  signals,
  read,
  newsOf,
}: SettingsStreamPorts): Observable<SettingsFact> {
  const again = new Subject<number | undefined>();
  const isIdle = new BehaviorSubject(true);
  const paced = pacedBy(clock);
  let scope: ReadingScope = 'added';

  return new Observable<SettingsSignal>((to) => signals((signal) => to.next(signal))).pipe(
    connect((all) =>
      merge(
        all.pipe(filter((signal) => signal !== 'touched')),
        calmed(all.pipe(filter((signal) => signal === 'touched')), clock),
        again.pipe(switchMap((ms) => (ms === undefined ? EMPTY : after(ms, clock)))),
      ),
    ),
    tap((signal) => {
      if (signal !== 'added') scope = 'all';
    }),
    audit(() => isIdle.pipe(filter(Boolean), take(1), switchMap(paced))),
    concatMap(() => {
      isIdle.next(false);
      const due = scope;
      scope = 'added';
      return from(read(due)).pipe(
        tap(({ againInMs }) => again.next(againInMs)),
        concatMap(newsOf),
        finalize(() => isIdle.next(true)),
      );
    }),
    filter((fact) => fact !== undefined),
  );
}

/** Emits one signal for a burst of them: when the burst is over, or has lasted too long. */
function calmed<Signal>(signals: Observable<Signal>, clock: Clock): Observable<void> {
  const burst = () =>
    merge(
      signals.pipe(
        startWith(undefined),
        switchMap(() => after(quietMs, clock)),
      ),
      after(maxQuietMs, clock),
    );
  return signals.pipe(exhaustMap(() => burst().pipe(take(1))));
}

/** Grants turns: at once, or as soon as the window has room for another. */
function pacedBy(clock: Clock): () => Observable<void> {
  // The reading before the stream counts too.
  let turns: readonly number[] = [clock.now()];
  return () =>
    defer(() => {
      const [oldest = 0] = turns;
      const waitMs = turns.length < pace.limit ? 0 : oldest + pace.windowMs - clock.now();
      return waitMs <= 0 ? of(undefined) : after(waitMs, clock);
    }).pipe(
      tap(() => {
        turns = recordInWindow(turns, clock.now(), pace);
      }),
    );
}

function after(delayMs: number, clock: Clock): Observable<void> {
  return new Observable((to) => {
    const timer = clock.setTimeout(() => {
      to.next();
      to.complete();
    }, delayMs);
    return () => clock.clearTimeout(timer);
  });
}
