/** A root and its servers, told as stories. */

import { describe, expect, it } from 'vitest';
import { serverMachine } from '../../../machines/server/server.ts';
import { slotsMachine } from '../../../machines/slots.ts';
import { handoverMachine } from '../../../machines/troupe/handover.ts';
import { expectStory } from '../golden.ts';
import { entry, failure, settingsOf, startStory } from '../story.ts';

const gated = { gated: true, source: { key: 'db', scope: 'project' } } as const;

describe('a troupe', () => {
  it('requests approval, starts approved servers and closes rejected ones', async () => {
    const story = startStory();
    story.oblige();
    story.load(settingsOf([entry('db', gated)]));
    story.send({ type: 'approval.grant', server: 'db' });
    story.send({ type: 'approval.reject', server: 'db' });
    story.chapter('a decision about other settings decides nothing');
    story.send({ type: 'approval.grant', server: 'db', fingerprint: 'of something else' });
    story.send({ type: 'approval.grant', server: 'unknown' });
    story.chapter('taken back, it waits for a decision again');
    story.send({ type: 'approval.revoke', server: 'db' });
    await expectStory(story, 'troupe/approval');
  });

  it('replaces only the edited server', async () => {
    const story = startStory();
    story.oblige();
    story.load(settingsOf([entry('api'), entry('db'), entry('web')]));
    story.beginHere();
    story.load(settingsOf([entry('api'), entry('db', { generation: 'db-2' }), entry('web')]));
    await expectStory(story, 'troupe/edit-of-one-of-three');
  });

  it('applies only the last of several edits while the old server leaves', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db')]));
    story.serve('db');
    story.beginHere();
    story.load(settingsOf([entry('db', { generation: 'db-2' })]));
    story.load(settingsOf([entry('db', { generation: 'db-3' })]));
    story.chapter('a command for a leaving server has no effect');
    story.send({ type: 'server.restart', server: 'db' });
    story.sessions.of('db').closed();
    expect(story.sessions.of('db').input.generation).toBe('db-3');
    await expectStory(story, 'troupe/edits-while-leaving');
  });

  it('starts a lazy server that is demanded while its last generation is leaving', () => {
    const story = startStory();
    const lazy = (generation: string) => settingsOf([entry('db', { startup: 'lazy', generation })]);
    story.load(lazy('db-1'));
    story.tell('db.0', { type: 'server.demanded' });
    story.serve('db');
    story.load(lazy('db-2'));
    story.send({ type: 'server.start', server: 'db' });
    story.sessions.of('db').closed();
    expect(story.sessions.scripts.map(({ state }) => state)).toEqual(['over', 'opening']);
  });

  it('keeps a server until its successor is ready, and lets it finish its calls', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.beginHere();
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.chapter('its successor becomes ready');
    story.serve('db');
    story.chapter('its last call is over');
    story.tell('db.0', { type: 'calls.drained', session: 1 });
    story.sessions.scripts[0]?.closed();
    await expectStory(story, 'handover/handover');
  });

  it('ends calls that outlast a handover at their deadline', async () => {
    const story = startStory();
    const policy = { call: { timeoutMs: 10_000 } };
    story.load(settingsOf([entry('db', { handover: 'seamless', policy })]));
    story.serve('db');
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.load(settingsOf([entry('db', { handover: 'seamless', policy, generation: 'db-2' })]));
    story.serve('db');
    story.beginHere();
    story.clock.advanceBy(9_999);
    story.chapter('not yet');
    story.clock.advanceBy(1);
    await expectStory(story, 'handover/drained-by-deadline');
  });

  it('hands over to a successor that needs the user', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.beginHere();
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.sessions.of('db').fail(failure('transport'));
    story.chapter('it is tried again, and the old one serves meanwhile');
    story.untilNextSession();
    story.sessions.of('db').fail(failure('transport'));
    await expectStory(story, 'handover/failed');
  });

  it('hands over to a lost remote successor that retries quietly', async () => {
    const story = startStory();
    const given = { handover: 'seamless', transport: 'http' } as const;
    const other = entry('other', { startup: 'lazy' });
    story.load(settingsOf([entry('db', given), other]));
    story.serve('db');
    story.load(settingsOf([entry('db', { ...given, generation: 'db-2' }), other]));
    story.sessions.of('db').fail(failure('transport'));
    story.untilNextSession();
    expect(story.sessions.scripts[0]?.commands).not.toContain('session.close');
    story.sessions.of('db').fail(failure('transport'));
    expect(story.sessions.scripts[0]?.commands).toContain('session.close');
  });

  it("hands over after two minutes, whatever the successor's state", () => {
    const story = startStory();
    const policy = { connect: { localTimeoutMs: null } };
    story.load(settingsOf([entry('db', { handover: 'seamless', policy })]));
    story.serve('db');
    story.load(settingsOf([entry('db', { handover: 'seamless', policy, generation: 'db-2' })]));
    story.clock.advanceBy(119_999);
    expect(story.sessions.scripts[0]?.state).toBe('open');
    story.clock.advanceBy(1);
    expect(story.sessions.scripts.map(({ state }) => state)).toEqual(['closing', 'opening']);
  });

  it("starts a running lazy server's successor", async () => {
    const story = startStory();
    const lazy = { handover: 'seamless', startup: 'lazy' } as const;
    story.load(settingsOf([entry('db', lazy)]));
    story.tell('db.0', { type: 'server.demanded' });
    story.serve('db');
    story.beginHere();
    story.load(settingsOf([entry('db', { ...lazy, generation: 'db-2' })]));
    story.serve('db');
    await expectStory(story, 'handover/lazy');
  });

  it('retires a server and its successor when the server is removed during a handover', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.beginHere();
    story.load(settingsOf([]));
    story.chapter('a command reaches neither');
    story.send({ type: 'server.restart', server: 'db' });
    for (const script of story.sessions.scripts) script.closed();
    await expectStory(story, 'handover/removed');
  });

  it('applies the last of several edits during a handover', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.beginHere();
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-3' })]));
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-4' })]));
    story.chapter('the first successor is gone');
    story.sessions.of('db').closed();
    expect(story.sessions.of('db').input.generation).toBe('db-4');
    story.chapter('the last edit is taken back');
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.sessions.of('db').closed();
    await expectStory(story, 'handover/edited');
  });

  it('sends settings and commands to the desired generation and a block to both', async () => {
    const story = startStory();
    const given = { handover: 'seamless', generation: 'db-2' } as const;
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.load(settingsOf([entry('db', given)]));
    story.beginHere();
    story.load(settingsOf([entry('db', { ...given, description: 'edited' })]));
    story.send({ type: 'server.reconnect', server: 'db' });
    story.sessions.of('db').closed();
    story.chapter('its successor has taken over');
    story.serve('db');
    story.load(settingsOf([entry('db', { ...given, description: 'edited again' })]));
    story.send({ type: 'server.reconnect', server: 'db' });
    story.chapter('the server is no longer allowed');
    story.send({ type: 'allow.changed', allowed: [] });
    await expectStory(story, 'handover/commanded');
  });

  it('hands over immediately to a generation that the user has stopped', () => {
    const story = startStory();
    const load = (generation: string): void =>
      story.load(settingsOf([entry('db', { handover: 'seamless', generation })]));
    story.oblige();
    load('db-2');
    story.send({ type: 'server.stop', server: 'db' });
    load('db-1');
    expect(story.sessions.of('db')).toMatchObject({ state: 'open', input: { actorId: 'db.1' } });
    load('db-2');
    expect(story.sessions.scripts.map(({ state }) => state)).toEqual(['over', 'over']);
    expect(story.snapshotOf('db.0').matches({ connection: { parked: 'stopped' } })).toBe(true);
  });

  it('hands over again as soon as a predecessor is gone', () => {
    const story = startStory();
    for (const generation of ['db-1', 'db-2', 'db-3', 'db-4']) {
      story.load(settingsOf([entry('db', { handover: 'seamless', generation })]));
      story.serve('db');
      story.sessions.scripts.at(-2)?.closed();
    }
    const lives = story.sessions.scripts.map(({ input, state }) => `${input.actorId} ${state}`);
    expect(lives).toEqual(['db.0 over', 'db.1 over', 'db.0 over', 'db.1 open']);
  });

  it('ends both generations immediately when the server is stopped during a handover', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.tell('db.0', { type: 'calls.began', session: 1 });
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.beginHere();
    story.send({ type: 'server.stop', server: 'db' });
    expect(story.sessions.scripts.map(({ state }) => state)).toEqual(['closing', 'closing']);
    for (const script of story.sessions.scripts) script.closed();
    story.chapter('it starts again as its successor');
    story.send({ type: 'server.start', server: 'db' });
    await expectStory(story, 'handover/stopped');
  });

  it('retires removed servers and remembers that they were stopped', async () => {
    const story = startStory();
    story.oblige();
    story.load(settingsOf([entry('api'), entry('db')]));
    story.send({ type: 'server.stop', server: 'db' });
    story.beginHere();
    story.load(settingsOf([entry('api')]));
    story.load(settingsOf([entry('api'), entry('db')]));
    story.chapter('still stopped, until it is started');
    story.send({ type: 'server.start', server: 'db' });
    story.load(settingsOf([entry('api')]));
    story.chapter('it is no longer stopped');
    story.load(settingsOf([entry('api'), entry('db')]));
    await expectStory(story, 'troupe/removal-and-stop-wish');
  });

  it('applies trust and list changes immediately', async () => {
    const story = startStory();
    story.oblige();
    story.load(settingsOf([entry('api'), entry('db', { ...gated, enabled: true })]));
    story.send({ type: 'approval.grant', server: 'db' });
    story.beginHere();
    story.send({ type: 'trust.changed', trusted: false });
    story.send({ type: 'allow.changed', allowed: [] });
    story.send({ type: 'allow.changed', allowed: null });
    story.send({ type: 'trust.changed', trusted: true });
    await expectStory(story, 'troupe/trust-and-lists');
  });

  it('lets the settings narrow the launch list but never widen it', async () => {
    const story = startStory({ launchBound: ['api', 'db'] });
    story.load(settingsOf([entry('api'), entry('db'), entry('web')], { allowed: ['db', 'web'] }));
    await expectStory(story, 'troupe/launch-bound');
  });

  it('starts ten local servers three at a time without waiting for slow ones', async () => {
    // `auto` has eight permits per core.
    const story = startStory({ coreCount: 3 / 8 });
    const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const slots = { local: 'auto', remote: 20 } as const;
    story.load(
      settingsOf(
        names.map((name) => entry(name)),
        { slots },
      ),
    );
    story.chapter('the first three are slow: after a second their permits lapse');
    story.tell('s9.1', { type: 'server.demanded' });
    story.clock.advanceBy(1_000);
    story.chapter('the next three are quick');
    for (const name of ['s9', 's3', 's4']) story.serve(name);
    story.clock.advanceBy(1_000);
    await expectStory(story, 'troupe/ten-starts-three-permits');
  });

  it('opens the startup gate in time, even while servers are starting', async () => {
    const story = startStory();
    story.clock.advanceBy(100);
    story.load(settingsOf([entry('db')], { startupGateMs: 400 }));
    story.clock.advanceBy(299);
    story.chapter('not yet');
    story.clock.advanceBy(1);
    await expectStory(story, 'troupe/startup-gate');
  });

  it('runs without settings that cannot be read in time and applies them later', async () => {
    const story = startStory();
    story.clock.advanceBy(5_000);
    story.send({ type: 'settings.reload' });
    story.send({ type: 'settings.changed', settings: {} });
    story.load(settingsOf([entry('db')]));
    await expectStory(story, 'troupe/late-settings');
  });

  it('ends the session of a server that throws and restarts the server after a pause', async () => {
    let isBroken = true;
    const server = serverMachine.provide({
      actions: {
        noteOpened: () => {
          if (isBroken) throw new Error('a bug');
        },
      },
    });
    const story = startStory({ server });
    story.load(settingsOf([entry('api'), entry('db')]));
    story.beginHere();
    const broken = story.sessions.of('db');
    broken.open();
    expect([broken.state, story.isRunning]).toEqual(['over', true]);
    isBroken = false;
    story.clock.advanceBy(1_000);
    story.serve('db');
    await expectStory(story, 'troupe/server-that-throws');
  });

  it("hands over immediately when the handover's chart throws", async () => {
    const handover = handoverMachine.provide({
      guards: {
        isSuccessor: () => {
          throw new Error('a bug');
        },
      },
    });
    const story = startStory({ handover });
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.beginHere();
    story.serve('db');
    story.sessions.scripts[0]?.closed();
    expect(story.isRunning).toBe(true);
    await expectStory(story, 'handover/that-throws');
  });

  it("stops even if a handover's chart throws", async () => {
    const handover = handoverMachine.provide({
      guards: {
        isPresent: () => {
          throw new Error('a bug');
        },
      },
    });
    const story = startStory({ handover });
    story.load(settingsOf([entry('db', { handover: 'seamless' })]));
    story.serve('db');
    story.load(settingsOf([entry('db', { handover: 'seamless', generation: 'db-2' })]));
    story.send({ type: 'troupe.stop' });
    story.send({ type: 'server.faltered', actorId: 'db.0' });
    expect(story.isRunning).toBe(true);
    for (const script of story.sessions.scripts) script.closed();
    expect(story.isRunning).toBe(false);
    expect(story.toString()).toContain('db.handover failed');
    expect(story.toString()).not.toContain('THE ROOT FAILED');
  });

  it('replaces the permit actor when it throws', async () => {
    let isBroken = true;
    const slots = slotsMachine.provide({
      actions: {
        release: () => {
          if (isBroken) throw new Error('a bug');
        },
      },
    });
    const story = startStory({ slots });
    story.load(settingsOf([entry('api'), entry('db', { startup: 'lazy' })]));
    story.beginHere();
    story.sessions.of('api').open();
    expect(story.isRunning).toBe(true);
    isBroken = false;
    story.tell('db.1', { type: 'server.demanded' });
    await expectStory(story, 'troupe/broker-that-throws');
  });

  it('stops when all servers have left', async () => {
    const story = startStory();
    story.load(settingsOf([entry('api'), entry('db', { startup: 'lazy' })]));
    story.serve('api');
    story.beginHere();
    story.send({ type: 'troupe.stop' });
    story.chapter('settings and commands come too late');
    story.load(settingsOf([entry('web')]));
    story.send({ type: 'server.start', server: 'db' });
    story.sessions.of('api').closed();
    await expectStory(story, 'troupe/stop');
  });

  it('stops within its deadline when a server does not leave, and immediately when killed', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db', { policy: { close: { totalMs: 60_000 } } })]));
    story.serve('db');
    story.beginHere();
    story.send({ type: 'troupe.stop' });
    story.clock.advanceBy(5_000);
    expect(story.sessions.of('db').state).toBe('over');
    await expectStory(story, 'troupe/stop-by-deadline');
  });

  it('ends everything immediately when it is killed', async () => {
    const story = startStory();
    story.load(settingsOf([entry('db')]));
    story.beginHere();
    story.send({ type: 'troupe.kill' });
    expect(story.sessions.of('db').state).toBe('over');
    expect(story.clock.pendingCount).toBe(0);
    await expectStory(story, 'troupe/kill');
  });

  it('reconciles when the machine wakes and does nothing if nothing changed', async () => {
    const story = startStory();
    story.oblige();
    story.load(settingsOf([entry('db')]));
    story.beginHere();
    story.send({ type: 'system.woke' });
    story.load(settingsOf([entry('db')]));
    await expectStory(story, 'troupe/nothing-changed');
  });

  it('keeps a failing server from disturbing the others', async () => {
    const story = startStory();
    story.load(settingsOf([entry('api'), entry('db')]));
    story.serve('api');
    story.beginHere();
    story.sessions.of('db').fail(failure('capabilityMissing'));
    await expectStory(story, 'troupe/one-fails');
  });
});
