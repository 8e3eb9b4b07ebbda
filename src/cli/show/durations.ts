/** Formats times briefly, in at most two units. */

/** A length of time, for example `4s`, `2m 05s`, `3h 10m`, `2d 4h`. */
export function shortDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${pad(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h ${pad(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

/** How long ago an ISO time was; empty for an invalid time. */
export function sinceText(iso: string, nowMs: number): string {
  const at = Date.parse(iso);
  return Number.isNaN(at) ? '' : shortDuration(nowMs - at);
}

/** How long until an ISO time; `now` once it has passed, empty without one. */
export function untilText(iso: string | undefined, nowMs: number): string {
  if (iso === undefined) return '';
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return '';
  return at <= nowMs ? 'now' : `in ${shortDuration(Math.max(1_000, at - nowMs))}`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** A duration, to the tenth of a second where that matters: `40ms`, `1.5s`, `3m 20s`. */
export function lengthText(ms: number): string {
  const whole = Math.round(ms);
  if (whole < 1_000) return `${whole}ms`;
  const tenths = Math.round(ms / 100);
  return tenths < 600 ? `${tenths / 10}s` : shortDuration(ms);
}
