/** All rows, in the order of the catalogue of faults. */

import type { AnyRow } from './row.ts';
import { startRows } from './rows/start.ts';

export const rows: readonly AnyRow[] = [...startRows];
