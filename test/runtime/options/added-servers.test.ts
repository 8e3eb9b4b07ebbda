import { describe, expect, it } from 'vitest';
import { remote, servers, stageOf } from '../stage.ts';

const db = servers({ db: 'srv' });

describe('servers added one by one', () => {
  it('take one pass and no file read, however many are added at once', async () => {
    const stage = await stageOf({ settings: db });
    const reads: string[] = [];
    stage.files.onRead = (file) => reads.push(file);
    let passCount = 0;
    stage.troupe.on('reconciled', () => {
      passCount += 1;
    });
    const names = Array.from({ length: 20 }, (_, index) => `extra${index}`);
    for (let edit = 1; edit <= 1_000; edit += 1) {
      const args = [`${edit}`];
      stage.troupe.addServer(`extra${edit % 20}`, { command: 'x', args, enabled: edit > 999 });
    }
    await stage.settle();
    // The last edit wins.
    expect(stage.stateOf('extra0')).toBe('ready');
    expect(stage.stateOf('extra19')).toBe('disabled');
    expect(passCount).toBe(1);
    for (const name of names) stage.troupe.removeServer(name);
    await stage.advance(1_000);
    expect(stage.troupe.snapshot().servers.map(({ name }) => name)).toEqual(['db']);
    expect(reads).toEqual([]);
    // An edit that falls together with one of them is seen all the same.
    stage.files.write('/project/troupe.json', servers({ web: remote }));
    stage.troupe.addServer('extra', { command: 'x' });
    await stage.advance(2_000);
    expect(stage.stateOf('web')).toBe('ready');
    expect(stage.stateOf('extra')).toBe('ready');
  });

  it.each([
    [{ command: 'x', idleStopMs: Number.NaN }, 'Here idleStopMs is NaN.'],
    [{ command: 'x', env: new Map([['A', '1']]) }, 'Here env is a Map.'],
    ['npx', 'must be plain data'],
  ])('are refused with what JSON cannot hold: %#', async (entry, words) => {
    const stage = await stageOf({ settings: db });
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENTS' });
    const add = (): void => stage.troupe.addServer('extra', entry as never);
    expect(add).toThrow(refusal);
    expect(add).toThrow(words);
  });

  it('cannot be added to a troupe that has stopped', async () => {
    const stage = await stageOf({ settings: db });
    const ended = stage.troupe.stop();
    await stage.settle();
    await ended;
    const refusal = expect.objectContaining({ code: 'SHUTTING_DOWN' });
    expect(() => stage.troupe.addServer('extra', { command: 'x' })).toThrow(refusal);
    expect(() => stage.troupe.removeServer('extra')).toThrow(refusal);
  });
});
