/** The user's fork of a moment. */

import type { ForkView, PicturedActor } from '../../../src/domain/host/inspection.ts';
import { ask, messageOf, post } from './api.ts';
import { change, current, type PageState, toast } from './store.ts';

/** The actor as it stands in the fork, while there is one. */
export function forkedActor({ fork }: PageState): PicturedActor | undefined {
  return fork?.state;
}

/** Begins a fork of an actor at the shown moment. */
export async function beginFork(actor: string): Promise<void> {
  endFork();
  const at = current().world.n;
  await attempt(() => post<ForkView>('api/fork', { at, actor }));
}

export async function sendToFork(event: Readonly<Record<string, unknown>>): Promise<void> {
  await continued({ event });
}

export async function advanceFork(advanceMs: number): Promise<void> {
  await continued({ advanceMs });
}

export function endFork(): void {
  const { fork } = current();
  if (fork === undefined) return;
  change({ fork: undefined });
  // The server drops old forks anyway; this only frees it sooner.
  ask(`api/fork/${encodeURIComponent(fork.fork)}`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json' },
  }).catch(() => undefined);
}

async function continued(body: unknown): Promise<void> {
  const { fork } = current();
  if (fork === undefined) return;
  await attempt(() => post<ForkView>(`api/fork/${encodeURIComponent(fork.fork)}`, body));
}

async function attempt(act: () => Promise<ForkView>): Promise<void> {
  try {
    change({ fork: await act() });
  } catch (error) {
    toast('bad', messageOf(error));
  }
}
