import type { CliHost } from './cli-host.ts';
import type { Launch } from './launch.ts';
import type { Output } from './show/output.ts';

/** What a command works with once the common flags are parsed. */
export interface CliSession {
  readonly host: CliHost;
  readonly launch: Launch;
  readonly output: Output;
}
