import { describe, expect, it } from 'vitest';
import { Abort, type Abortable } from '../../../actors/host/abort.ts';

/** A signal, and what aborts it. */
const kinds: readonly (readonly [
  string,
  () => { signal: Abortable; abort: (why: Error) => void },
])[] = [
  [
    'ours',
    () => {
      const signal = new Abort();
      return { signal, abort: (why) => signal.abort(why) };
    },
  ],
  [
    "Node's",
    () => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: (why) => controller.abort(why) };
    },
  ],
];

describe.each(kinds)('an abort of %s', (_, create) => {
  it('calls each listener once, with the reason in the signal', () => {
    const { signal, abort } = create();
    const heard: unknown[] = [];
    signal.addEventListener('abort', () => heard.push(signal.reason));
    const removed = (): unknown => heard.push('removed');
    signal.addEventListener('abort', removed);
    signal.removeEventListener('abort', removed);
    signal.removeEventListener('abort', removed);
    signal.throwIfAborted();
    const why = new Error('enough');
    abort(why);
    abort(new Error('again'));
    expect([signal.aborted, heard]).toEqual([true, [why]]);
    expect(() => signal.throwIfAborted()).toThrow(why);
  });

  it('calls no listener that is added later', () => {
    const { signal, abort } = create();
    abort(new Error('enough'));
    let count = 0;
    signal.addEventListener('abort', () => {
      count += 1;
    });
    expect(count).toBe(0);
  });
});
