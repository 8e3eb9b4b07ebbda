import { describe, expect, it } from 'vitest';
import { createScriptedTroupe } from '../../src/testing/index.ts';

const settings = { mcpServers: { db: { command: 'db-server' } } };

describe('a scripted session that is not there', () => {
  it('suggests to settle before the troupe has started any', () => {
    const { sessions } = createScriptedTroupe({ settings });
    expect(() => sessions.of('db')).toThrow('await settle() before sessions.of()');
  });

  it('suggests the name that was meant, or lists the started ones', async () => {
    const script = createScriptedTroupe({ settings });
    await script.settle();
    const { sessions } = script;
    expect(() => sessions.of('dbb')).toThrow('No session of "dbb" was started. Did you mean db?');
    expect(() => sessions.of('web')).toThrow('Started are: db.');
  });
});

describe('a scripted session that is suspected', () => {
  async function suspected() {
    const script = createScriptedTroupe({
      settings: { mcpServers: { web: { url: 'https://mcp.example/' } } },
    });
    await script.settle();
    const session = script.sessions.of('web');
    session.open();
    session.list([{ name: 'query', inputSchema: { type: 'object' } }]);
    await script.settle();
    const call = script.troupe.callServerTool('web', 'query', {}).catch(() => 'failed');
    await script.settle();
    session.doubt();
    expect(session.commands.at(-1)).toBe('session.probe');
    return { script, session, call };
  }

  it('is lost by its silence once no call keeps it busy', async () => {
    const { script, session, call } = await suspected();
    await script.advance(5_000);
    expect([session.commands.includes('session.abandon'), session.state]).toEqual([true, 'open']);
    session.calls[0]?.answer({ content: [] });
    await call;
    await script.advance(5_000);
    expect(session.state).toBe('over');
  });

  it('is lost with its call when its health check fails', async () => {
    const { script, session, call } = await suspected();
    session.probed('none', { kind: 'transport', message: 'The connection was refused.' });
    await script.advance(0);
    expect(session.state).toBe('over');
    await script.advance(600_000);
    expect(await call).toBe('failed');
  });
});
