import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import { type Stage, servers, stageOf } from '../stage.ts';

const db = servers({ db: 'srv' });

async function tell(stage: Stage, event: HostEvent): Promise<void> {
  stage.troupe.send(event);
  await stage.settle();
}

describe('plugins', () => {
  it('provide servers as an object or a file', async () => {
    const stage = await stageOf({
      plugins: [
        { plugin: 'tools', settings: servers({ lint: 'lint', bad: { command: 7 } }) },
        { plugin: 'more', file: 'more.json' },
      ],
    });
    expect(stage.stateOf('plugin:tools:lint')).toBe('ready');
    expect(stage.troupe.status('plugin:tools:bad')?.action).toBe('fix plugin tools');
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([{ file: '/project/more.json' }]);
    stage.files.write('/project/more.json', servers({ db: 'srv' }));
    await stage.advance(300);
    expect(stage.stateOf('plugin:more:db')).toBe('ready');
    expect(stage.troupe.snapshot().troupe.problems).toEqual([]);
  });

  it.each([
    [[{ plugin: 'a:b', file: 'x' }]],
    [[{ plugin: 'a' }]],
    [[{ plugin: 'a', file: 'x', settings: {} }]],
  ])('are rejected when invalid: %j', async (plugins) => {
    await expect(stageOf({ plugins })).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const stage = await stageOf();
    expect(() => stage.troupe.send({ type: 'plugins.changed', plugins })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENTS' }),
    );
  });

  const lint = { plugin: 'tools', settings: servers({ lint: 'lint' }) };
  const names = (stage: Stage) => stage.troupe.snapshot().servers.map(({ name }) => name);

  it('are added and removed while the troupe runs, without a restart of other servers', async () => {
    const stage = await stageOf({ settings: db, plugins: [lint] });
    stage.files.write('/project/more.json', servers({ web: 'web' }));
    const more = { plugin: 'more', file: 'more.json' };
    await tell(stage, { type: 'plugins.changed', plugins: [lint, more] });
    expect(stage.stateOf('plugin:more:web')).toBe('ready');
    stage.files.write('/project/more.json', servers({ api: 'api' }));
    await stage.advance(300);
    expect(stage.stateOf('plugin:more:api')).toBe('ready');
    expect(names(stage)).not.toContain('plugin:more:web');
    await tell(stage, { type: 'plugins.changed', plugins: [more] });
    expect(names(stage).toSorted()).toEqual(['db', 'plugin:more:api']);
    await tell(stage, { type: 'plugins.changed', plugins: [] });
    // At most four readings a second.
    await stage.advance(1_000);
    expect(names(stage)).toEqual(['db']);
    expect(stage.sessions.scripts.filter(({ input }) => input.server === 'db')).toHaveLength(1);
  });

  it('give way to other layers when they are added later', async () => {
    const stage = await stageOf({ settings: db, managedSettings: servers({ ours: 'ours' }) });
    await tell(stage, { type: 'plugins.changed', plugins: [lint] });
    expect(stage.stateOf('plugin:tools:lint')).toBe('blocked.notAllowed');
    const other = await stageOf({ settings: db });
    const same = { plugin: 'tools', settings: servers({ copy: 'srv' }) };
    await tell(other, { type: 'plugins.changed', plugins: [same] });
    expect(other.stateOf('db')).toBe('ready');
    expect(other.stateOf('plugin:tools:copy')).not.toBe('ready');
  });

  it('keep a server that moves from an object to a file while settings are read', async () => {
    const stage = await stageOf({ settings: db, plugins: [lint] });
    stage.files.write('/project/lint.json', servers({ lint: 'lint' }));
    stage.files.onRead = () => {
      stage.files.onRead = undefined;
      const plugins = [{ plugin: 'tools', file: 'lint.json' }];
      stage.troupe.send({ type: 'plugins.changed', plugins });
    };
    await tell(stage, { type: 'settings.reload' });
    await stage.advance(1_000);
    expect(stage.stateOf('plugin:tools:lint')).toBe('ready');
    const sessions = stage.sessions.scripts.filter(({ input }) => input.server.endsWith(':lint'));
    expect(sessions).toHaveLength(1);
  });

  it('keep the last good settings when a change is invalid', async () => {
    const stage = await stageOf({ plugins: [lint] });
    const plugins = [{ plugin: 'tools', settings: { mcpServers: [] } }];
    await tell(stage, { type: 'plugins.changed', plugins });
    expect(stage.stateOf('plugin:tools:lint')).toBe('ready');
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([{ file: 'plugin tools' }]);
  });
});
