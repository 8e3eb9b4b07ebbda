/**
 * The only place that writes to stdout and stderr. With `--json`, stdout gets exactly one document; notes
 * go to stderr.
 */

import { styleText } from 'node:util';
import { Outbox } from '../../../actors/host/slow-readers.ts';
import type { ErrorDocument } from '../../domain/caller-code.ts';
import { writeJson } from '../../domain/data/exact-json.ts';
import type { CliHost, TerminalStream } from '../cli-host.ts';
import { cutTo } from './table.ts';

export type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** Wide enough that tables are not cut without a terminal. */
const unlimitedWidth = 10_000;

/** The size of a terminal that does not report one. */
const usualWidth = 80;
const usualHeight = 24;

const eraseRestOfLine = '\u001b[K';

/** The output of one run of the command line. */
export class Output {
  readonly json: boolean;
  /** Whether stdout is a terminal. */
  readonly interactive: boolean;
  /** Whether `progress` is visible. */
  readonly showsProgress: boolean;
  /** Colours text when stdout is a terminal and `NO_COLOR` is not set. */
  readonly paint: Paint;
  readonly #host: Pick<CliHost, 'stdout' | 'stderr' | 'env'>;
  readonly #outbox = new Outbox();
  /** Lines that a slow reader missed, by stream. */
  readonly #missed = new Map<TerminalStream, number>();
  /** With `--json` at most one document, without it at most one line of progress. */
  #shown: 'nothing' | 'progress' | 'document' = 'nothing';

  constructor(host: Pick<CliHost, 'stdout' | 'stderr' | 'env'>, json: boolean) {
    const { stdout, stderr, env } = host;
    this.#host = host;
    this.json = json;
    this.interactive = stdout.isTTY === true && !json;
    this.showsProgress = stderr.isTTY === true && env['TERM'] !== 'dumb' && !json;
    this.paint = painter(stdout, env);
  }

  /** Columns of the terminal; without one, lines are not cut. */
  get width(): number {
    return this.interactive ? widthOf(this.#host.stdout) : unlimitedWidth;
  }

  get height(): number {
    return known(this.#host.stdout.rows) ?? usualHeight;
  }

  /** Prints text lines; nothing with `--json`. */
  lines(lines: readonly string[]): void {
    if (lines.length > 0) this.raw(`${lines.join('\n')}\n`);
  }

  /** Prints lines of a command that keeps running; a slow reader misses some. */
  news(lines: readonly string[]): void {
    if (!this.json && lines.length > 0) this.#writeNews(this.#host.stdout, lines);
  }

  /** Prints text unchanged, for frames that redraw themselves; nothing with `--json`. */
  raw(text: string): void {
    if (!this.json) this.#write(this.#host.stdout, text);
  }

  /** Writes bytes to stdout as they are, for a pipe or a file; nothing with `--json`. */
  bytes(data: Uint8Array): void {
    if (!this.json) this.#host.stdout.write(data);
  }

  /** Prints the document of `--json`; nothing without it. */
  document(value: unknown): void {
    if (!this.json || this.#shown === 'document') return;
    this.#shown = 'document';
    this.#write(this.#host.stdout, `${jsonText(value, 2)}\n`);
  }

  /** Prints a document on one line, with or without `--json`, for commands that print many. */
  documentLine(value: unknown): void {
    this.#write(this.#host.stdout, `${jsonText(value)}\n`);
  }

  /**
   * Shows one line on stderr in place of the previous one, at a terminal. The next output, or undefined,
   * removes it.
   */
  progress(text: string | undefined): void {
    if (!this.showsProgress || (text === undefined && this.#shown !== 'progress')) return;
    const { stderr } = this.#host;
    // Leave one column free: a full line may wrap in some terminals.
    const line = text === undefined ? '' : cutTo(text, widthOf(stderr) - 1);
    stderr.write(`\r${line}${eraseRestOfLine}`);
    this.#shown = text === undefined ? 'nothing' : 'progress';
  }

  /** Prints a note to stderr; a slow reader misses some. */
  note(text: string): void {
    this.#writeNews(this.#host.stderr, [`troupe: ${text}`]);
  }

  error(error: ErrorDocument): void {
    const { stderr, env } = this.#host;
    if (this.json) this.document({ error });
    else this.#write(stderr, `${painter(stderr, env)('red', 'troupe:')} ${error.message}\n`);
  }

  #write(stream: TerminalStream, text: string): void {
    this.progress(undefined);
    stream.write(text);
  }

  #writeNews(stream: TerminalStream, lines: readonly string[]): void {
    this.progress(undefined);
    const count = this.#missed.get(stream) ?? 0;
    const remark = `troupe: dropped ${count} lines because the output was read too slowly`;
    const text = [...(count === 0 ? [] : [remark]), ...lines].map((line) => `${line}\n`).join('');
    if (this.#outbox.note(stream, text)) this.#missed.delete(stream);
    else this.#missed.set(stream, count + lines.length);
  }
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
  return writeJson(value, indent).replace(
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
