/** The clients that a troupe opens: what each has of its own, what they share, and how they end. */

import { describe, expect, it } from 'vitest';
import {
  createScriptedTroupe,
  type ScriptedTroupeOptions,
} from '../../../src/testing/scripted-troupe.ts';

async function start(options: ScriptedTroupeOptions = {}) {
  const scripted = createScriptedTroupe({
    settings: { mcpServers: { db: { command: 'db' }, web: { command: 'web' } } },
    ...options,
  });
  await scripted.settle();
  return scripted;
}

const namesIn = (troupe: { snapshot(): { servers: readonly { name: string; state: string }[] } }) =>
  troupe.snapshot().servers.map(({ name, state }) => `${name} ${state}`);

describe('a client of a troupe', () => {
  it('reads the same settings, within its own bound', async () => {
    const scripted = await start({ allow: ['db', 'web'] });
    const { troupe } = scripted;
    const client = troupe.openClient({ name: 'agent', allow: ['web', 'mail'] });
    await scripted.settle();
    expect(namesIn(client)).toEqual(['db blocked', 'web connecting']);
    expect(client.status('db')).toMatchObject({ reason: 'notAllowed' });
    expect(namesIn(troupe)).toEqual(['db connecting', 'web connecting']);
  });

  it('cannot widen the bound or the trust of the troupe', async () => {
    const scripted = await start({
      allow: ['db'],
      trusted: false,
      projectSettings: { mcpServers: { theirs: { command: 'x' } } },
    });
    const { troupe } = scripted;
    const client = troupe.openClient({ name: 'agent', allow: ['web', 'theirs'], trusted: true });
    await scripted.settle();
    expect(namesIn(client)).toEqual(['db blocked', 'theirs blocked', 'web blocked']);
  });

  it('stops alone', async () => {
    const scripted = await start();
    const { troupe } = scripted;
    const client = troupe.openClient({ name: 'agent' });
    await scripted.settle();
    client.send({ type: 'troupe.stop' });
    await scripted.settle();
    expect([client.snapshot().troupe.state, troupe.snapshot().troupe.state]).toEqual([
      'stopping',
      'starting',
    ]);
  });

  it('stops at its deadline', async () => {
    const scripted = await start();
    const { troupe } = scripted;
    const client = troupe.openClient({ name: 'agent', deadlineMs: 60_000 });
    await scripted.settle();
    await scripted.advance(59_999);
    expect(client.snapshot().troupe.state).toBe('running');
    await scripted.advance(1);
    expect(client.snapshot().troupe.state).not.toBe('running');
    expect(troupe.snapshot().troupe.state).toBe('running');
  });

  it('stops with the troupe, after which none can be opened', async () => {
    const scripted = await start();
    const { troupe } = scripted;
    const client = troupe.openClient({ name: 'agent' });
    await scripted.settle();
    troupe.send({ type: 'troupe.stop' });
    expect(client.snapshot().troupe.state).not.toBe('running');
    expect(() => troupe.openClient({ name: 'late' })).toThrow(
      expect.objectContaining({ code: 'SHUTTING_DOWN' }),
    );
  });

  it.each([
    [{ name: '' }, 'The name of the client must be a non-empty string.'],
    [{ name: 'a', deadlineMs: 0 }, '"deadlineMs" must be a number of milliseconds above 0.'],
    [{ name: 'a', alow: [] }, 'createTroupe has no option alow.'],
  ])('is refused with %j', async (options, message) => {
    const { troupe } = await start();
    expect(() => troupe.openClient(options)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENTS',
        message: expect.stringContaining(message),
      }),
    );
  });
});
