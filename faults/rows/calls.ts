import type { AnyRow } from '../row.ts';

export const callRows: readonly AnyRow[] = [];
