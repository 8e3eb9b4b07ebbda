/** The way to a state that the user asked for. */

import type { WayView } from '../../../src/domain/host/inspection.ts';
import { messageOf, post } from './api.ts';
import { change, current, type WayChoice } from './store.ts';

export function openWay(actor: string): void {
  change({ way: { actor }, whatIf: false, isComparing: false });
}

/** Searches from the shown moment. */
export async function findWay(actor: string, to: string): Promise<void> {
  const choice: WayChoice = { actor, to };
  change({ way: choice, whatIf: false, isComparing: false });
  const isCurrent = (): boolean => current().way === choice;
  try {
    const found = await post<WayView>('api/way', { actor, at: current().world.n, to });
    if (isCurrent()) change({ way: { ...choice, found } });
  } catch (error) {
    if (isCurrent()) change({ way: { ...choice, problem: messageOf(error) } });
  }
}

/** Shows one step alone; undefined shows all. */
export function pointAtStep(step: number | undefined): void {
  const { way } = current();
  if (way === undefined || way.step === step) return;
  const { step: _before, ...rest } = way;
  change({ way: step === undefined ? rest : { ...rest, step } });
}

export function endWay(): void {
  change({ way: undefined });
}
