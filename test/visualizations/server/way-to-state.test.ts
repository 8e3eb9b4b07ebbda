import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { WayView } from '../../../src/domain/host/inspection.ts';
import { createScriptedTroupe } from '../../../src/testing/index.ts';
import { wayTo } from '../../../visualizations/server/way-to-state.ts';
import { runExported } from './exported-test.ts';

const signal = new AbortController().signal;
// Leaves few states to visit before the search tries commands.
const oneAttempt = {
  command: 'db',
  policy: { startup: { maxAttempts: 1 }, restart: { maxAttempts: 1 } },
};

/** A ready server, with what led there recorded. */
async function ready(entry: object = { command: 'db' }) {
  const script = createScriptedTroupe({ seed: 3, settings: { mcpServers: { db: entry } } });
  const { sessions, troupe } = script;
  troupe.inspection.start();
  await script.settle();
  sessions.of('db').open({ era: 'modern' });
  await script.settle();
  sessions.of('db').list([{ name: 'tool1', inputSchema: { type: 'object' } }]);
  await script.settle();
  await script.advance(2_000);
  const { inspection } = troupe;
  const actor = inspection.picture()?.actors.find(({ machine }) => machine === 'server')?.actor;
  const way = (to: string, at = inspection.last): Promise<WayView> =>
    wayTo(inspection, { actor, at, to }, signal);
  return { ...script, inspection, actor, way };
}

const typesOf = ({ steps = [] }: WayView): readonly string[] =>
  steps.map(({ type }) => type.replace(/^xstate\.(after\.\w+).*/u, '$1'));

describe('the way to a state', () => {
  it('is the shortest sequence of events, with the transitions they take', async () => {
    const { way } = await ready();
    const { steps, unrepeatable } = await way('connection.parked.failed');
    expect(unrepeatable).toEqual([]);
    expect(steps).toMatchObject([
      {
        type: 'xstate.done.actor.session',
        after: 0,
        leaves: expect.arrayContaining(['connection.parked.failed.restartNever']),
      },
    ]);
    expect(steps?.[0]?.edges).toContain('server.connection.settling.admitting#4');
  });

  it('prefers what happens by itself to commands, and counts attempts as the chart does', async () => {
    const { way } = await ready();
    const found = await way('connection.parked.failed.attemptsExhausted');
    const lost = ['after.reconnectBackoff', 'slot.granted', 'xstate.done.actor.session'];
    expect(typesOf(found)).toEqual([
      'xstate.done.actor.session',
      ...[lost, lost, lost, lost].flat(),
    ]);
    expect(found.steps?.[1]?.after).toBeGreaterThan(0);
  });

  it.each([
    'connection.parked.backingOff.retrying',
    'connection.parked.authRequired',
    'connection.parked.suspended.crashLoop',
    'connection.parked.failed.attemptsExhausted',
    'connection.parked.failed.capabilityMissing',
    'connection.engaged.queued',
    'connection.engaged.live.loadingTools',
    'circuit.open',
    'circuit.halfOpen',
  ])('has a test that passes: %s', async (to) => {
    const { test = '', unrepeatable } = await (await ready()).way(to);
    expect(unrepeatable).toEqual([]);
    await runExported(test);
  });

  it.each([
    'connection.settling.wanting',
    'connection.parked.stopped',
    'connection.engaged.live.closing',
    'catalog.deferred',
  ])('has a test that passes, with a command: %s', async (to) => {
    const { test = '', unrepeatable } = await (await ready(oneAttempt)).way(to);
    expect(unrepeatable).toEqual([]);
    await runExported(test);
  });

  it('fails calls only on a usable server', async () => {
    const script = await ready();
    script.sessions.of('db').fail({ kind: 'crashed', message: 'It crashed.' });
    await script.settle();
    const found = await script.way('circuit.open');
    expect(typesOf(found)).toEqual([
      ...['after.reconnectBackoff', 'slot.granted', 'session.opened', 'session.listed'],
      ...Array.from({ length: 5 }, () => 'call.failed'),
    ]);
    await runExported(found.test ?? '');
  });

  it('begins at the moment shown, also when more happened since', async () => {
    const script = await ready();
    const { way, inspection } = script;
    const at = inspection.last;
    script.sessions.of('db').fail({ kind: 'authRequired', message: 'It wants a login.' });
    await script.settle();
    expect(await way('connection.parked.authRequired')).toMatchObject({ steps: [] });
    expect(typesOf(await way('connection.parked.authRequired', at))).toEqual([
      'xstate.done.actor.session',
    ]);
  });

  it('names the events that a test cannot repeat', async () => {
    const { way } = await ready(oneAttempt);
    const found = await way('connection.parked.blocked.rejected');
    expect(found.unrepeatable).toEqual(['admission.withdrawn']);
    expect(found.test).toContain('// Then "admission.withdrawn" followed');
  });

  it('says how far it searched when there is no way', async () => {
    const { inspection, actor } = await ready();
    const to = 'connection.parked.failed.crashLoop';
    const limits = [['all', 40]] as const;
    expect(await wayTo(inspection, { actor, at: inspection.last, to }, signal, limits)).toEqual({
      ...{ actor, from: inspection.last, to, unrepeatable: [] },
      ...{ visited: 40, isCut: true },
    });
  });

  it('is refused for an unknown state, and ends when its page leaves', async () => {
    const { way, inspection, actor } = await ready();
    await expect(way('connection.toString')).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const to = 'connection.parked.failed.crashLoop';
    const gone = AbortSignal.abort();
    await expect(wayTo(inspection, { actor, at: inspection.last, to }, gone)).rejects.toThrow();
  });
});

describe('the copied test of a way, in a file of its own', async () => {
  const { test = '' } = await (await ready()).way('connection.parked.suspended.crashLoop');
  const folder = mkdtempSync(fileURLToPath(new URL('way-', import.meta.url)));
  const file = path.join(folder, 'copied.test.ts');
  writeFileSync(file, test);
  // Vitest registers the file's test here.
  await import(file).finally(() => rmSync(folder, { recursive: true }));
});
