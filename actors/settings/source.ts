/**
 * Reads the settings, and says when they have really changed.
 *
 * Input: none. Sends `settings.loaded` once all files were read for the first
 * time, and again whenever a server, a limit or a problem differs from what was
 * sent last: a new comment, another layout or a touched file is no change, and
 * at most moves lines, which `settings.relocated` tells.
 * Before each fact the specs it speaks of are put into the spec book.
 *
 * Servers that the host added wake it through the reader, and no file is read for them.
 *
 * Accepts `settings.reload` (read now, and ask Docker again if its gateway is
 * wanted), `settings.changed` (the host's own settings, replaced) and
 * `io.dispose`. Never throws; after it was stopped or disposed of it sends
 * nothing.
 */

import { fromCallback } from 'xstate';
import { changedSinceStart } from '../../src/config/start-values.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import type { DesiredServer, Problem, Settings } from '../../src/domain/settings.ts';
import type { SettingsCommand, SettingsFact } from '../../src/domain/settings-facts.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import { type WatchFiles, watchSettingsFiles } from '../files/watcher.ts';
import { confinesOfFile } from './file.ts';
import { startWakeUpsLate } from './late-wake-ups.ts';
import {
  createSettingsReader,
  type ReadingScope,
  type SettingsReader,
  type SettingsReaderPorts,
  type SettingsReading,
} from './reader.ts';
import type { startWakeUps } from './wake-ups.ts';

export interface SettingsPorts extends SettingsReaderPorts {
  readonly clock: Clock;
  /** Where the specs go before the fact that names their generations is sent. */
  readonly specs: { put(specs: ReadonlyMap<string, ServerSpec>): void };
  /** Default: the disk. */
  readonly watch?: WatchFiles;
  /** Default: one of its own. Shared, a dry run sees the same last good contents. */
  readonly reader?: SettingsReader;
  /** Default: loads what it needs when it first needs it. */
  readonly startWakeUps?: typeof startWakeUps;
}

export function createSettingsSource(ports: SettingsPorts) {
  return fromCallback<SettingsCommand, Record<string, never>>(({ sendBack, receive }) => {
    const { clock, docker, files, projectRoot, specs, watch = watchSettingsFiles } = ports;
    const { reader = createSettingsReader(ports) } = ports;
    let watchProblems: readonly Problem[] = [];
    let sent: Settings | undefined;
    let atStart: SettingsReading['startValues'] | undefined;

    const read = (scope: ReadingScope): Promise<SettingsReading> => reader.read(clock.now(), scope);
    const take = ({
      settings: present,
      specs: presentSpecs,
      startValues,
    }: SettingsReading): void => {
      atStart ??= startValues;
      const settings = {
        ...present,
        servers: sharedWith(sent, present.servers),
        problems: [
          ...present.problems,
          ...changedSinceStart(atStart, startValues),
          ...watchProblems,
        ],
      };
      if (equalTyped(settings, sent)) return;
      const isSame = sent !== undefined && equalTyped(meaningOf(settings), meaningOf(sent));
      const type = isSame ? 'settings.relocated' : 'settings.loaded';
      sent = settings;
      specs.put(presentSpecs);
      sendBack({ type, settings, at: clock.now() } satisfies SettingsFact);
    };
    const wakeUps = (ports.startWakeUps ?? startWakeUpsLate)({ clock, read, take });
    docker?.listen(() => wakeUps.command());
    reader.listen(() => wakeUps.added());
    wakeUps.command();

    const unwatch = watch(
      files.map(({ file }) => file),
      {
        changed: () => {
          wakeUps.touch();
        },
        slowed: (message) => {
          const file = files[0]?.file ?? 'settings';
          watchProblems = message === undefined ? [] : [{ file, message }];
          wakeUps.touch();
        },
      },
      new Map(
        files.flatMap((ref) => {
          const within = confinesOfFile(ref, projectRoot);
          return within === undefined ? [] : [[ref.file, within]];
        }),
      ),
    );
    const dispose = (): void => {
      reader.listen(() => {});
      wakeUps.stop();
      unwatch();
      docker?.dispose();
    };

    receive((order) => {
      if (order.type === 'io.dispose') {
        dispose();
        return;
      }
      if (order.type === 'settings.reload') docker?.lookAgain();
      if (order.type === 'settings.changed') reader.setOverlay(order.settings);
      wakeUps.command();
    });
    return dispose;
  });
}

/** The same servers, those that are as before being the very same: nobody computes anew what follows from them. */
function sharedWith(
  before: Settings | undefined,
  servers: readonly DesiredServer[],
): readonly DesiredServer[] {
  const known = new Map(before?.servers.map((server) => [server.name, server]));
  return servers.map((server) => {
    const same = known.get(server.name);
    return equalTyped(same, server) && same !== undefined ? same : server;
  });
}

/** What of settings is compared: all but the lines of servers, which every comment above them moves; lists of names are sets. */
function meaningOf(settings: Settings) {
  const servers = settings.servers.map(({ source: { line: _line, ...source }, ...server }) => ({
    ...server,
    source,
  }));
  const { limits: _limits, allowed, excluded, ...rest } = settings;
  // Absent, everybody is allowed; empty, nobody is.
  const lists = { allowed: allowed?.toSorted(), excluded: excluded.toSorted() };
  return { ...rest, ...lists, servers };
}
