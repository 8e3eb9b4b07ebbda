import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { keepRunning } from '../../scripts/example-server.ts';

describe("the examples' HTTP server", () => {
  const kept = () => {
    const said: string[] = [];
    const started: EventEmitter[] = [];
    const due: { readonly run: () => void; readonly ms: number }[] = [];
    const server = keepRunning({
      start: () => {
        const process = new EventEmitter();
        started.push(process);
        return process;
      },
      say: (line) => void said.push(line),
      later: (run, ms) => void due.push({ run, ms }),
    });
    return { server, said, started, due };
  };

  it('restarts one second after it exits and reports the restart in one line', () => {
    const { server, said, started, due } = kept();
    started[0]?.emit('exit');
    expect(said).toEqual(['the example HTTP server ended; starting it again (1 of 5)']);
    expect(started).toHaveLength(1);
    expect(due.map(({ ms }) => ms)).toEqual([1_000]);
    due[0]?.run();
    expect(started).toHaveLength(2);
    expect(server.current()).toBe(started[1]);
  });

  it('stays stopped after five restarts', () => {
    const { said, started, due } = kept();
    for (let end = 0; end < 6; end += 1) {
      started.at(-1)?.emit('exit');
      due[end]?.run();
    }
    expect(started).toHaveLength(6);
    expect(said.at(-1)).toMatch(/ended 6 times and stays ended; run npm start again/);
  });

  it('stays stopped when the start script exits', () => {
    const { server, said, started } = kept();
    server.end();
    started[0]?.emit('exit');
    expect(started).toHaveLength(1);
    expect(said).toEqual([]);
  });

  it('does not restart when the start script exits meanwhile', () => {
    const { server, started, due } = kept();
    started[0]?.emit('exit');
    server.end();
    due[0]?.run();
    expect(started).toHaveLength(1);
  });
});
