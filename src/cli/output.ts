/**
 * The only place that writes to stdout and stderr. With `--json`, stdout gets
 * exactly one document and people get nothing there; notes go to stderr.
 */

import { styleText } from 'node:util';
import type { ErrorDocument } from '../domain/caller-code.ts';
import type { CliHost, TerminalStream } from './cli-host.ts';

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

export interface Output {
  readonly json: boolean;
  /** Whether stdout is a terminal that a person looks at. */
  readonly interactive: boolean;
  /** Columns of the terminal; without one, lines are not cut. */
  readonly width: number;
  readonly height: number;
  /** Colours text when stdout is a terminal and `NO_COLOR` is not set. */
  readonly paint: Paint;
  /** Lines for people; nothing with `--json`. */
  lines(lines: readonly string[]): void;
  /** Text as it is, for frames that redraw themselves. */
  raw(text: string): void;
  /** The one document of `--json`; nothing without it. */
  document(value: unknown): void;
  /** A remark beside the answer, on stderr. */
  note(text: string): void;
  error(error: ErrorDocument): void;
}

/** Wide enough that a table is not cut when nobody's terminal is the measure. */
const unlimitedWidth = 10_000;

/** Builds the output for one run of the command line. */
export function createOutput(
  host: Pick<CliHost, 'stdout' | 'stderr' | 'env'>,
  json: boolean,
): Output {
  const { stdout, stderr } = host;
  const interactive = stdout.isTTY === true && !json;
  let documentPrinted = false;
  const document = (value: unknown): void => {
    if (!json || documentPrinted) return;
    documentPrinted = true;
    stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  };
  return {
    json,
    interactive,
    get width() {
      return interactive ? (stdout.columns ?? 80) : unlimitedWidth;
    },
    get height() {
      return stdout.rows ?? 24;
    },
    paint: painter(stdout, host.env),
    lines(lines) {
      if (!json && lines.length > 0) stdout.write(`${lines.join('\n')}\n`);
    },
    raw(text) {
      if (!json) stdout.write(text);
    },
    document,
    note(text) {
      stderr.write(`troupe: ${text}\n`);
    },
    error(error) {
      if (json) document({ error });
      else stderr.write(`${painter(stderr, host.env)('red', 'troupe:')} ${error.message}\n`);
    },
  };
}

function painter(stream: TerminalStream, env: CliHost['env']): Paint {
  const noColor = env['NO_COLOR'];
  const plain = stream.isTTY !== true || env['TERM'] === 'dumb' || (noColor ?? '') !== '';
  return plain ? (_style, text) => text : (style, text) => styleText(style, text);
}
