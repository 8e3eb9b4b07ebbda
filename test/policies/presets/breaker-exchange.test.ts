import { describe, expect, it } from 'vitest';
import { readyUnder } from './preset-story.ts';

const exchanging = { threshold: 3, action: 'reconnect' } as const;

describe("a session-replacing breaker under the default preset's limits", () => {
  it('suspends the server when replacements amount to a reconnect storm', () => {
    const server = readyUnder('default', 'http', { breaker: exchanging });
    for (let exchange = 1; exchange <= 4; exchange += 1) {
      server.failCalls(3);
      server.story.sessions.of('db').closed();
      server.serve();
      expect([exchange, server.state()]).toEqual([exchange, 'ready']);
      server.story.clock.advanceBy(7_000);
    }
    server.failCalls(3);
    server.story.sessions.of('db').closed();
    expect(server.state()).toBe('suspended reconnectStorm');
    expect(server.untilNextTry()).toBe(false);
    expect(server.story.snapshotOf('db.0').context.lastError?.message).toContain(
      'Calls kept failing',
    );
  });

  it('keeps the server running when replacements are further apart', () => {
    const server = readyUnder('default', 'http', { breaker: exchanging });
    for (let exchange = 1; exchange <= 20; exchange += 1) {
      server.failCalls(3);
      server.story.sessions.of('db').closed();
      server.serve();
      server.story.clock.advanceBy(7_500);
    }
    expect([server.state(), server.sessions()]).toEqual(['ready', 21]);
  });
});
