/** The outcome of one check of `troupe doctor`. */
export interface Finding {
  readonly check: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly message: string;
  /** What to do; absent for `ok`. */
  readonly next?: string;
}

export function ok(check: string, message: string): Finding {
  return { check, verdict: 'ok', message };
}

export function warning(check: string, message: string, next: string): Finding {
  return { check, verdict: 'warn', message, next };
}

export function failure(check: string, message: string, next: string): Finding {
  return { check, verdict: 'fail', message, next };
}

/** Names servers in a sentence; many are counted. */
export function serversText(names: readonly string[]): string {
  const most = 3;
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}
