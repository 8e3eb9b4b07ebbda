/** Everything that is measured, in the order of the table. */

import { callWorks } from './work/calls.ts';
import { cliCallWork } from './work/cli-call.ts';
import { startWorks } from './work/cold-start.ts';
import { crashWork } from './work/crash.ts';
import { editWorks } from './work/edits.ts';
import { floodWork } from './work/flood.ts';
import { gatewayWork } from './work/gateway.ts';
import { growthWork } from './work/growth.ts';
import { importWork } from './work/import.ts';
import { inspectorPageWork } from './work/inspector-page.ts';
import { listingWork } from './work/listing.ts';
import { memoryWorks } from './work/memory.ts';
import { recorderWork } from './work/recorder.ts';
import { stopWorks } from './work/stop.ts';
import { telemetryWork } from './work/telemetry.ts';
import { warmStartWork } from './work/warm-start.ts';
import { watchWork } from './work/watch.ts';
import type { Work } from './work.ts';

export const works: readonly Work[] = [
  ...callWorks,
  importWork,
  ...startWorks,
  warmStartWork,
  ...editWorks,
  growthWork,
  ...stopWorks,
  cliCallWork,
  crashWork,
  ...memoryWorks,
  telemetryWork,
  floodWork,
  gatewayWork,
  listingWork,
  watchWork,
  recorderWork,
  inspectorPageWork,
];
