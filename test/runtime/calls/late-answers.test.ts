import { describe, expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../../src/index.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const fixture = new URL('../../fixtures/stdio-server.mjs', import.meta.url).pathname;

/** Two servers that want one input, whose answer the test gives. */
async function start() {
  const clock = new VirtualClock();
  const questions: ((value: string | undefined) => void)[] = [];
  const entry = { command: process.execPath, args: [fixture], env: { TOKEN: '${input:token}' } };
  const policy = { startup: { maxAttempts: 1 } };
  const settings = {
    mcp: { policy },
    inputs: [{ id: 'token', type: 'promptString', password: true }],
    mcpServers: { one: entry, two: entry },
  };
  const troupe = createTroupe({
    clock,
    settings,
    // Ignores the signal, like a dialog that stays open.
    inputs: () => new Promise((resolve) => questions.push(resolve)),
  });
  onTestFinished(async () => {
    const ended = troupe.stop();
    await clock.advanceAndSettle(10_000);
    await ended;
  });
  const starts: string[] = [];
  troupe.on('status.changed', ({ status: { name, state } }) => {
    if (state === 'connecting') starts.push(name);
  });
  return { clock, troupe, questions, starts };
}

const stateOf = ({ troupe }: Awaited<ReturnType<typeof start>>, server: string) =>
  troupe.status(server)?.state;

/** Both have run into the deadline of their only try. */
async function givenUp() {
  const there = await start();
  await there.troupe.waitFor('one', 'connecting');
  await there.troupe.waitFor('two', 'connecting');
  await there.clock.advanceAndSettle(31_000);
  await Promise.all([there.troupe.waitFor('one', 'failed'), there.troupe.waitFor('two', 'failed')]);
  expect(there.questions).toHaveLength(1);
  there.starts.length = 0;
  return there;
}

describe('an input that arrives after servers gave up', () => {
  it.each([
    ['while the question is open', 0],
    ['once no server is waiting for it', 120_000],
  ])('starts each server once, %s', async (_, pauseMs) => {
    const there = await givenUp();
    const { clock, troupe, questions, starts } = there;
    await clock.advanceAndSettle(pauseMs);
    expect(starts).toEqual([]);
    questions[0]?.('late-token');
    await Promise.all([troupe.waitFor('one', 'ready'), troupe.waitFor('two', 'ready')]);
    expect(starts.toSorted()).toEqual(['one', 'two']);
    expect(questions).toHaveLength(1);
  });

  it('does not start a stopped or blocked server', async () => {
    const there = await givenUp();
    const { clock, troupe, questions, starts } = there;
    troupe.addServer('three', { command: process.execPath, args: [fixture] });
    troupe.send({ type: 'server.stop', server: 'one' });
    troupe.send({ type: 'allow.changed', allowed: ['one', 'three'] });
    await clock.advanceAndSettle(0);
    expect([stateOf(there, 'one'), stateOf(there, 'two')]).toEqual(['stopped', 'blocked']);
    questions[0]?.('late-token');
    await troupe.waitFor('three', 'ready');
    expect(starts).toEqual(['three']);
    expect([stateOf(there, 'one'), stateOf(there, 'two')]).toEqual(['stopped', 'blocked']);
  });

  it('starts no server when the value is missing', async () => {
    const there = await givenUp();
    there.questions[0]?.(undefined);
    await there.clock.advanceAndSettle(1_000);
    expect(there.starts).toEqual([]);
    expect(stateOf(there, 'one')).toBe('failed');
  });
});
