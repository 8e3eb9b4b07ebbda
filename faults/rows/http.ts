import type { AnyRow } from '../row.ts';

export const httpRows: readonly AnyRow[] = [];
