import { describe, expect, it } from 'vitest';
import { RunOnce } from '../../src/adapters/run-once.ts';

describe('calls that run once', () => {
  it('return the first answer to a repeated call, even while it runs', async () => {
    const once = new RunOnce<number>(() => -1);
    let runs = 0;
    const start = async () => {
      runs += 1;
      return runs;
    };
    expect(await Promise.all([once.run('a', start), once.run('a', start)])).toEqual([1, 1]);
    expect(await once.run('b', start)).toBe(2);
    expect(await once.run('a', start)).toBe(1);
  });

  it('drop old answers at a limit but still run only once', async () => {
    const once = new RunOnce<string>(() => 'forgotten');
    const first = await once.run('first', async () => 'kept');
    for (let count = 0; count < 128; count += 1) await once.run(String(count), async () => 'x');
    expect(first).toBe('kept');
    expect(await once.run('first', async () => 'ran twice')).toBe('forgotten');
    expect(await once.run('0', async () => 'ran twice')).toBe('x');
  });
});
