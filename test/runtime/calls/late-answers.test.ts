import { describe, expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../../src/index.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const fixture = new URL('../../fixtures/stdio-server.mjs', import.meta.url).pathname;

/** Two servers that want one input, whose answer the test gives. */
async function start(startup: object = { maxAttempts: 1 }, canAsk = true) {
  const clock = new VirtualClock();
  const questions: ((value: string | undefined) => void)[] = [];
  const entry = { command: process.execPath, args: [fixture], env: { TOKEN: '${input:token}' } };
  const policy = { startup };
  const settings = {
    mcp: { policy },
    inputs: [{ id: 'token', type: 'promptString', password: true }],
    mcpServers: { one: entry, two: entry },
  };
  const troupe = createTroupe({
    clock,
    settings,
    // Ignores the signal, like a dialog that stays open.
    ...(canAsk && {
      inputs: () => new Promise<string | undefined>((resolve) => questions.push(resolve)),
    }),
  });
  onTestFinished(async () => {
    const ended = troupe.stop();
    await clock.advanceAndSettle(10_000);
    await ended;
  });
  const starts: string[] = [];
  const last = new Map<string, string>();
  troupe.on('status.changed', ({ status: { name, state } }) => {
    // A question may change the next step meanwhile.
    if (state === 'connecting' && last.get(name) !== state) starts.push(name);
    last.set(name, state);
  });
  return { clock, troupe, questions, starts };
}

const stateOf = ({ troupe }: Awaited<ReturnType<typeof start>>, server: string) =>
  troupe.status(server)?.state;

/** Both have run into the deadline of their only try. */
async function givenUp() {
  const stage = await start();
  await stage.troupe.waitFor('one', 'connecting');
  await stage.troupe.waitFor('two', 'connecting');
  await stage.clock.advanceAndSettle(31_000);
  await Promise.all([stage.troupe.waitFor('one', 'failed'), stage.troupe.waitFor('two', 'failed')]);
  expect(stage.questions).toHaveLength(1);
  stage.starts.length = 0;
  return stage;
}

describe('an input that is asked for', () => {
  it('is the next step of every server that waits for it', async () => {
    const stage = await start();
    const { clock, troupe, questions } = stage;
    await troupe.waitFor('two', 'connecting');
    await clock.advanceAndSettle(0);
    const step = 'enter the input "token" where the troupe runs';
    expect(troupe.status('one')?.action).toBe(step);
    expect(troupe.status('two')?.action).toBe(step);
    questions[0]?.('secret-token');
    await Promise.all([troupe.waitFor('one', 'ready'), troupe.waitFor('two', 'ready')]);
    expect(troupe.status('one')?.action).toBeUndefined();
  });

  it('and not given is not startable at once, however many attempts are left', async () => {
    const { clock, troupe, questions, starts } = await start({});
    await troupe.waitFor('one', 'connecting');
    await clock.advanceAndSettle(0);
    questions[0]?.(undefined);
    const status = await troupe.waitFor('one', 'failed');
    expect(status.reason).toBe('notStartable');
    expect(status.action).toBe(
      'troupe restart one and enter the input "token", or replace it in the host\'s settings',
    );
    await clock.advanceAndSettle(60_000);
    expect(starts.filter((name) => name === 'one')).toHaveLength(1);
    troupe.send({ type: 'server.restart', server: 'one' });
    await troupe.waitFor('one', 'connecting');
    await clock.advanceAndSettle(0);
    questions[1]?.('secret-token');
    await troupe.waitFor('one', 'ready');
  });

  it('where no user can be asked is not startable at once', async () => {
    const { troupe, starts } = await start({}, false);
    const { reason, action } = await troupe.waitFor('one', 'failed');
    expect(reason).toBe('notStartable');
    expect(action).toBe("replace ${input:token} in the host's settings, then troupe restart one");
    expect(starts.filter((name) => name === 'one')).toHaveLength(1);
  });
});

describe('an input that arrives after servers gave up', () => {
  it.each([
    ['while the question is open', 0],
    ['once no server is waiting for it', 120_000],
  ])('starts each server once, %s', async (_, pauseMs) => {
    const stage = await givenUp();
    const { clock, troupe, questions, starts } = stage;
    await clock.advanceAndSettle(pauseMs);
    expect(starts).toEqual([]);
    questions[0]?.('late-token');
    await Promise.all([troupe.waitFor('one', 'ready'), troupe.waitFor('two', 'ready')]);
    expect(starts.toSorted()).toEqual(['one', 'two']);
    expect(questions).toHaveLength(1);
  });

  it('does not start a stopped or blocked server', async () => {
    const stage = await givenUp();
    const { clock, troupe, questions, starts } = stage;
    troupe.addServer('three', { command: process.execPath, args: [fixture] });
    troupe.send({ type: 'server.stop', server: 'one' });
    troupe.send({ type: 'allow.changed', allowed: ['one', 'three'] });
    await clock.advanceAndSettle(0);
    expect([stateOf(stage, 'one'), stateOf(stage, 'two')]).toEqual(['stopped', 'blocked']);
    questions[0]?.('late-token');
    await troupe.waitFor('three', 'ready');
    expect(starts).toEqual(['three']);
    expect([stateOf(stage, 'one'), stateOf(stage, 'two')]).toEqual(['stopped', 'blocked']);
  });

  it('starts no server when the value is missing', async () => {
    const stage = await givenUp();
    stage.questions[0]?.(undefined);
    await stage.clock.advanceAndSettle(1_000);
    expect(stage.starts).toEqual([]);
    expect(stateOf(stage, 'one')).toBe('failed');
  });
});
