/**
 * What a person sees of a troupe while it runs: a live table on a terminal, log
 * lines elsewhere. Fed with events and snapshots, it knows nothing of where they
 * come from: `up` has the troupe itself, `status --watch` only its socket.
 */

import type { ServerStatus, TroupeSnapshot } from '../domain/status.ts';
import type { ControlEvent } from './control-protocol.ts';
import { createLiveScreen } from './live-screen.ts';
import type { Output } from './output.ts';
import { planLines, problemLines, statusLine } from './status-log.ts';
import { statusLines } from './status-table.ts';
import { cutTo } from './table.ts';

export interface TroupeView {
  event(event: ControlEvent): void;
  /** Lines that stay on the screen. */
  say(...lines: string[]): void;
  /** Gives the terminal back: of the table nothing stays, of the lines all. */
  end(): void;
}

/** The countdowns are told in seconds. */
const redrawEveryMs = 1_000;
/** Events come in bursts; one frame for each is more than an eye can see. */
const gatherMs = 40;

export interface ViewSource {
  readonly snapshot: () => TroupeSnapshot;
  /** Under the table: where the socket is and how to stop. */
  readonly footer: readonly string[];
}

/** Builds the view that suits where stdout goes. */
export function createTroupeView(
  output: Output,
  source: ViewSource,
  onResize: (listener: () => void) => void,
): TroupeView {
  return output.interactive ? liveView(output, source, onResize) : logView(output, source);
}

function eventLines(event: ControlEvent): string[] {
  if (event.type === 'reconciled') return planLines(event.plan);
  if (event.type === 'settings.invalid') return problemLines(event.problems);
  if (event.type !== 'events.dropped') return [];
  return [`${event.count} events were left out, because this terminal was too slow`];
}

function logView(output: Output, source: ViewSource): TroupeView {
  const told = new Map<string, string>();
  const say = (...lines: string[]): void => {
    const at = new Date().toISOString();
    const stamped = lines.map((line) => `${at} ${line}`);
    if (output.json) for (const line of stamped) output.note(line);
    else output.lines(stamped);
  };
  const tellStatus = (status: ServerStatus): void => {
    const line = statusLine(status, Date.now());
    if (told.get(status.name) === line) return;
    told.set(status.name, line);
    say(line);
  };
  say(...source.footer);
  return {
    event(event) {
      if (event.type === 'status.changed') tellStatus(event.status);
      else say(...eventLines(event));
    },
    say,
    end: () => undefined,
  };
}

function liveView(
  output: Output,
  source: ViewSource,
  onResize: (listener: () => void) => void,
): TroupeView {
  const screen = createLiveScreen((text) => output.raw(text));
  const cut = (line: string): string => cutTo(line, output.width);
  const draw = (): void => {
    const room = Math.max(2, output.height - source.footer.length - 3);
    const { servers } = source.snapshot();
    const table = statusLines(servers, Date.now(), output.width, output.paint, room);
    const footer = source.footer.map((line) => output.paint('gray', cut(line)));
    screen.show(['', ...table, '', ...footer]);
  };
  let gathering: NodeJS.Timeout | undefined;
  const drawSoon = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      draw();
    }, gatherMs);
  };
  const ticking = setInterval(draw, redrawEveryMs);
  onResize(() => {
    draw();
    screen.resized();
  });
  return {
    event(event) {
      screen.log(eventLines(event).map(cut));
      drawSoon();
    },
    say(...lines) {
      screen.log(lines.map(cut));
    },
    end() {
      clearInterval(ticking);
      clearTimeout(gathering);
      screen.end();
    },
  };
}
