import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runChild } from '../../lab/run-child.ts';

const file = fileURLToPath(new URL('../../bench/child.ts', import.meta.url));

// A process that loads the sources through tsx takes seconds on a busy machine.
const timeout = 60_000;

describe('runChild()', () => {
  it('reports a process that ends without an answer', { timeout }, async () => {
    const node = ['--import', 'data:text/javascript,console.error("a bug");process.exit(7)'];
    const end = await runChild({ file, task: {}, limitMs: 30_000, node, isQuiet: true });
    expect(end).toEqual({ answer: undefined, problems: ['the process ended with 7: a bug'] });
  });

  it('kills a process that does not answer in time', { timeout }, async () => {
    const node = [
      '--import',
      'data:text/javascript,setInterval(()=>{},1000);await new Promise(()=>{})',
    ];
    const end = await runChild({ file, task: {}, limitMs: 500, node, isQuiet: true });
    expect(end).toEqual({ answer: undefined, problems: ['it did not end within 0.5 s'] });
  });
});
