/** Logins in a recording: systems of their own, which belong to the troupe. */

import { describe, expect, it } from 'vitest';
import { createActor, createMachine, fromPromise } from 'xstate';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import type {
  StepDone,
  StepInput,
  TokenStepDone,
} from '../../machines/authorization/authorization-setup.ts';
import { Recorder } from '../../src/recorder/recorder.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { isJournalRecord } from '../../visualizations/server/journal-reader.ts';

const truth = {
  troupe: { pid: 1, version: '0', state: 'running', problems: [] } as never,
  servers: [],
};
const db = { origin: 'https://db.example', servers: ['db'] };
const both = { ...db, account: 'work', servers: ['db', 'notes'] };

function setUp(records = 1_000) {
  const clock = new VirtualClock();
  const report = (message: string, error: unknown): never => {
    throw new Error(message, { cause: error });
  };
  const recorder = new Recorder({ clock, records, report });
  const root = createActor(createMachine({ id: 'troupe' }), { clock }).start();
  const login = createActor(
    authorizationMachine.provide({
      actors: {
        load: fromPromise<TokenStepDone, StepInput>(() => Promise.resolve({ nowMs: 0 })),
        discover: fromPromise<StepDone, StepInput>(() =>
          Promise.resolve({ nowMs: 1, failure: { kind: 'discovery', message: 'No metadata.' } }),
        ),
      },
    }),
    {
      id: 'login.0',
      clock,
      input: {
        id: 'key',
        seed: 1,
        needsUser: true,
        refreshAheadMs: 1,
        loginTimeoutMs: 60_000,
        maxStepUps: 1,
        rememberMs: 0,
      },
    },
  );
  return { recorder, root, login };
}

const settled = (): Promise<void> => new Promise(setImmediate);

describe('a recorded login', () => {
  it('belongs to the troupe and shows its servers, states and failures', async () => {
    const { recorder, root, login } = setUp();
    recorder.attach(root, truth);
    recorder.noteLogin(login, db);
    login.start();
    await settled();
    recorder.noteLogin(login, both);
    login.send({ type: 'login.requested' });
    await settled();
    const found = recorder.picture()?.actors.find(({ machine }) => machine === 'authorization');
    expect(found).toMatchObject({
      id: 'login.0',
      parent: root.sessionId,
      leaves: ['unauthorized.failed'],
      login: both,
    });
    expect(recorder.context(found?.actor ?? '')).toMatchObject({
      token: null,
      failure: { kind: 'discovery', message: 'No metadata.' },
    });
    const records = recorder.records(1, 1_000);
    expect(records.every(isJournalRecord)).toBe(true);
    expect(records).toContainEqual(
      expect.objectContaining({
        kind: 'event',
        type: 'xstate.done.actor.discover',
        facts: { failure: 'discovery' },
      }),
    );
    const first = records.find(({ kind }) => kind === 'login');
    expect(recorder.picture(first?.n)?.actors.at(-1)?.login).toEqual(db);
    login.stop();
    expect(recorder.picture()?.actors.map(({ id }) => id)).not.toContain('login.0');
  });

  it('is in the first picture of a recording that starts later', async () => {
    const { recorder, root, login } = setUp();
    login.start();
    await settled();
    recorder.attach(root, truth, new Map([[login, both]]));
    const [, found] = recorder.picture()?.actors ?? [];
    expect(found).toMatchObject({ leaves: ['unauthorized.signedOut'], login: both });
    expect(recorder.records(1, 10)).toEqual([]);
    login.send({ type: 'login.requested' });
    await settled();
    expect(recorder.picture()?.actors[1]).toMatchObject({ leaves: ['unauthorized.failed'] });
  });

  it('keeps its servers when their record has left the ring', async () => {
    const { recorder, root, login } = setUp(8);
    recorder.attach(root, truth);
    recorder.noteLogin(login, db);
    login.start();
    for (let round = 0; round < 3; round += 1) {
      login.send({ type: 'login.requested' });
      await settled();
    }
    expect(recorder.first).toBeGreaterThan(3);
    const before = recorder.picture(recorder.first - 1)?.actors ?? [];
    expect(before.find(({ id }) => id === 'login.0')).toMatchObject({ login: db });
  });
});
