import type { AnyRow } from '../row.ts';

export const hostRows: readonly AnyRow[] = [];
