/** Formats times: short, and with a stable width while they count. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** The remaining time of a wait: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`. Never negative. */
export function countdown(ms: number): string {
  const left = Math.max(0, ms);
  if (left < 10 * second) return `${(Math.ceil(left / 100) / 10).toFixed(1)} s`;
  return coarse(Math.ceil(left / second) * second);
}

/** How long something took: `3 ms`, `1.25 s`, `2 min 03 s`. */
export function duration(ms: number): string {
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(ms / second).toFixed(2)} s`;
  if (ms < minute) return `${(ms / second).toFixed(1)} s`;
  return coarse(ms);
}

/** How long ago, or how long something has lasted: `now`, `5 s`, `12 min`, `3 h`, `2 d`. */
export function age(ms: number): string {
  if (ms < second) return 'now';
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min`;
  if (ms < 2 * day) return `${Math.floor(ms / hour)} h`;
  return `${Math.floor(ms / day)} d`;
}

/** A moment of the journal, from its beginning: `00:03.250`, `1:02:03.250`. */
export function stamp(ms: number): string {
  const total = Math.max(0, Math.floor(ms));
  const hours = Math.floor(total / hour);
  const minutes = Math.floor((total % hour) / minute);
  const seconds = Math.floor((total % minute) / second);
  const tail = `${two(minutes)}:${two(seconds)}.${String(total % second).padStart(3, '0')}`;
  return hours === 0 ? tail : `${hours}:${tail}`;
}

function coarse(ms: number): string {
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour)
    return `${Math.floor(ms / minute)} min ${two(Math.floor((ms % minute) / second))} s`;
  if (ms < 2 * day)
    return `${Math.floor(ms / hour)} h ${two(Math.floor((ms % hour) / minute))} min`;
  return `${Math.floor(ms / day)} d`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
