/**
 * Shows a running troupe: a live table on a terminal, log lines elsewhere. Events and snapshots come from
 * the troupe itself (`up`) or from its socket (`status --watch`).
 */

import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import type { CliSession } from '../command.ts';
import type { ControlEvent } from '../control/protocol.ts';
import type { Output } from './output.ts';
import {
  planLines,
  problemLines,
  statusLine,
  statusLines,
  summaryText,
  withShortPlaces,
} from './status-lines.ts';
import { cutTo } from './table.ts';

export interface TroupeView {
  event(event: ControlEvent): void;
  /** Lines that stay on the screen. */
  say(...lines: string[]): void;
  /** Leaves the terminal to a question until the returned function is called. */
  hold(): () => void;
  /** Removes the table for good and keeps the lines; later lines are still shown. */
  end(): void;
}

/** Countdowns are shown in seconds. */
const redrawEveryMs = 1_000;
/** Events come in bursts; one frame per event would be wasted. */
const gatherMs = 40;
/** Lines kept back during a question; more would bury it. */
const maxWithheld = 200;

export interface ViewSource {
  readonly snapshot: () => TroupeSnapshot;
  /** Under the table: where the socket is and how to stop. */
  readonly footer: readonly string[];
}

/** Builds a table for a terminal, log lines otherwise. */
export function createTroupeView(
  { host, output, launch }: CliSession,
  source: ViewSource,
): TroupeView {
  return output.interactive ? liveView({ host, output, launch }, source) : logView(output, source);
}

function eventLines(event: ControlEvent): string[] {
  if (event.type === 'reconciled') return planLines(event.plan);
  if (event.type === 'settings.invalid') return problemLines(event.problems);
  if (event.type !== 'events.dropped') return [];
  return [`${event.count} events were dropped because this terminal was too slow`];
}

function logView(output: Output, source: ViewSource): TroupeView {
  const shown = new Map<string, string>();
  const say = (...lines: string[]): void => {
    const at = new Date().toISOString();
    const stamped = lines.map((line) => `${at} ${line}`);
    if (output.json) for (const line of stamped) output.note(line);
    else output.news(stamped);
  };
  const logStatus = (status: ServerStatus): void => {
    const line = statusLine(status, Date.now());
    if (shown.get(status.name) === line) return;
    shown.set(status.name, line);
    say(line);
  };
  say(...source.footer);
  return {
    event(event) {
      if (event.type === 'status.changed') logStatus(event.status);
      else say(...eventLines(event));
    },
    say,
    hold: () => () => undefined,
    end: () => undefined,
  };
}

function liveView(
  { host: { stdout }, output, launch }: CliSession,
  source: ViewSource,
): TroupeView {
  const screen = new LiveScreen((text) => output.raw(text));
  const cut = (line: string): string => cutTo(line, output.width);
  // Lines that arrive during a question are shown after it.
  let withheld: string[] | undefined;
  const log = (lines: readonly string[]): void => {
    if (withheld === undefined) screen.log(lines.map(cut));
    else withheld = [...withheld, ...lines].slice(-maxWithheld);
  };
  let isOver = false;
  const showWithheld = (): void => {
    const lines = withheld ?? [];
    withheld = undefined;
    log(lines);
  };
  const draw = (): void => {
    if (isOver || withheld !== undefined) return;
    const servers = withShortPlaces(source.snapshot().servers, launch.projectRoot);
    const summary = servers.length === 0 ? [] : [cut(summaryText(servers))];
    const room = Math.max(2, output.height - source.footer.length - summary.length - 3);
    const table = statusLines(servers, Date.now(), output.width, output.paint, room);
    const footer = source.footer.map((line) => output.paint('gray', cut(line)));
    screen.show(['', ...table, '', ...summary, ...footer]);
  };
  let gathering: NodeJS.Timeout | undefined;
  const drawSoon = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      draw();
    }, gatherMs);
  };
  const ticking = setInterval(draw, redrawEveryMs);
  stdout.on('resize', () => {
    draw();
    if (!isOver && withheld === undefined) screen.resized();
  });
  return {
    event(event) {
      log(eventLines(event));
      drawSoon();
    },
    say(...lines) {
      log(lines);
    },
    hold() {
      withheld ??= [];
      screen.end();
      const summary = summaryText(source.snapshot().servers);
      output.raw(`${cut(`${summary}; the table returns after this question`)}\n`);
      return () => {
        if (isOver) return;
        showWithheld();
        draw();
      };
    },
    end() {
      isOver = true;
      clearInterval(ticking);
      clearTimeout(gathering);
      showWithheld();
      screen.end();
    },
  };
}

const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';
const eraseRestOfLine = '\u001b[K';
const eraseBelow = '\u001b[J';
const clearAll = '\u001b[2J\u001b[H';

/** Draws through `write`; lines must already fit the terminal's width. */
export class LiveScreen {
  readonly #write: (text: string) => void;
  #block: readonly string[] = [];
  #drawn = 0;
  #begun = false;
  /** The frame on the screen; undefined once the terminal may have moved it. */
  #last: string | undefined = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Replaces the block. */
  show(lines: readonly string[]): void {
    this.#block = lines;
    this.#draw([]);
  }

  /** Adds permanent lines above the block. */
  log(lines: readonly string[]): void {
    if (lines.length > 0) this.#draw(lines);
  }

  /** Redraws everything, because a resize moved what was on the terminal. */
  resized(): void {
    this.#last = undefined;
    this.#draw([], clearAll);
  }

  /** Removes the block, keeps the log lines, and shows the cursor again. */
  end(): void {
    if (this.#begun) this.#write(`${this.#toFirstLine()}${eraseBelow}${showCursor}`);
    this.#begun = false;
    this.#drawn = 0;
    this.#block = [];
    this.#last = undefined;
  }

  #draw(above: readonly string[], start = this.#toFirstLine()): void {
    const frame = [...above, ...this.#block].map((line) => `${line}${eraseRestOfLine}\n`).join('');
    if (above.length === 0 && frame === this.#last) return;
    this.#last = above.length === 0 ? frame : '';
    this.#write(`${this.#begun ? '' : hideCursor}${start}${frame}${eraseBelow}`);
    this.#begun = true;
    this.#drawn = this.#block.length;
  }

  #toFirstLine(): string {
    return this.#drawn > 0 ? `\u001b[${this.#drawn}A\r` : '';
  }
}
