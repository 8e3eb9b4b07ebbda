/** A process that writes before its session is ready to read, and one that never started. */

import { describe, expect, it } from 'vitest';

import { StdioTransport } from '../../../../actors/transports/stdio/transport.ts';
import { realClock } from '../../../../src/runtime/real-clock.ts';
import { silentEvents } from '../../../fixtures/silent-input.ts';

describe('a process that writes before the transport starts', () => {
  it('has all its messages delivered, in order', async () => {
    const message = (method: string): string => `{"jsonrpc":"2.0","method":"${method}"}\\n`;
    let hearNoise: () => void = () => {};
    const noise = new Promise<void>((resolve) => {
      hearNoise = resolve;
    });
    const events = { ...silentEvents, remark: () => hearNoise() };
    const launch = {
      command: 'sh',
      // Message and noise in one piece, so that the noise proves that the message was read.
      args: [
        '-c',
        `printf '${message('first')}noise\\n'; read go; printf '${message('second')}'; cat`,
      ],
      env: { PATH: process.env['PATH'] ?? '' },
      cwd: '/tmp',
    };
    const transport = new StdioTransport(launch, {
      clock: realClock,
      events,
      secrets: [],
      policy: () => {
        throw new Error('asked for when it closes in good order only');
      },
    });
    try {
      await transport.launch();
      await noise;
      const heard: unknown[] = [];
      const both = new Promise<void>((resolve) => {
        transport.onmessage = (heardNow) => {
          heard.push('method' in heardNow ? heardNow.method : heardNow);
          if (heard.length === 2) resolve();
        };
      });
      await transport.start();
      expect(heard).toEqual(['first']);
      await transport.send({ jsonrpc: '2.0', method: 'go' });
      await both;
      expect(heard).toEqual(['first', 'second']);
    } finally {
      transport.dispose();
    }
  });
});

describe('a process that could not be started', () => {
  it('is reported by the error of its start alone, not as broken off', async () => {
    const heard: string[] = [];
    const of = (command: string, args: readonly string[], onBroken = () => {}) =>
      new StdioTransport(
        { command, args, env: { PATH: process.env['PATH'] ?? '' }, cwd: '/tmp' },
        {
          clock: realClock,
          events: {
            ...silentEvents,
            broke: () => {
              heard.push(command);
              onBroken();
            },
          },
          secrets: [],
          policy: () => {
            throw new Error('asked for when it closes in good order only');
          },
        },
      );
    const missing = of('no-such-command', []);
    await expect(missing.launch()).rejects.toMatchObject({ code: 'ENOENT' });
    // The pipes of the one end before those of the other.
    await new Promise<void>((resolve) => {
      const closed = of('sh', ['-c', 'exec 1>&-; read line'], () => {
        closed.dispose();
        resolve();
      });
      void closed.launch();
    });
    missing.dispose();
    expect(heard).toEqual(['sh']);
  });
});
