/** Everything that is measured, in the order of the table. */

import { callWorks } from './work/calls.ts';
import { changeWork } from './work/change.ts';
import { startWorks } from './work/cold-start.ts';
import { crashWork } from './work/crash.ts';
import { crowdWork } from './work/crowd.ts';
import { editWorks } from './work/edits.ts';
import { floodWork } from './work/flood.ts';
import { gatewayWork } from './work/gateway.ts';
import { importWork } from './work/import.ts';
import { inspectorWorks } from './work/inspector.ts';
import { leftOverWork } from './work/left-over.ts';
import { listingWork } from './work/listing.ts';
import { memoryWorks } from './work/memory.ts';
import { recorderWork } from './work/recorder.ts';
import { stopWork } from './work/stop.ts';
import { thousandsWork } from './work/thousands.ts';
import { warmStartWork } from './work/warm-start.ts';
import { watchWork } from './work/watch.ts';
import type { Work } from './work.ts';

export const works: readonly Work[] = [
  ...callWorks,
  floodWork,
  gatewayWork,
  ...startWorks,
  crowdWork,
  warmStartWork,
  changeWork,
  listingWork,
  ...editWorks,
  thousandsWork,
  watchWork,
  recorderWork,
  ...inspectorWorks,
  crashWork,
  stopWork,
  leftOverWork,
  ...memoryWorks,
  importWork,
];
