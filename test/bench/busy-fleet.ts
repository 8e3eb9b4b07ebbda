/**
 * A troupe of a thousand servers of which some are always on their way: real charts in real time,
 * over sessions that answer at once. Nothing is measured but what we do ourselves.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Troupe } from '../../src/runtime/troupe.ts';

export const fleetCount = 1_000;
export const changesPerSecond = 200;

export interface BusyFleet {
  readonly troupe: Troupe;
  /** Keeps servers changing for so long; settles with how often they changed in a second. */
  work(ms: number): Promise<number>;
}

const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];

/** Settles when all servers are ready and the start is over. */
export async function startBusyFleet(isRecorded: boolean): Promise<BusyFleet> {
  const { createApprovalStore } = await import('../../actors/stores/approvals.ts');
  const { createPermissionStore } = await import('../../actors/stores/permissions.ts');
  const { assembleTroupe } = await import('../../src/runtime/assemble-troupe.ts');
  const { realClock: clock } = await import('../../src/runtime/real-clock.ts');
  const { createScriptedSessions } = await import('../../src/testing/scripted-session.ts');
  const sessions = createScriptedSessions();
  sessions.onCommand = (script, { type }) => {
    if (type === 'session.open') queueMicrotask(() => script.open());
    if (type === 'session.list') queueMicrotask(() => script.list(tools));
    if (type === 'session.close') queueMicrotask(() => script.closed());
  };
  const names = Array.from({ length: fleetCount }, (_, index) => `s${index}`);
  const mcpServers = Object.fromEntries(
    names.map((name) => [name, { type: 'http', url: `http://127.0.0.1/${name}` }]),
  );
  const troupe = assembleTroupe(
    { settings: { mcpServers }, inspect: isRecorded },
    {
      clock,
      seed: 1,
      coreCount: 1,
      env: {},
      keepApprovals: (ports) => createApprovalStore({ ...ports, clock }),
      keepPermissions: (ports) => createPermissionStore({ ...ports, clock }),
      createSession: (ports) => sessions.createActors(ports),
      report: (message, error) => console.error(message, error),
    },
  );
  for (const name of names) await troupe.waitFor(name, 'ready', { timeoutMs: 60_000 });
  await troupe.ready();
  let changes = 0;
  let turn = 0;
  troupe.on('status.changed', () => {
    changes += 1;
  });
  /** From ready to degraded, and at the next turn back. */
  const change = (): void => {
    const script = sessions.of(names[Math.floor(turn / 2) % fleetCount] ?? '');
    if (turn % 2 === 0) script.impair('flooding');
    else script.recover('flooding');
    turn += 1;
  };
  return {
    troupe,
    async work(ms) {
      const [from, before] = [performance.now(), changes];
      let done = 0;
      const timer = setInterval(() => {
        // Timers fire late; this catches up.
        const due = ((performance.now() - from) / 1_000) * changesPerSecond;
        for (; done < due; done += 1) change();
      }, 1_000 / changesPerSecond);
      await pause(ms);
      clearInterval(timer);
      return ((changes - before) / (performance.now() - from)) * 1_000;
    },
  };
}
