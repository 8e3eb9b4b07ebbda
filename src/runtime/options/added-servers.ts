/** The servers that a host adds and removes one by one while the troupe runs. */

import type { SettingsReader } from '../../../actors/settings/last-good-settings.ts';
import { unwritablePart } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { isServerName } from '../../policies/text/name-rule.ts';
import { checkName } from './check.ts';

type Entry = Readonly<Record<string, unknown>>;

const shownLength = 128;

export class AddedServers {
  readonly #reader: Pick<SettingsReader, 'setAdded'>;
  readonly #entries = new Map<string, Entry>();

  constructor(reader: Pick<SettingsReader, 'setAdded'>) {
    this.#reader = reader;
  }

  /**
   * @throws TroupeError `INVALID_ARGUMENTS` for a name that cannot be used, or an entry that is not
   * an object.
   */
  add(name: string, entry: Entry): void {
    checkName('name of the server', name);
    const shown = printableLine(name, shownLength);
    if (!isServerName(name)) {
      const message = `The name "${shown}" cannot be used. Write 1 to 100 letters, digits, "_", ".", ":" or "-", not beginning with "-".`;
      throw argumentsError(message);
    }
    this.#entries.set(name, copyOf(shown, entry));
    this.#pass();
  }

  /** @throws TroupeError `SERVER_UNKNOWN` if nothing was added under this name. */
  remove(name: string): void {
    if (!this.#entries.delete(name)) {
      const shown = printableLine(name, shownLength);
      const message = `No server ${shown} was added by addServer. Remove it where it is declared: troupe status ${shown}`;
      throw new TroupeError('SERVER_UNKNOWN', message, { server: shown });
    }
    this.#pass();
  }

  #pass(): void {
    this.#reader.setAdded(this.#entries);
  }
}

/** Copies the entry, because the host may change its object later. */
function copyOf(shown: string, entry: unknown): Entry {
  let part: string | undefined;
  try {
    part = isRecord(entry) ? unwritablePart(entry) : undefined;
    if (isRecord(entry) && part === undefined) return JSON.parse(JSON.stringify(entry)) as Entry;
  } catch {
    // Reported below, in one sentence for all cases.
  }
  const why = part === undefined ? '' : ` Here ${printableLine(part, shownLength)}.`;
  const message = `The settings of the server "${shown}" must be plain data, as { command: 'npx' }.${why}`;
  throw argumentsError(message);
}
