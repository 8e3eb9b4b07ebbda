import { describe, expect, it } from 'vitest';
import { call, crash, pong, type Stage, servers, stage } from '../stage.ts';

// Its tools are remembered for good, so that no timer but those of its life is counted.
const settings = servers({ db: 'srv' }, { policy: { catalog: { ttlMs: null } } });
// Tests let the root's startup gate pass before they count timers.
const startupGateMs = 250;

/** A stage that records, with timestamps, the reports of calls that the chart of `db` gets. */
async function overheard(): Promise<{ readonly there: Stage; readonly told: string[] }> {
  const told: string[] = [];
  const there: Stage = await stage({
    settings,
    inspect({ type, ...rest }) {
      if (type !== '@xstate.event' || !('event' in rest)) return;
      const { type: name } = rest.event;
      if (name.startsWith('calls.')) told.push(`${there.clock.now()} ${name}`);
    },
  });
  return { there, told };
}

async function callOnce(there: Stage): Promise<void> {
  const made = call(there, 'db');
  await Promise.resolve();
  there.sessions.of('db').calls.at(-1)?.answer(pong);
  await made.promise;
}

describe('the server chart', () => {
  it('receives calls.began once for consecutive calls', async () => {
    const { there, told } = await overheard();
    for (let done = 0; done < 1_000; done += 1) await callOnce(there);
    await there.advance(999);
    expect(told).toEqual(['0 calls.began']);
    await there.advance(1);
    expect(told).toEqual(['0 calls.began', '1000 calls.drained']);
  });

  it('receives calls.drained one second after the last call', async () => {
    const { there, told } = await overheard();
    for (let done = 0; done < 5; done += 1) {
      await callOnce(there);
      await there.advance(700);
    }
    await there.advance(10_000);
    expect(told).toEqual(['0 calls.began', '3800 calls.drained']);
    await callOnce(there);
    expect(told.at(-1)).toBe(`${there.clock.now()} calls.began`);
  });

  it('leads to the number of calls in the records, and the usage counts those since', async () => {
    const { there } = await overheard();
    there.troupe.inspection.start();
    for (let done = 0; done < 3; done += 1) await callOnce(there);
    expect(there.troupe.inspection.picture()?.calls).toEqual({ db: 1 });
    await there.advance(2_000);
    expect(there.troupe.inspection.picture()?.calls).toEqual({ db: 3 });
    const { first, last } = there.troupe.inspection;
    expect(there.troupe.inspection.picture(first - 1)?.calls).toBeUndefined();
    expect(there.troupe.inspection.picture(last)?.calls).toEqual({ db: 3 });
    there.sessions.of('db').fail(crash());
    await there.advance(60_000);
    await callOnce(there);
    await callOnce(there);
    expect(await there.troupe.usage()).toEqual([{ server: 'db', calls: 5 }]);
  });

  it('does not receive calls.drained while a call runs', async () => {
    const { there, told } = await overheard();
    await callOnce(there);
    await there.advance(500);
    const long = call(there, 'db');
    await there.advance(5_000);
    expect(told).toEqual(['0 calls.began']);
    there.sessions.of('db').calls.at(-1)?.answer(pong);
    await long.promise;
    await there.advance(1_000);
    expect(told).toEqual(['0 calls.began', '6500 calls.drained']);
  });

  it('receives calls.began again in its next session', async () => {
    const { there, told } = await overheard();
    await callOnce(there);
    there.sessions.of('db').fail(crash());
    await there.advance(60_000);
    await callOnce(there);
    await there.advance(1_000);
    expect(told).toEqual(['0 calls.began', '60000 calls.began', '61000 calls.drained']);
  });
});

describe('the wait before calls.drained', () => {
  it('uses one timer and clears it with the session', async () => {
    const { there } = await overheard();
    await there.advance(startupGateMs);
    await callOnce(there);
    const { pendingCount } = there.clock;
    await callOnce(there);
    expect(there.clock.pendingCount).toBe(pendingCount);
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    expect(there.clock.pendingCount).toBe(0);
  });

  it('ends with the session even while another call runs', async () => {
    const { there, told } = await overheard();
    await there.advance(startupGateMs);
    await callOnce(there);
    const lost = call(there, 'db');
    await there.settle();
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await lost.promise;
    await there.settle();
    expect(there.clock.pendingCount).toBe(0);
    expect(told).toEqual([`${startupGateMs} calls.began`]);
  });

  it('ends with the troupe', async () => {
    const { there } = await overheard();
    await callOnce(there);
    await there.troupe.stop();
    expect(there.clock.pendingCount).toBe(0);
  });

  it('does not begin while the troupe stops', async () => {
    const { there } = await overheard();
    there.obedient = new Set();
    const late = call(there, 'db');
    await there.settle();
    there.troupe.send({ type: 'troupe.stop' });
    await late.promise;
    there.sessions.of('db').closed();
    await there.troupe.stop();
    expect(there.clock.pendingCount).toBe(0);
  });
});
