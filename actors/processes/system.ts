/**
 * The differences between systems: how a process is started, and how it is ended with everything it
 * started.
 */

import type { Clock } from '../../src/domain/clock.ts';
import type { ClosePolicy } from '../../src/domain/policy.ts';

export interface StdioLaunch {
  readonly command: string;
  readonly args: readonly string[];
  /** The name that the program sees as its own. Default: the command. */
  readonly argv0?: string;
  /** The approved real path of the command; rechecked just before the start. */
  readonly realPath?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The arguments of `spawn`. No shell ever interprets them. */
export interface ProcessStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly argv0?: string;
  /** Whether the process leads its own group. */
  readonly detached: boolean;
  /** Whether the arguments are already escaped. */
  readonly windowsVerbatimArguments: boolean;
}

/** One of our processes and everything it started. */
export interface Group {
  readonly system: ProcessSystem;
  readonly leader: number;
  readonly clock: Clock;
  /** Resolves once the leader has exited. */
  readonly exited: Promise<unknown>;
  readonly hasExited: () => boolean;
  /** All descendants of the leader, in the group or not. */
  readonly descendants?: (() => Promise<readonly number[]>) | undefined;
}

export interface ProcessSystem {
  /** Returns a promise only on systems that need one; on others, a process starts at once. */
  startOf(launch: StdioLaunch): ProcessStart | Promise<ProcessStart>;
  /** Resolves once the processes in the scope have been signalled. Never rejects. */
  signal(group: Group, name: NodeJS.Signals, scope: ClosePolicy['scope']): Promise<void>;
  /** Returns whether a group whose leader has exited is empty, as far as that can be determined. */
  isEmpty(group: Group): Promise<boolean>;
  /** Kills the groups of these leaders before it returns, because this process is about to exit. */
  killAll(leaders: ReadonlySet<number>): void;
}
