import type { CliHost } from './cli-host.ts';
import type { Launch } from './launch.ts';
import type { Output } from './show/output.ts';

/** What a command gets to work with, once the common flags are understood. */
export interface CliSession {
  readonly host: CliHost;
  readonly launch: Launch;
  readonly output: Output;
}
