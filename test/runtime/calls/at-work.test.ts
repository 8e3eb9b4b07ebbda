import { describe, expect, it } from 'vitest';
import { call, crash, pong, type Stage, servers, stageOf } from '../stage.ts';

// Its tools are remembered for good, so that no timer but those of its life is counted.
const settings = servers({ db: 'srv' }, { policy: { catalog: { ttlMs: null } } });
// Tests let the root's startup gate pass before they count timers.
const startupGateMs = 250;

/** A stage that records, with timestamps, the reports of calls that the chart of `db` gets. */
async function overheard(): Promise<{ readonly stage: Stage; readonly told: string[] }> {
  const told: string[] = [];
  const stage: Stage = await stageOf({
    settings,
    inspect({ type, ...rest }) {
      if (type !== '@xstate.event' || !('event' in rest)) return;
      const { type: name } = rest.event;
      if (name.startsWith('calls.')) told.push(`${stage.clock.now()} ${name}`);
    },
  });
  return { stage, told };
}

async function callOnce(stage: Stage): Promise<void> {
  const made = call(stage, 'db');
  await Promise.resolve();
  stage.sessions.of('db').calls.at(-1)?.answer(pong);
  await made.promise;
}

describe('the server chart', () => {
  it('receives calls.began once for consecutive calls', async () => {
    const { stage, told } = await overheard();
    for (let done = 0; done < 1_000; done += 1) await callOnce(stage);
    await stage.advance(999);
    expect(told).toEqual(['0 calls.began']);
    await stage.advance(1);
    expect(told).toEqual(['0 calls.began', '1000 calls.drained']);
  });

  it('receives calls.drained one second after the last call', async () => {
    const { stage, told } = await overheard();
    for (let done = 0; done < 5; done += 1) {
      await callOnce(stage);
      await stage.advance(700);
    }
    await stage.advance(10_000);
    expect(told).toEqual(['0 calls.began', '3800 calls.drained']);
    await callOnce(stage);
    expect(told.at(-1)).toBe(`${stage.clock.now()} calls.began`);
  });

  it('leads to the number of calls in the records, and the usage counts those since', async () => {
    const { stage } = await overheard();
    stage.troupe.inspection.start();
    for (let done = 0; done < 3; done += 1) await callOnce(stage);
    expect(stage.troupe.inspection.picture()?.calls).toEqual({ db: 1 });
    await stage.advance(2_000);
    expect(stage.troupe.inspection.picture()?.calls).toEqual({ db: 3 });
    const { first, last } = stage.troupe.inspection;
    expect(stage.troupe.inspection.picture(first - 1)?.calls).toBeUndefined();
    expect(stage.troupe.inspection.picture(last)?.calls).toEqual({ db: 3 });
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    await callOnce(stage);
    await callOnce(stage);
    expect(await stage.troupe.usage()).toEqual([{ server: 'db', calls: 5 }]);
  });

  it('does not receive calls.drained while a call runs', async () => {
    const { stage, told } = await overheard();
    await callOnce(stage);
    await stage.advance(500);
    const long = call(stage, 'db');
    await stage.advance(5_000);
    expect(told).toEqual(['0 calls.began']);
    stage.sessions.of('db').calls.at(-1)?.answer(pong);
    await long.promise;
    await stage.advance(1_000);
    expect(told).toEqual(['0 calls.began', '6500 calls.drained']);
  });

  it('receives calls.began again in its next session', async () => {
    const { stage, told } = await overheard();
    await callOnce(stage);
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    await callOnce(stage);
    await stage.advance(1_000);
    expect(told).toEqual(['0 calls.began', '60000 calls.began', '61000 calls.drained']);
  });
});

describe('the wait before calls.drained', () => {
  it('uses one timer and clears it with the session', async () => {
    const { stage } = await overheard();
    await stage.advance(startupGateMs);
    await callOnce(stage);
    const { pendingCount } = stage.clock;
    await callOnce(stage);
    expect(stage.clock.pendingCount).toBe(pendingCount);
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    expect(stage.clock.pendingCount).toBe(0);
  });

  it('ends with the session even while another call runs', async () => {
    const { stage, told } = await overheard();
    await stage.advance(startupGateMs);
    await callOnce(stage);
    const lost = call(stage, 'db');
    await stage.settle();
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await lost.promise;
    await stage.settle();
    expect(stage.clock.pendingCount).toBe(0);
    expect(told).toEqual([`${startupGateMs} calls.began`]);
  });

  it('ends with the troupe', async () => {
    const { stage } = await overheard();
    await callOnce(stage);
    await stage.troupe.stop();
    expect(stage.clock.pendingCount).toBe(0);
  });

  it('does not begin while the troupe stops', async () => {
    const { stage } = await overheard();
    stage.obedient = new Set();
    const late = call(stage, 'db');
    await stage.settle();
    stage.troupe.send({ type: 'troupe.stop' });
    await late.promise;
    stage.sessions.of('db').closed();
    await stage.troupe.stop();
    expect(stage.clock.pendingCount).toBe(0);
  });
});
