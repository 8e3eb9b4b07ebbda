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
