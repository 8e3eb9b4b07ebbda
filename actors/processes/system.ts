/** What systems do differently with processes: how one is started, and how it is ended with all that it started. */

import type { Clock } from '../../src/domain/clock.ts';
import type { ClosePolicy } from '../../src/domain/policy.ts';

export interface StdioLaunch {
  readonly command: string;
  readonly args: readonly string[];
  /** What the program is told as its own name. Default: the command. */
  readonly argv0?: string;
  /** The approved real path of the command; checked again just before the start. */
  readonly realPath?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** What `spawn` is given. There is never a shell that would read the arguments. */
export interface ProcessStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly argv0?: string;
  /** It leads a group of its own. */
  readonly detached: boolean;
  /** The arguments are escaped already. */
  readonly windowsVerbatimArguments: boolean;
}

/** A process of ours and all that it started. */
export interface Group {
  readonly system: ProcessSystem;
  readonly leader: number;
  readonly clock: Clock;
  /** Resolves when the leader has exited. */
  readonly exited: Promise<unknown>;
  readonly hasExited: () => boolean;
  /** Everybody that descends from the leader, in the group or not. */
  readonly descendants?: (() => Promise<readonly number[]>) | undefined;
}

export interface ProcessSystem {
  /** A promise only where finding out takes one: elsewhere a process boots at once. */
  startOf(launch: StdioLaunch): ProcessStart | Promise<ProcessStart>;
  /** Resolves when those in the scope have been sent it. Never rejects. */
  signal(group: Group, name: NodeJS.Signals, scope: ClosePolicy['scope']): Promise<void>;
  /** Says of a group without its leader whether nobody is left, as far as that can be told. */
  isEmpty(group: Group): Promise<boolean>;
  /** Kills the groups of these leaders before it returns: this process is about to exit. */
  killAll(leaders: ReadonlySet<number>): void;
}
