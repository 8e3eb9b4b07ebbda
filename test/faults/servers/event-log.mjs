/** Logs what a hostile server did and received, one JSON object per line, for its row to read. */

import { appendFileSync, readFileSync } from 'node:fs';

const file = process.env.FAULTS_LOG;

export function log(event, facts = {}) {
  if (file === undefined) return;
  appendFileSync(
    file,
    `${JSON.stringify({ at: Date.now(), pid: process.pid, event, ...facts })}\n`,
  );
}

/** How often this was logged so far, by this life and earlier ones. */
export function logged(event) {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    return lines.filter((line) => JSON.parse(line).event === event).length;
  } catch {
    return 0;
  }
}
