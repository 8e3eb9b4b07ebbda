/** What the command line needs of the process around it; tests bring their own. */

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
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: TerminalStream;
  readonly stderr: TerminalStream;
  readonly version: string;
  /** Default: where this system keeps them. */
  readonly managedSettings?: string;
  /** Loads the runtime; late, so that commands without one start fast. */
  readonly loadRuntime: () => Promise<(options: TroupeOptions) => Troupe>;
  /** Subscribes to the signals that ask us to stop; returns how to unsubscribe. */
  readonly onStopSignal: (listener: (signal: StopSignal) => void) => () => void;
  /** Subscribes to the news that nobody reads stdout any more. */
  readonly onOutputClosed: (listener: () => void) => void;
  /** Gives up pending output to stdout that will never be read, so that the exit need not wait for it. */
  readonly giveUpOutput?: () => void;
  /** Subscribes to exceptions that nobody caught; returns how to unsubscribe. */
  readonly onCrash: (listener: (error: unknown) => void) => () => void;
  /** Opens a file in a browser; resolves with whether a browser started. Default: the system's opener. */
  readonly openFile?: (file: string) => Promise<boolean>;
  /** Subscribes to remarks of whoever runs us, which `up` shows among its own. */
  readonly onRemark?: (listener: (line: string) => void) => void;
}
