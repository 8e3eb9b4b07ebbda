/** The contract between the root and the actor that watches the settings. */

import type { Settings } from './settings.ts';

export type SettingsCommand =
  /** Rereads all files now. */
  | { readonly type: 'settings.reload' }
  /** Replaces what the host itself contributes. */
  | { readonly type: 'settings.changed'; readonly settings: Readonly<Record<string, unknown>> };

/** The source of the actor's commands; its logic is an observable, which ignores events. */
export interface SettingsCommands {
  on(
    type: SettingsCommand['type'],
    handler: (command: SettingsCommand) => void,
  ): { unsubscribe(): void };
}

export interface SettingsInput {
  readonly commands: SettingsCommands;
}

export interface SettingsFact {
  /**
   * `loaded` once after the first reading, then whenever the meaning or the
   * problems changed; `relocated` when only the lines of entries moved.
   */
  readonly type: 'settings.loaded' | 'settings.relocated';
  readonly settings: Settings;
  /** Monotonic milliseconds of the injected clock. */
  readonly at: number;
}
