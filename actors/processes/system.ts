/** What differs between systems: how a process is started, and how it is ended with everything it started. */

import type { Clock } from '../../src/domain/clock.ts';
import type { ClosePolicy } from '../../src/domain/policy.ts';

export interface StdioLaunch {
  readonly command: string;
  readonly args: readonly string[];
  /** The name that the program sees as its own. Default: the command. */
  readonly argv0?: string;
  /** The approved real path of the command; checked again just before the start. */
  readonly realPath?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** The arguments of `spawn`. There is never a shell that would interpret them. */
export interface ProcessStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly argv0?: string;
  /** It leads a group of its own. */
  readonly detached: boolean;
  /** The arguments are escaped already. */
  readonly windowsVerbatimArguments: boolean;
}

/** A process of ours and everything it started. */
export interface Group {
  readonly system: ProcessSystem;
  readonly leader: number;
  readonly clock: Clock;
  /** Resolves when the leader has exited. */
  readonly exited: Promise<unknown>;
  readonly hasExited: () => boolean;
  /** All descendants of the leader, in the group or not. */
  readonly descendants?: (() => Promise<readonly number[]>) | undefined;
}

export interface ProcessSystem {
  /** A promise only on systems that need one: elsewhere a process starts at once. */
  startOf(launch: StdioLaunch): ProcessStart | Promise<ProcessStart>;
  /** Resolves when the processes in the scope have been signalled. Never rejects. */
  signal(group: Group, name: NodeJS.Signals, scope: ClosePolicy['scope']): Promise<void>;
  /** Returns whether a group whose leader has exited is empty, as far as that can be known. */
  isEmpty(group: Group): Promise<boolean>;
  /** Kills the groups of these leaders before it returns: this process is about to exit. */
  killAll(leaders: ReadonlySet<number>): void;
}
