/**
 * Reads the settings and emits a fact when they change.
 *
 * Emits `settings.loaded` once all files have been read for the first time, and again whenever a
 * server, a limit or a problem differs from the last one emitted. A new comment, a different layout
 * or a touched file is not a change; if it moves lines, the fact is `settings.relocated`. The
 * desired servers are readable before the root gets the fact.
 *
 * Observable logic ignores events, so commands arrive through a port of the input:
 * `settings.reload` (read now, and ask Docker again if its gateway is wanted) and
 * `settings.changed` (replace the host's own settings). The reader itself reports that the host
 * added servers or replaced its plugins, whose files are then watched. It emits nothing once it is
 * stopped.
 */

import { fromEventObservable, type Observer, type Subscribable } from 'xstate';
import type { Clock } from '../../src/domain/clock.ts';
import type { DesiredServer, Problem, Settings, SourceRef } from '../../src/domain/settings.ts';
import type {
  SettingsCommand,
  SettingsCommands,
  SettingsFact,
  SettingsInput,
} from '../../src/domain/settings-facts.ts';
import { preparePlaces, serverNamed } from '../../src/policies/admission/server-place.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import { keepDigests } from '../../src/policies/fingerprint.ts';
import type { Specs } from '../../src/settings/merge-settings.ts';
import { changedSinceStart } from '../../src/settings/startup-gate.ts';
import { type WatchFiles, watchSettingsFiles } from '../files/watcher.ts';
import { confinesOfFile } from './file.ts';
import { pauseAmong } from './host-settings.ts';
import type {
  ReadingScope,
  SettingsReader,
  SettingsReaderPorts,
  SettingsReading,
} from './last-good-settings.ts';
import { type SettingsSignal, settingsStream } from './stream.ts';

export interface SettingsPorts extends Pick<SettingsReaderPorts, 'projectRoot' | 'docker'> {
  readonly clock: Clock;
  readonly reader: SettingsReader;
  /** Receives the settings and their specs just before the fact. */
  readonly book: { put(settings: Settings, specs: Specs): void };
  /**
   * Yields to the event loop between reading an edit and the fact that applies it, each of which blocks
   * for several milliseconds, so that responses and calls of running servers pass in between.
   * Default: does not yield.
   */
  readonly yieldToServers?: () => Promise<unknown>;
  /** Watches files. Default: on the disk. */
  readonly watch?: WatchFiles;
}

/** Creates the actor logic that reads settings and emits their changes. */
export function createSettingsSource(ports: SettingsPorts) {
  return fromEventObservable<SettingsFact, SettingsInput>(({ input }) => {
    const subscribe = (observer: Observer<SettingsFact>) => follow(ports, input.commands, observer);
    // XState only ever passes an observer.
    return { subscribe } as Subscribable<SettingsFact>;
  });
}

/** Turns everything that may change settings into signals, until it is stopped. */
function follow(
  ports: SettingsPorts,
  commands: SettingsCommands,
  observer: Observer<SettingsFact>,
): { unsubscribe(): void } {
  const { book, docker, projectRoot, reader, watch = watchSettingsFiles } = ports;
  let watchProblems: readonly Problem[] = [];
  const factOf = newsFor(ports, () => watchProblems);
  let specs: Specs = new Map();
  const newsOf = async (reading: SettingsReading): Promise<SettingsFact | undefined> => {
    specs = reading.specs;
    const fact = factOf(reading);
    // The recipients of the fact check all servers synchronously.
    await pauseAmong(reading.settings.servers);
    return fact;
  };
  const { signal, stop } = startReading(ports, newsOf, {
    next: (fact) => {
      book.put(fact.settings, specs);
      observer.next?.(fact);
    },
    error: (error) => {
      end();
      observer.error?.(error);
    },
  });

  docker?.listen(() => signal('all'));
  const watchAll = (): (() => void) => {
    const files = reader.files();
    const confines = files.flatMap((ref): [string, string][] => {
      const within = confinesOfFile(ref, projectRoot);
      return within === undefined ? [] : [[ref.file, within]];
    });
    const paths = files.map(({ file }) => file);
    const listener = {
      changed: () => signal('touched'),
      slowed: (message: string | undefined) => {
        const [file = 'settings'] = paths;
        watchProblems = message === undefined ? [] : [{ file, message }];
        signal('touched');
      },
    };
    return watch(paths, listener, { confines: new Map(confines) });
  };
  let unwatch = watchAll();
  reader.listen((scope) => {
    if (scope === 'all') {
      // Other plugins bring other files.
      unwatch();
      watchProblems = [];
      unwatch = watchAll();
    }
    signal(scope);
  });
  const obey = (command: SettingsCommand): void => {
    if (command.type === 'settings.reload') docker?.checkAgain();
    else reader.setOverlay(command.settings);
    signal('all');
  };
  const end = (): void => {
    stop();
    unwatch();
    docker?.dispose();
    reader.listen(() => {});
    for (const each of subscriptions) each.unsubscribe();
  };
  const subscriptions = [
    commands.on('settings.reload', obey),
    commands.on('settings.changed', obey),
  ];
  return { unsubscribe: end };
}

/** Reads at once, and passes everything later to the stream. */
function startReading(
  { clock, reader, yieldToServers }: SettingsPorts,
  newsOf: (reading: SettingsReading) => Promise<SettingsFact | undefined>,
  observer: Required<Pick<Observer<SettingsFact>, 'next' | 'error'>>,
): { readonly signal: (kind: SettingsSignal) => void; readonly stop: () => void } {
  const read = async (scope: ReadingScope): Promise<SettingsReading> => {
    const reading = await reader.read(clock.now(), scope);
    await pauseAmong(reading.settings.servers);
    return reading;
  };
  const early = new Set<SettingsSignal>();
  let isOver = false;
  let subscription: { unsubscribe(): void } | undefined;
  let deliver = (kind: SettingsSignal): void => void early.add(kind);

  const run = async (): Promise<void> => {
    const first = await read('all');
    if (isOver) return;
    const fact = await newsOf(first);
    if (fact !== undefined && !isOver) observer.next(fact);
    if (isOver) return;
    if (first.againInMs !== undefined) early.add('touched');
    const signals = (receive: typeof deliver): void => {
      deliver = receive;
      for (const kind of early) receive(kind);
    };
    const editOf = async (reading: SettingsReading): Promise<SettingsFact | undefined> => {
      const edit = await newsOf(reading);
      if (edit !== undefined) await yieldToServers?.();
      return edit;
    };
    subscription = settingsStream({ clock, signals, read, newsOf: editOf }).subscribe(observer);
  };
  run().catch(observer.error);
  return {
    signal: (kind) => deliver(kind),
    stop: () => {
      isOver = true;
      subscription?.unsubscribe();
    },
  };
}

/** Compares each reading with the last one emitted. */
function newsFor(
  { clock }: SettingsPorts,
  watchProblems: () => readonly Problem[],
): (reading: SettingsReading) => SettingsFact | undefined {
  let emitted: Settings | undefined;
  let atStart: SettingsReading['startupGate'] | undefined;
  return ({ settings: present, startupGate }) => {
    atStart ??= startupGate;
    const news = [...changedSinceStart(atStart, startupGate), ...watchProblems()];
    const servers = sharedWith(emitted, present.servers);
    const settings = { ...present, servers, problems: [...present.problems, ...news] };
    const difference = emitted === undefined ? 'meaning' : differenceOf(settings, emitted);
    if (difference === 'none') return undefined;
    const isSame = difference === 'lines';
    preparePlaces(emitted ?? null, settings);
    emitted = settings;
    return { type: isSame ? 'settings.relocated' : 'settings.loaded', settings, at: clock.now() };
  };
}

/** Keeps the object of each unchanged server, so that nothing is recomputed from it. */
function sharedWith(
  before: Settings | undefined,
  servers: readonly DesiredServer[],
): readonly DesiredServer[] {
  return servers.map((server, place) => {
    if (server === before?.servers[place]) return server;
    const same = serverNamed(before ?? null, server.name);
    if (same === undefined || same === server) return server;
    if (equalTyped(same, server)) return same;
    if (isMoved(same, server)) keepDigests(same, server);
    return server;
  });
}

/** Whether only the line differs, which any comment above it changes. */
function isMoved(one: DesiredServer, other: DesiredServer): boolean {
  const { line } = other.source;
  return equalTyped({ ...one, source: withLine(one.source, line) }, other);
}

function withLine({ line: _line, ...source }: SourceRef, line: number | undefined): SourceRef {
  return line === undefined ? source : { ...source, line };
}

/** Distinguishes a change of lines, which any comment causes, from a change of meaning. */
function differenceOf(now: Settings, before: Settings): 'none' | 'lines' | 'meaning' {
  const { servers, ...rest } = now;
  const { servers: earlier, ...others } = before;
  let isMove = false;
  const isSame = (server: DesiredServer, index: number): boolean => {
    const other = earlier[index];
    if (server === other) return true;
    isMove = true;
    return other !== undefined && isMoved(server, other);
  };
  if (servers.length !== earlier.length || !servers.every(isSame)) return 'meaning';
  if (!isMove && equalTyped(rest, others)) return 'none';
  return equalTyped(meaningOf(rest), meaningOf(others)) ? 'lines' : 'meaning';
}

/** Returns the part that is compared: lists of names as sets, without their lines. */
function meaningOf({ limits: _limits, allowed, excluded, ...rest }: Omit<Settings, 'servers'>) {
  // Absent allows every server; empty allows none.
  return { ...rest, allowed: allowed?.toSorted(), excluded: excluded.toSorted() };
}
