/** The comparison of two journals. */

import type { ComparisonView } from '../../../src/domain/host/comparison.ts';
import { ask, messageOf } from './api.ts';
import { go } from './moments.ts';
import { change, current, toast } from './store.ts';

/** Opens the page at the first difference. */
export async function openComparison(): Promise<void> {
  try {
    change({ comparison: await ask<ComparisonView>('api/comparison') });
    showDifference({ keep: true });
  } catch (error) {
    toast('bad', messageOf(error));
  }
}

/** Goes to the first difference, and shows both journals there. */
export function showDifference(options: { readonly keep?: boolean } = {}): void {
  const { comparison } = current();
  if (comparison === undefined) return;
  const { a, difference } = comparison;
  change({ isComparing: true, whatIf: false, way: undefined });
  go({ view: 'chart', at: a.n, server: difference.server, actor: a.actor?.actor }, options);
}
