/** Everything that is measured, in the order of the table. */

import { callWorks } from './work/calls.ts';
import { changeWork } from './work/change.ts';
import { startWorks } from './work/cold-start.ts';
import { crashWork } from './work/crash.ts';
import { importWork } from './work/import.ts';
import { installWork } from './work/install.ts';
import { memoryWorks } from './work/memory.ts';
import type { Work } from './work.ts';

export const works: readonly Work[] = [
  ...callWorks,
  ...startWorks,
  changeWork,
  crashWork,
  ...memoryWorks,
  importWork,
  installWork,
];
