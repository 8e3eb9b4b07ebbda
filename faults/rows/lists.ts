import type { AnyRow } from '../row.ts';

export const listRows: readonly AnyRow[] = [];
