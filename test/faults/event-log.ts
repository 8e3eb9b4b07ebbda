/** Reads the event log of a hostile server. */

import { readFileSync } from 'node:fs';

import { until } from './until.ts';

export interface LoggedEvent {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly pid: number;
  readonly event: string;
  readonly id?: string | number;
  readonly n?: number;
  readonly error?: number;
  /** The session id of a request. */
  readonly session?: string;
  readonly [fact: string]: unknown;
}

export class EventLog {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** In the order in which they happened. */
  all(event?: string): readonly LoggedEvent[] {
    let text = '';
    try {
      text = readFileSync(this.file, 'utf8');
    } catch {
      return [];
    }
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LoggedEvent)
      .filter((entry) => event === undefined || entry.event === event);
  }

  count(event: string): number {
    return this.all(event).length;
  }

  /** Resolves with the nth such event. */
  async nth(event: string, n = 1): Promise<LoggedEvent> {
    return until(() => this.all(event)[n - 1], `${event} number ${n} of the server`);
  }
}
