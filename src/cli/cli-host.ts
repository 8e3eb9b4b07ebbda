/** The process around the command line; tests provide their own. */

import type { Readable, Writable } from 'node:stream';
import type { Troupe, TroupeOptions } from '../runtime/troupe.ts';

/** A stream that may be a terminal. */
export interface TerminalStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export interface CliHost {
  readonly argv: readonly string[];
  /** The working folder; empty if it was deleted. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: TerminalStream;
  readonly stderr: TerminalStream;
  readonly version: string;
  /** The file that Node runs as this program, to start it again in the background. Default: it is not started. */
  readonly program?: string;
  /** Default: the system's usual place. */
  readonly managedSettings?: string;
  /** Loads the runtime on demand, so that commands without it start fast. */
  readonly loadRuntime: () => Promise<(options: TroupeOptions) => Troupe>;
  /** Subscribes to stop signals; returns how to unsubscribe. */
  readonly onStopSignal: (listener: (signal: StopSignal) => void) => () => void;
  /** Calls back once stdout has no reader. */
  readonly onOutputClosed: (listener: () => void) => void;
  /** Discards pending output to stdout, so that the exit does not wait for a reader that stopped. */
  readonly giveUpOutput?: () => void;
  /** Subscribes to uncaught exceptions; returns how to unsubscribe. */
  readonly onCrash: (listener: (error: unknown) => void) => () => void;
  /** Opens a file in a browser; resolves with whether a browser started. Default: the system's opener. */
  readonly openFile?: (file: string) => Promise<boolean>;
  /** Subscribes to notes from the embedding program; `up` shows them among its own. */
  readonly onRemark?: (listener: (line: string) => void) => void;
}
