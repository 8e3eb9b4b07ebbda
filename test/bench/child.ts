/** A process of the benchmark: does one job and leaves. */

import { works } from './works.ts';

export interface Order {
  readonly work: string;
  readonly task: unknown;
}

process.once('message', (order: Order) => {
  void obey(order);
});

async function obey({ work, task }: Order): Promise<void> {
  const job = works.find(({ name }) => name === work)?.job;
  const answer = await job?.(task as never);
  process.send?.({ answer }, () => process.exit(0));
}
