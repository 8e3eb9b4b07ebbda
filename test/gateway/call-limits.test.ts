import { describe, expect, it } from 'vitest';
import { pong, servers } from '../runtime/stage.ts';
import { gatewayStage, join, lines } from './gateway-stage.ts';

describe('a limit for each client', () => {
  it.each(lines)('counts a client by the name that it sent: %s', async (line) => {
    const limits = { perClientPerMinute: 1 };
    const stage = await gatewayStage({ settings: servers({ db: { command: 'db', limits } }) });
    const called = async (client: Awaited<ReturnType<typeof join>>) => {
      const made = client.call('db__query');
      (await stage.nextCall('db')).answer(pong);
      return made;
    };
    const client = await join(stage, line);
    expect((await called(client)).isError).not.toBe(true);
    const refused = await client.call('db__query');
    expect(JSON.stringify(refused)).toContain('RATE_LIMITED');
    const other = await join(stage, line === 'old line' ? 'modern' : 'old line');
    expect((await called(other)).isError).not.toBe(true);
    expect(stage.sessions.of('db').calls).toHaveLength(2);
  });
});
