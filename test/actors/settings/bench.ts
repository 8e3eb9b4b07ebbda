/** A settings source under test; the test plays its parent. */

import { EventEmitter } from 'node:events';

import { createActor, setup } from 'xstate';

import {
  createSettingsReader,
  type SettingsReaderPorts,
} from '../../../actors/settings/last-good-settings.ts';
import {
  createSettingsSource,
  type SettingsPorts,
} from '../../../actors/settings/settings-changes.ts';
import type { Settings } from '../../../src/domain/settings.ts';
import type {
  SettingsCommand,
  SettingsCommands,
  SettingsFact,
} from '../../../src/domain/settings-facts.ts';
import { DesiredBook } from '../../../src/runtime/desired/book.ts';

export interface SettingsBench {
  readonly book: DesiredBook;
  /** Every fact so far, oldest first. */
  readonly facts: readonly SettingsFact[];
  /** Settles with the next fact that was not read yet. */
  readonly next: () => Promise<Settings>;
  readonly send: (command: SettingsCommand) => void;
  /** What the source failed with. */
  readonly failures: readonly unknown[];
  /** Stops the source while its parent goes on. */
  readonly leave: () => void;
  readonly stop: () => void;
}

export type BenchPorts = SettingsReaderPorts &
  Omit<SettingsPorts, 'book' | 'reader'> &
  Partial<Pick<SettingsPorts, 'reader'>>;

export function startSettings(ports: BenchPorts): SettingsBench {
  const { reader = createSettingsReader(ports) } = ports;
  const parent = new EventEmitter();
  const book = new DesiredBook();
  const facts: SettingsFact[] = [];
  const failures: unknown[] = [];
  const waiting: ((settings: Settings) => void)[] = [];
  let takenCount = 0;

  const machine = setup({
    types: { events: {} as SettingsFact | { readonly type: 'leave' } },
    actors: { settingsSource: createSettingsSource({ ...ports, reader, book }) },
    actions: {
      take: ({ event }) => {
        if (event.type !== 'settings.loaded') return;
        for (const { generation, invalid } of event.settings.servers)
          if (invalid === undefined && book.specOf(generation) === undefined)
            throw new Error('a fact came before its specs');
        facts.push(event);
        const give = waiting.shift();
        if (give === undefined) return;
        takenCount += 1;
        give(event.settings);
      },
      noteFailure: (_args, { error }: { readonly error: unknown }) => {
        failures.push(error);
      },
    },
  }).createMachine({
    initial: 'following',
    states: {
      following: {
        invoke: {
          id: 'source',
          src: 'settingsSource',
          input: { commands: commandsFrom(parent) },
          onError: {
            actions: { type: 'noteFailure', params: ({ event }) => ({ error: event.error }) },
          },
        },
        on: { leave: 'left' },
      },
      left: {},
    },
    on: { 'settings.loaded': { actions: 'take' } },
  });
  const root = createActor(machine).start();

  return {
    book,
    facts,
    failures,
    next: () => {
      const fact = facts[takenCount];
      if (fact === undefined) return new Promise((resolve) => waiting.push(resolve));
      takenCount += 1;
      return Promise.resolve(fact.settings);
    },
    send: (command) => {
      parent.emit(command.type, command);
    },
    leave: () => root.send({ type: 'leave' }),
    stop: () => {
      root.stop();
    },
  };
}

function commandsFrom(parent: EventEmitter): SettingsCommands {
  const listen = (type: string, listener: (command: SettingsCommand) => void) => {
    parent.on(type, listener);
    return { unsubscribe: () => void parent.off(type, listener) };
  };
  return { on: listen };
}

/** A settings text with local servers of these names and commands. */
export function serversText(commands: Readonly<Record<string, string>>): string {
  const servers = Object.entries(commands).map(([name, command]) => [name, { command }]);
  return JSON.stringify({ mcpServers: Object.fromEntries(servers) });
}

export const namesOf = (settings: Settings): readonly string[] =>
  settings.servers.map(({ name }) => name);
