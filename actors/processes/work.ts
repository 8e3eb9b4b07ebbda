/**
 * Tells whether processes work or wait, from one look to the next. Linux only;
 * elsewhere, and of whom the system does not tell, nothing is said.
 *
 * A process counts with all that it started: a package runner waits for the server
 * that it runs. One works when somebody of them runs, could run and has no core, or
 * waits for a disk, and when they used a core, touched new memory or changed in
 * number since the look before. On a crowded machine that tells the one who waits
 * for a core from the one who waits for an answer, which its time alone does not.
 */

import { readdirSync, readFileSync } from 'node:fs';

export type Work = 'works' | 'waits';

// More than a server starts before it is ready; whoever has more is at work.
const maxFamily = 64;

export class ProcessWork {
  /** What was seen at the last look, by process number. */
  #traces = new Map<number, string>();

  /** Says nothing of processes that are gone, nor of one at rest that was not looked at before. */
  look(pids: readonly number[]): ReadonlyMap<number, Work> {
    const found = new Map<number, Work>();
    const traces = new Map<number, string>();
    for (const pid of pids) {
      const trace = traceOf(pid);
      if (trace === undefined) continue;
      traces.set(pid, trace.text);
      const before = this.#traces.get(pid);
      if (trace.isRunning || (before !== undefined && before !== trace.text))
        found.set(pid, 'works');
      else if (before !== undefined) found.set(pid, 'waits');
    }
    this.#traces = traces;
    return found;
  }
}

interface Trace {
  readonly isRunning: boolean;
  /** Differs from look to look while somebody works. */
  readonly text: string;
}

function traceOf(leader: number): Trace | undefined {
  const family = [leader];
  const texts: string[] = [];
  try {
    // Grows while it is gone through.
    for (const pid of family) {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The name in parentheses may itself hold spaces and parentheses.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const [state = ''] = fields;
      // Who runs needs no further look, which is most of them.
      if (state === 'R' || state === 'D' || family.length > maxFamily)
        return { isRunning: true, text: '' };
      // Minor and major page faults, ticks of 10 ms in its own code and in the system's.
      texts.push([pid, fields[7], fields[9], fields[11], fields[12]].join(' '));
      family.push(...childrenOf(pid));
    }
  } catch {
    // One of them ended meanwhile, or this system keeps no such table.
    return undefined;
  }
  return { isRunning: false, text: texts.join() };
}

/** Every thread lists the processes that it started itself. */
function childrenOf(pid: number): readonly number[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).flatMap((thread) =>
    readFileSync(`${folder}/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  );
}
