/** A process of the benchmark: runs one job and exits. */

import { serveTask } from '../lab/run-child.ts';
import { works } from './works.ts';

export interface WorkTask {
  readonly work: string;
  readonly task: unknown;
}

serveTask(
  async ({ work, task }: WorkTask) => works.find(({ name }) => name === work)?.job?.(task as never),
  () => process.exit(0),
);
