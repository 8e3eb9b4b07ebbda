import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installationKey } from '../../../actors/stores/installation-key.ts';
import { createTroupe } from '../../../src/index.ts';
import { fingerprintOf } from '../../../src/policies/fingerprint.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'installation-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const file = (): string => path.join(folder, 'state', 'installation.key');
const keyNow = async () =>
  (await installationKey(path.join(folder, 'state'), realClock)).toString('hex');

describe("the installation's key", () => {
  it('is private and identical for concurrent and later starts', async () => {
    const keys = new Set(await Promise.all(Array.from({ length: 8 }, keyNow)));
    expect([...keys]).toEqual([await keyNow()]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file()))).toEqual(['installation.key']);
  });

  it('is random without a usable folder', async () => {
    const stateless = [
      await installationKey(undefined, realClock),
      await installationKey(undefined, realClock),
    ];
    expect(stateless[0]).not.toEqual(stateless[1]);
    writeFileSync(path.join(folder, 'state'), '');
    expect(await keyNow()).not.toBe(await keyNow());
  });

  it('is ignored when other users could read it, and replaced when damaged', async () => {
    const first = await keyNow();
    chmodSync(file(), 0o644);
    expect(await keyNow()).not.toBe(first);
    chmodSync(file(), 0o600);
    expect(await keyNow()).toBe(first);
    writeFileSync(file(), 'no key', { mode: 0o600 });
    // Concurrent starts set it aside once, and agree on the next one.
    const [next = '', ...others] = await Promise.all(Array.from({ length: 4 }, keyNow));
    expect(next).not.toBe(first);
    expect([...others, await keyNow()]).toEqual([next, next, next, next]);
    expect(readdirSync(path.dirname(file()))).toHaveLength(2);
  });
});

describe('a displayed generation', () => {
  const spec = { command: 'no-such-command', args: [], env: { PIN: '1234' } };

  async function shownBy(stateDir: string): Promise<string> {
    const settings = { mcpServers: { db: { ...spec, startup: 'lazy' } } };
    const troupe = createTroupe({ bare: true, projectRoot: folder, stateDir, settings });
    await troupe.waitFor('db', 'dormant');
    const generation = troupe.status('db')?.generation ?? '';
    await troupe.stop();
    return generation;
  }

  it('differs between installations, is stable within one and is not a hash of the settings', async () => {
    const [here, again, there] = [
      await shownBy(path.join(folder, 'one')),
      await shownBy(path.join(folder, 'one')),
      await shownBy(path.join(folder, 'two')),
    ];
    expect(again).toBe(here);
    expect(there).not.toBe(here);
    const plain = fingerprintOf({ ...spec, type: 'stdio', cwd: folder, era: 'auto' });
    expect([here, there]).not.toContain(plain);
    expect(here).toMatch(/^[0-9a-f]{64}$/u);
  });
});
