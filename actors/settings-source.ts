/**
 * Reads the settings, and says when they have really changed.
 *
 * Input: none. Sends `settings.loaded` once all files were read for the first
 * time, and again whenever a server, a limit or a problem differs from what was
 * sent last: a new comment, another layout or a touched file is no change, and
 * at most moves lines, which `settings.relocated` tells.
 * Before each fact the specs it speaks of are put into the spec book.
 *
 * Accepts `settings.reload` (read now), `settings.overlay` (the host's own
 * settings, replaced) and `io.dispose`. Never throws; after it was stopped or
 * disposed of it sends nothing.
 */

import equal from 'fast-deep-equal';
import {
  concatMap,
  debounce,
  defer,
  finalize,
  from,
  merge,
  Observable,
  Subject,
  startWith,
  switchMap,
  tap,
  throttle,
} from 'rxjs';
import { fromCallback } from 'xstate';

import type { Clock } from '../src/domain/clock.ts';
import type { ServerSpec } from '../src/domain/server-spec.ts';
import type { Problem, Settings } from '../src/domain/settings.ts';
import type { SettingsCommand, SettingsFact } from '../src/domain/settings-facts.ts';
import {
  createSettingsReader,
  type SettingsReader,
  type SettingsReaderPorts,
  type SettingsReading,
} from './settings-reader.ts';
import { type WatchFiles, watchSettingsFiles } from './settings-watcher.ts';

export interface SettingsPorts extends SettingsReaderPorts {
  readonly clock: Clock;
  /** Where the specs go before the fact that names their generations is sent. */
  readonly specs: { put(specs: ReadonlyMap<string, ServerSpec>): void };
  /** Default: the disk. */
  readonly watch?: WatchFiles;
  /** Default: one of its own. Shared, a dry run sees the same last good contents. */
  readonly reader?: SettingsReader;
}

// An editor writes a file in several steps, all within a fraction of this; a
// person does not notice the wait.
const debounceMs = 300;

// A file that is written without a pause is read all the same, at the latest after this.
const maxDebounceMs = 2_000;

export function createSettingsSource(ports: SettingsPorts) {
  return fromCallback<SettingsCommand, Record<string, never>>(({ sendBack, receive }) => {
    const { clock, files, specs, watch = watchSettingsFiles } = ports;
    const { reader = createSettingsReader(ports) } = ports;
    const commands = new Subject<void>();
    const touches = new Subject<void>();
    const vanished = new Subject<number>();
    let watchProblems: readonly Problem[] = [];
    let sent: Settings | undefined;

    const wakeUps = merge(
      commands,
      calmed(touches, clock),
      vanished.pipe(switchMap((ms) => clockTimer(clock, ms))),
    ).pipe(startWith(undefined));

    const reading = oneAtATime(wakeUps, () => reader.read(clock.now())).subscribe(
      ({ settings: read, specs: readSpecs, againInMs }) => {
        if (againInMs !== undefined) vanished.next(againInMs);
        const settings = { ...read, problems: [...read.problems, ...watchProblems] };
        if (equal(settings, sent)) return;
        const isSame = sent !== undefined && equal(meaningOf(settings), meaningOf(sent));
        const type = isSame ? 'settings.relocated' : 'settings.loaded';
        sent = settings;
        specs.put(readSpecs);
        sendBack({ type, settings, at: clock.now() } satisfies SettingsFact);
      },
    );

    const unwatch = watch(
      files.map(({ file }) => file),
      {
        changed: () => touches.next(),
        slowed: (message) => {
          watchProblems = [{ file: files[0]?.file ?? 'settings', message }];
          touches.next();
        },
      },
    );
    const dispose = (): void => {
      reading.unsubscribe();
      unwatch();
    };

    receive((command) => {
      if (command.type === 'io.dispose') {
        dispose();
        return;
      }
      if (command.type === 'settings.overlay') reader.setOverlay(command.settings);
      commands.next();
    });
    return dispose;
  });
}

/** What of settings is compared: all but the lines of servers, which every comment above them moves. */
function meaningOf(settings: Settings): unknown {
  const servers = settings.servers.map(({ source: { line: _line, ...source }, ...server }) => ({
    ...server,
    source,
  }));
  return { ...settings, servers };
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
