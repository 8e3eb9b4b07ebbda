import type { DesiredServer } from '../../src/domain/settings.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';

/** A server of the user's own settings that nothing is wrong with, changed as the test needs it. */
export function desiredServer(change: Partial<DesiredServer> = {}): DesiredServer {
  return {
    name: 'db',
    generation: 'g1',
    transport: 'stdio',
    enabled: true,
    startup: 'eager',
    trust: false,
    tools: { include: ['*'], exclude: [] },
    policy: defaultPolicy,
    source: { key: 'db', scope: 'user' },
    gated: false,
    ...change,
  };
}
