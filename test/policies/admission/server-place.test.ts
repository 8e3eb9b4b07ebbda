import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/domain/settings.ts';
import { placeOf, removedServers } from '../../../src/policies/admission/server-place.ts';
import { desiredServer } from '../desired-server.ts';

const settings: Settings = {
  servers: [desiredServer({ name: 'db' }), desiredServer({ name: 'api' })],
  excluded: [],
  slots: { local: 3, remote: 20 },
  startupGateMs: 250,
  problems: [],
};

describe("a server's position", () => {
  it('follows the settings order', () => {
    expect(placeOf(settings, 'db')).toBe(0);
    expect(placeOf(settings, 'api')).toBe(1);
  });

  it('is last when the settings do not name it or have not been read', () => {
    expect(placeOf(settings, 'gone')).toBe(Number.MAX_SAFE_INTEGER);
    expect(placeOf(null, 'db')).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('is recomputed when the settings change', () => {
    const turned = { ...settings, servers: settings.servers.toReversed() };
    expect(placeOf(turned, 'api')).toBe(0);
    expect(placeOf(settings, 'api')).toBe(1);
  });
});

describe('removed servers', () => {
  const [db, api] = settings.servers;
  const without = { ...settings, servers: settings.servers.slice(1) };

  it('are those whose names the later settings lack', () => {
    expect(removedServers(settings, without)).toEqual([db]);
    expect(removedServers(without, settings)).toEqual([]);
    expect(removedServers(settings, null)).toEqual([db, api]);
  });

  it('are none at the first settings, or when nothing changed', () => {
    expect(removedServers(null, settings)).toEqual([]);
    expect(removedServers(settings, settings)).toEqual([]);
  });

  it('are none after an edit or a move, even if no place was looked up before', () => {
    for (const before of [{ ...settings }, without]) {
      const servers = before.servers.map(({ name }) => desiredServer({ name, trust: true }));
      const edited = { ...before, servers };
      expect(removedServers(before, edited)).toEqual([]);
      expect(removedServers(before, edited)).toEqual([]);
      expect(placeOf(edited, 'api')).toBe(servers.length - 1);
      expect(removedServers(edited, { ...edited, servers: servers.toReversed() })).toEqual([]);
    }
    const known = { ...settings };
    expect(placeOf(known, 'api')).toBe(1);
    const edited = { ...settings };
    expect(removedServers(known, edited)).toEqual([]);
    expect(placeOf(edited, 'api')).toBe(1);
  });
});
