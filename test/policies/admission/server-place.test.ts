import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/domain/settings.ts';
import { placeOf } from '../../../src/policies/admission/server-place.ts';
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
