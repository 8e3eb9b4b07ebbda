/** The contract between the root and the actor that watches the settings. */

import type { Settings } from './settings.ts';

export type SettingsCommand =
  /** Reads all files again, now. */
  | { readonly type: 'settings.reload' }
  /** Replaces what the host itself contributes. */
  | { readonly type: 'settings.overlay'; readonly settings: Readonly<Record<string, unknown>> }
  | { readonly type: 'io.dispose' };

/** Sent once after the first reading, then whenever the meaning or the problems changed. */
export interface SettingsFact {
  readonly type: 'settings.loaded';
  readonly settings: Settings;
  /** Monotonic milliseconds of the injected clock. */
  readonly at: number;
}
