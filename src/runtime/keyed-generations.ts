import { createHmac, randomBytes } from 'node:crypto';
import type { SettingsReader } from '../../actors/settings-reader.ts';
import type { Clock } from '../domain/clock.ts';
import type { DesiredServer } from '../domain/settings.ts';

// A dead network folder must not keep settings from being read.
const loadMs = 1_000;

/**
 * The same settings, with generations that say nothing to those without the key.
 *
 * A generation is shown in every status and record, and would otherwise be the hash of a
 * spec with its literal secrets: equal on every machine for equal secrets, and good enough
 * to test a guess. Approvals keep binding to the plain hash, which is not shown.
 *
 * @param load - the key; one that comes too late is replaced by a random one for the whole run
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
      const present = await (key ??= withinPatience(load(), clock));
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

async function withinPatience(key: Promise<Buffer>, clock: Clock): Promise<Buffer> {
  let timer: unknown;
  const patience = new Promise<Buffer>((resolve) => {
    timer = clock.setTimeout(() => resolve(randomBytes(32)), loadMs);
  });
  const found = await Promise.race([key, patience]);
  clock.clearTimeout(timer);
  return found;
}
