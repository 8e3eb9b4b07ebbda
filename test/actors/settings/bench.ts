/** A settings source under test, with whoever invoked it played by the test. */

import { createActor, setup } from 'xstate';

import { createSettingsSource, type SettingsPorts } from '../../../actors/settings/source.ts';
import { createSpecBook, type SpecBook } from '../../../actors/settings/spec-book.ts';
import type { Settings } from '../../../src/domain/settings.ts';
import type { SettingsCommand, SettingsFact } from '../../../src/domain/settings-facts.ts';

export interface SettingsBench {
  readonly book: SpecBook;
  /** Every fact so far, oldest first. */
  readonly facts: readonly SettingsFact[];
  /** Settles with the next fact that nobody took yet. */
  readonly next: () => Promise<Settings>;
  readonly send: (command: SettingsCommand) => void;
  readonly stop: () => void;
}

export function startSettings(ports: Omit<SettingsPorts, 'specs'>): SettingsBench {
  const book = createSpecBook();
  const facts: SettingsFact[] = [];
  const waiting: ((settings: Settings) => void)[] = [];
  let takenCount = 0;

  const machine = setup({
    types: { events: {} as SettingsFact | { type: 'command'; command: SettingsCommand } },
    actors: { settingsSource: createSettingsSource({ ...ports, specs: book }) },
    actions: {
      take: ({ event }) => {
        if (event.type !== 'settings.loaded') return;
        for (const { generation, invalid } of event.settings.servers)
          if (invalid === undefined && book.get(generation) === undefined)
            throw new Error('a fact came before its specs');
        facts.push(event);
        const give = waiting.shift();
        if (give === undefined) return;
        takenCount += 1;
        give(event.settings);
      },
    },
  }).createMachine({
    invoke: { id: 'source', src: 'settingsSource', input: {} },
    on: { 'settings.loaded': { actions: 'take' } },
  });
  const root = createActor(machine).start();

  return {
    book,
    facts,
    next: () => {
      const fact = facts[takenCount];
      if (fact === undefined) return new Promise((resolve) => waiting.push(resolve));
      takenCount += 1;
      return Promise.resolve(fact.settings);
    },
    send: (command) => {
      root.getSnapshot().children.source?.send(command);
    },
    stop: () => {
      root.stop();
    },
  };
}

/** A settings text with local servers of these names and commands. */
export function serversText(commands: Readonly<Record<string, string>>): string {
  const servers = Object.entries(commands).map(([name, command]) => [name, { command }]);
  return JSON.stringify({ mcpServers: Object.fromEntries(servers) });
}

export const namesOf = (settings: Settings): readonly string[] =>
  settings.servers.map(({ name }) => name);
