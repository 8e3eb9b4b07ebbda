/** Keeps count of the children that crashed or were not there in time. */

import type { WorkContext } from './work.ts';

type Child = WorkContext['child'];

export interface WatchedChildren {
  readonly child: Child;
  /** One line for each kind of failure, in the order of the first of it. */
  readonly failures: () => readonly string[];
}

export function watched(child: Child): WatchedChildren {
  const counts = new Map<string, number>();
  return {
    async child(work, task, limitMs) {
      const answer = (await child(work, task, limitMs)) ?? null;
      if (answer === null) {
        const who = contenderOf(task);
        const what = who === undefined ? work : `${work}, ${who}`;
        counts.set(what, (counts.get(what) ?? 0) + 1);
      }
      return answer;
    },
    failures: () => [...counts].map(([what, count]) => `${what}: ${count} failed`),
  };
}

/** Undefined when all contenders share the process. */
function contenderOf(task: unknown): string | undefined {
  const isNamed = typeof task === 'object' && task !== null && 'contender' in task;
  return isNamed ? String(task.contender) : undefined;
}
