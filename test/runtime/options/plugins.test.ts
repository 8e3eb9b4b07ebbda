import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import { type Stage, servers, stage } from '../stage.ts';

const db = servers({ db: 'srv' });

async function tell(there: Stage, event: HostEvent): Promise<void> {
  there.troupe.send(event);
  await there.settle();
}

describe('plugins', () => {
  it('provide servers as an object or a file', async () => {
    const there = await stage({
      plugins: [
        { plugin: 'tools', settings: servers({ lint: 'lint', bad: { command: 7 } }) },
        { plugin: 'more', file: 'more.json' },
      ],
    });
    expect(there.stateOf('plugin:tools:lint')).toBe('ready');
    expect(there.troupe.status('plugin:tools:bad')?.action).toBe('fix plugin tools');
    expect(there.troupe.snapshot().troupe.problems).toMatchObject([{ file: '/project/more.json' }]);
    there.files.write('/project/more.json', servers({ db: 'srv' }));
    await there.advance(300);
    expect(there.stateOf('plugin:more:db')).toBe('ready');
    expect(there.troupe.snapshot().troupe.problems).toEqual([]);
  });

  it.each([
    [[{ plugin: 'a:b', file: 'x' }]],
    [[{ plugin: 'a' }]],
    [[{ plugin: 'a', file: 'x', settings: {} }]],
  ])('are rejected when invalid: %j', async (plugins) => {
    await expect(stage({ plugins })).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const there = await stage();
    expect(() => there.troupe.send({ type: 'plugins.changed', plugins })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENTS' }),
    );
  });

  const lint = { plugin: 'tools', settings: servers({ lint: 'lint' }) };
  const names = (there: Stage) => there.troupe.snapshot().servers.map(({ name }) => name);

  it('are added and removed while the troupe runs, without a restart of other servers', async () => {
    const there = await stage({ settings: db, plugins: [lint] });
    there.files.write('/project/more.json', servers({ web: 'web' }));
    const more = { plugin: 'more', file: 'more.json' };
    await tell(there, { type: 'plugins.changed', plugins: [lint, more] });
    expect(there.stateOf('plugin:more:web')).toBe('ready');
    there.files.write('/project/more.json', servers({ api: 'api' }));
    await there.advance(300);
    expect(there.stateOf('plugin:more:api')).toBe('ready');
    expect(names(there)).not.toContain('plugin:more:web');
    await tell(there, { type: 'plugins.changed', plugins: [more] });
    expect(names(there).toSorted()).toEqual(['db', 'plugin:more:api']);
    await tell(there, { type: 'plugins.changed', plugins: [] });
    // At most four readings a second.
    await there.advance(1_000);
    expect(names(there)).toEqual(['db']);
    expect(there.sessions.scripts.filter(({ input }) => input.server === 'db')).toHaveLength(1);
  });

  it('give way to other layers when they are added later', async () => {
    const there = await stage({ settings: db, managedSettings: servers({ ours: 'ours' }) });
    await tell(there, { type: 'plugins.changed', plugins: [lint] });
    expect(there.stateOf('plugin:tools:lint')).toBe('blocked.notAllowed');
    const other = await stage({ settings: db });
    const same = { plugin: 'tools', settings: servers({ copy: 'srv' }) };
    await tell(other, { type: 'plugins.changed', plugins: [same] });
    expect(other.stateOf('db')).toBe('ready');
    expect(other.stateOf('plugin:tools:copy')).not.toBe('ready');
  });

  it('keep a server that moves from an object to a file while settings are read', async () => {
    const there = await stage({ settings: db, plugins: [lint] });
    there.files.write('/project/lint.json', servers({ lint: 'lint' }));
    there.files.onRead = () => {
      there.files.onRead = undefined;
      const plugins = [{ plugin: 'tools', file: 'lint.json' }];
      there.troupe.send({ type: 'plugins.changed', plugins });
    };
    await tell(there, { type: 'settings.reload' });
    await there.advance(1_000);
    expect(there.stateOf('plugin:tools:lint')).toBe('ready');
    const sessions = there.sessions.scripts.filter(({ input }) => input.server.endsWith(':lint'));
    expect(sessions).toHaveLength(1);
  });

  it('keep the last good settings when a change is invalid', async () => {
    const there = await stage({ plugins: [lint] });
    const plugins = [{ plugin: 'tools', settings: { mcpServers: [] } }];
    await tell(there, { type: 'plugins.changed', plugins });
    expect(there.stateOf('plugin:tools:lint')).toBe('ready');
    expect(there.troupe.snapshot().troupe.problems).toMatchObject([{ file: 'plugin tools' }]);
  });
});
