/**
 * The only place that writes to stdout and stderr. With `--json`, stdout gets exactly one document; notes
 * go to stderr.
 */

import { styleText } from 'node:util';
import { Outbox } from '../../../actors/host/outbox.ts';
import type { ErrorDocument } from '../../domain/caller-code.ts';
import type { CliHost, TerminalStream } from '../cli-host.ts';
import { cutTo } from './table.ts';

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

export interface Output {
  readonly json: boolean;
  /** Whether stdout is a terminal. */
  readonly interactive: boolean;
  /** Columns of the terminal; without one, lines are not cut. */
  readonly width: number;
  readonly height: number;
  /** Colours text when stdout is a terminal and `NO_COLOR` is not set. */
  readonly paint: Paint;
  /** Prints text lines; nothing with `--json`. */
  lines(lines: readonly string[]): void;
  /** Prints lines of a command that keeps running; a slow reader misses some. */
  news(lines: readonly string[]): void;
  /** Prints text unchanged, for frames that redraw themselves. */
  raw(text: string): void;
  /** Prints the document of `--json`; nothing without it. */
  document(value: unknown): void;
  /** Prints a document on one line, with or without `--json`, for commands that print many. */
  documentLine(value: unknown): void;
  /** Whether `progress` is visible. */
  readonly showsProgress: boolean;
  /**
   * Shows one line on stderr in place of the previous one, at a terminal. The next output, or undefined,
   * removes it.
   */
  progress(text: string | undefined): void;
  /** Prints a note to stderr; a slow reader misses some. */
  note(text: string): void;
  error(error: ErrorDocument): void;
}

/** Wide enough that tables are not cut without a terminal. */
const unlimitedWidth = 10_000;

/** The size of a terminal that does not report one. */
const usualWidth = 80;
const usualHeight = 24;

const eraseRestOfLine = '\u001b[K';

/** Builds the output for one run of the command line. */
export function createOutput(
  host: Pick<CliHost, 'stdout' | 'stderr' | 'env'>,
  json: boolean,
): Output {
  const { stdout, stderr } = host;
  const interactive = stdout.isTTY === true && !json;
  const showsProgress = stderr.isTTY === true && host.env['TERM'] !== 'dumb' && !json;
  let documentPrinted = false;
  let progressShown = false;
  const progress = (text: string | undefined): void => {
    if (!showsProgress || (text === undefined && !progressShown)) return;
    // Leave one column free: a full line may wrap in some terminals.
    const line = text === undefined ? '' : cutTo(text, widthOf(stderr) - 1);
    stderr.write(`\r${line}${eraseRestOfLine}`);
    progressShown = text !== undefined;
  };
  const writeTo = (stream: TerminalStream, text: string): void => {
    progress(undefined);
    stream.write(text);
  };
  const outbox = new Outbox();
  const missed = new Map<TerminalStream, number>();
  const writeNews = (stream: TerminalStream, lines: readonly string[]): void => {
    progress(undefined);
    const count = missed.get(stream) ?? 0;
    const remark = `troupe: dropped ${count} lines because the output was read too slowly`;
    const text = [...(count === 0 ? [] : [remark]), ...lines].map((line) => `${line}\n`).join('');
    if (outbox.note(stream, text)) missed.delete(stream);
    else missed.set(stream, count + lines.length);
  };
  const document = (value: unknown): void => {
    if (!json || documentPrinted) return;
    documentPrinted = true;
    writeTo(stdout, `${jsonText(value, 2)}\n`);
  };
  return {
    json,
    interactive,
    get width() {
      return interactive ? widthOf(stdout) : unlimitedWidth;
    },
    get height() {
      return known(stdout.rows) ?? usualHeight;
    },
    paint: painter(stdout, host.env),
    lines(lines) {
      if (!json && lines.length > 0) writeTo(stdout, `${lines.join('\n')}\n`);
    },
    news(lines) {
      if (!json && lines.length > 0) writeNews(stdout, lines);
    },
    raw(text) {
      if (!json) writeTo(stdout, text);
    },
    document,
    documentLine: (value) => writeTo(stdout, `${jsonText(value)}\n`),
    showsProgress,
    progress,
    note: (text) => writeNews(stderr, [`troupe: ${text}`]),
    error(error) {
      if (json) document({ error });
      else writeTo(stderr, `${painter(stderr, host.env)('red', 'troupe:')} ${error.message}\n`);
    },
  };
}

/** Columns of a terminal; some report none, or zero. */
export function widthOf(stream: TerminalStream): number {
  return known(stream.columns) ?? usualWidth;
}

function known(size: number | undefined): number | undefined {
  return size === undefined || size === 0 ? undefined : size;
}

// Control and direction characters; JSON itself escapes only those below the space.
const steering = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Like `JSON.stringify`, but harmless on a terminal. */
function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    steering,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function painter(stream: TerminalStream, env: CliHost['env']): Paint {
  const noColor = env['NO_COLOR'];
  const plain = stream.isTTY !== true || env['TERM'] === 'dumb' || (noColor ?? '') !== '';
  // Newer Node versions would check stdout, whichever stream is meant.
  return plain
    ? (_style, text) => text
    : (style, text) => styleText(style, text, { validateStream: false });
}
