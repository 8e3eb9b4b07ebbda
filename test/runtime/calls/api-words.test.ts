import { describe, expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../../src/index.ts';
import { apiWords } from '../../../src/runtime/errors/api-words.ts';
import {
  ambiguousAlias,
  changedOffer,
  changedTool,
  outOfTime,
  shuttingDown,
  unknownServer,
  unknownTool,
} from '../../../src/runtime/errors/refused.ts';

const command = /(?<!The )\btroupe [a-z]+(?: |$)|--\w/u;

describe('an error that a program gets', () => {
  it('names methods instead of commands', async () => {
    const troupe = createTroupe({ bare: true, settings: { mcpServers: {} } });
    onTestFinished(() => troupe.stop());
    await troupe.ready();
    const calling = troupe.callServerTool('db', 'query', {}).catch((error: unknown) => error);
    const message = 'There is no server db. List what is there: troupe.snapshot()';
    const error = await calling;
    expect(error).toMatchObject({ code: 'SERVER_UNKNOWN', message });
    expect((error as Error).stack).toContain(message);
    expect(() => troupe.send({ type: 'server.start', server: 'db' })).toThrow(message);
  });

  it.each([
    shuttingDown('db'),
    outOfTime('db', { state: 'connecting' }),
    unknownServer('db', [], [], []),
    unknownServer('db', [], ['db'], []),
    unknownTool('x', []),
    unknownTool('x', [], 'db'),
    changedTool('db', 'x'),
    changedOffer('db', 'prompt x'),
    ambiguousAlias('x', []),
  ])('has no command in its sentence: $message', ({ message }) => {
    expect(message).toMatch(command);
    expect(apiWords(message)).not.toMatch(command);
  });

  it.each([
    ['start', "troupe.send({ type: 'server.start', server: 'db' })"],
    ['restart', "troupe.send({ type: 'server.restart', server: 'db' })"],
    ['status', "troupe.status('db')"],
    ['login', "troupe.login('db')"],
    ['approve', 'decide with troupe.approvals() and troupe.send()'],
    ['enable', 'enable db in its settings'],
  ])('replaces the next step %s', (name, step) => {
    expect(apiWords(`Server db is not there. Next: troupe ${name} db`)).toBe(
      `Server db is not there. Next: ${step}`,
    );
  });
});
