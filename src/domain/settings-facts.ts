/** The contract between the root and the actor that watches the settings. */

import type { Settings } from './settings.ts';

export type SettingsCommand =
  /** Reads all files again, now. */
  | { readonly type: 'settings.reload' }
  /** Replaces what the host itself contributes. */
  | { readonly type: 'settings.changed'; readonly settings: Readonly<Record<string, unknown>> }
  | { readonly type: 'io.dispose' };

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
