/** A process of the benchmark: does its part of one work and exits. */

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
