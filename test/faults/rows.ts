/** All rows, in the order of the catalogue of faults. */

import type { AnyRow } from './row.ts';
import { callRows } from './rows/calls.ts';
import { correlationRows } from './rows/correlation.ts';
import { floodRows } from './rows/floods.ts';
import { framingRows } from './rows/framing.ts';
import { gatewayRows } from './rows/gateway.ts';
import { hostRows } from './rows/host.ts';
import { httpRows } from './rows/http.ts';
import { listRows } from './rows/lists.ts';
import { processRows } from './rows/processes.ts';
import { startRows } from './rows/start.ts';

export const rows: readonly AnyRow[] = [
  ...startRows,
  ...framingRows,
  ...correlationRows,
  ...listRows,
  ...callRows,
  ...processRows,
  ...floodRows,
  ...httpRows,
  ...hostRows,
  ...gatewayRows,
];
