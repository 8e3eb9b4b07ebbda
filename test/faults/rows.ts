/**
 * All rows, in the order of the catalogue of faults. Tests below `test/` inject these faults instead:
 * F11/warm `runtime/catalog/catalogs`, F55 `runtime/user/approvals`, F86/health `machines/server/traces`,
 * F168, F178 and F179 `gateway/http-strangers`, F169 `browser/scripted-page`, F170
 * `security/planted-secrets`, F171 `visualizations/server/inspector-server`, F172 and F177 `gateway/http-gateway`,
 * F173 and F174 `gateway/http-limits`, F175 and F176 `cli/serve`. F104/forever and F108 need OAuth.
 */

import type { Rows } from './row.ts';
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

export const rows: Rows = {
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
};

/** One row of each kind, for CI; times do not count there. */
export const quickNames: readonly string[] = [
  'F01',
  'F18/stdio',
  'F22/text',
  'F26/crlf',
  'F34/partial',
  'F37/string-id',
  'F44/loop',
  'F51/bad-schema',
  'F62/crash-after',
  'F64',
  'F74/proto',
  'F75/stopped',
  'F80/crash',
  'F85/SIGKILL',
  'F97',
  'F99',
  'F104/401',
  'F112',
  'F115/200-html',
  'F121/rotates',
  'F100/slice',
  'F162',
  'F166',
  'F180',
];
