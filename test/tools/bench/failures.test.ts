import { describe, expect, it } from 'vitest';
import { watched } from '../../bench/failures.ts';

describe('watched children', () => {
  it('hand their answers on and are no failures', async () => {
    const { child, failures } = watched(() => Promise.resolve({ time: 1 }));
    expect(await child('walk', { contender: 'ours' }, 1_000)).toEqual({ time: 1 });
    expect(failures()).toEqual([]);
  });

  it('are counted by work and contender when they give no answer', async () => {
    const { child, failures } = watched((work) =>
      Promise.resolve(work === 'lost' ? undefined : null),
    );
    expect(await child('walk', { contender: 'ours' }, 1_000)).toBeNull();
    await child('walk', { contender: 'ours' }, 1_000);
    await child('lost', { contender: 'hand' }, 1_000);
    await child('run', { servers: {} }, 1_000);
    expect(failures()).toEqual(['walk, ours: 2 failed', 'lost, hand: 1 failed', 'run: 1 failed']);
  });
});
