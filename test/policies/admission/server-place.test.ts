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

describe('the place of a server', () => {
  it('is that of the settings', () => {
    expect(placeOf(settings, 'db')).toBe(0);
    expect(placeOf(settings, 'api')).toBe(1);
  });

  it('is behind all others when the settings do not name it, or are not read yet', () => {
    expect(placeOf(settings, 'gone')).toBe(Number.MAX_SAFE_INTEGER);
    expect(placeOf(null, 'db')).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('is computed again for other settings', () => {
    const turned = { ...settings, servers: settings.servers.toReversed() };
    expect(placeOf(turned, 'api')).toBe(0);
    expect(placeOf(settings, 'api')).toBe(1);
  });
});
