import { createHmac, randomBytes } from 'node:crypto';
import type { SettingsReader } from '../../actors/settings/last-good-settings.ts';
import type { Clock } from '../domain/clock.ts';
import type { DesiredServer } from '../domain/settings.ts';
import { waitAtMost } from './wait-once.ts';

// A second: an unreachable network folder must not delay settings for longer.
const loadMs = 1_000;

/**
 * Wraps a reader so that generations reveal nothing to readers without the key.
 *
 * A generation is shown in every status and record. Without a key it is the hash of a spec
 * with its literal secrets, which is equal on every machine for equal secrets and lets anyone
 * test a guess. Approvals keep binding to the plain hash, which is not shown.
 *
 * @param load - loads the key; if it takes too long, a random key is used for the whole run
 */
export function keyedReader(
  reader: SettingsReader,
  load: (() => Promise<Buffer>) | undefined,
  clock: Clock,
): SettingsReader {
  if (load === undefined) return reader;
  let key: Promise<Buffer> | undefined;
  // Settings that did not change keep their identity, by which passes compare.
  const keyed = new WeakMap<DesiredServer, DesiredServer>();
  return {
    ...reader,
    async read(now, scope) {
      const reading = await reader.read(now, scope);
      const present = await (key ??= loaded(load(), clock));
      const of = (generation: string): string =>
        createHmac('sha256', present).update(generation).digest('hex');
      const servers = reading.settings.servers.map((desired) => {
        const known = keyed.get(desired);
        if (known !== undefined) return known;
        const { generation } = desired;
        const made = { ...desired, generation: of(generation), specDigest: generation };
        keyed.set(desired, made);
        return made;
      });
      const specs = [...reading.specs].map(([generation, spec]) => [of(generation), spec] as const);
      return {
        ...reading,
        settings: { ...reading.settings, servers },
        specs: new Map(specs),
      };
    },
  };
}

async function loaded(key: Promise<Buffer>, clock: Clock): Promise<Buffer> {
  return (await waitAtMost(clock, loadMs, key)) ?? randomBytes(32);
}
