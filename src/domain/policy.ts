/** Numbers and rules that tune the life of one server. All of it applies in place. */

/** When a lost session is opened again: `auto` = stdio after a failure, remote always. */
export type RestartRule = 'auto' | 'never' | 'failure' | 'always';

/** A limit on events within a sliding window. */
export interface WindowLimit {
  /** Reaching this many trips the limit. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface BackoffPolicy {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** No delay is shorter than this, whatever the jitter. */
  readonly floorMs: number;
}

export interface ServerPolicy {
  /** Longest wait for a start permit before the wait is given up and tried again later. */
  readonly queueTimeoutMs: number;
  /** From the permit to a finished handshake. */
  readonly connectTimeoutMs: number;
  /** For the whole tool list, all pages together. */
  readonly listTimeoutMs: number;
  /** Longest wait for a session to end before it is disposed of by force. */
  readonly closeTimeoutMs: number;
  readonly restart: RestartRule;
  /** Tries of one outage, the first included. */
  readonly maxAttempts: number;
  readonly backoff: BackoffPolicy;
  /** Quiet single tries of a remote server after its attempts ran out. */
  readonly lostBackoff: BackoffPolicy;
  /** Ready for this long, the attempts of the outage are forgotten. */
  readonly sustainedReadyMs: number;
  readonly crashLoop: WindowLimit;
  readonly reconnectStorm: WindowLimit;
  /** Consecutive failed calls that open the circuit. */
  readonly circuitThreshold: number;
  readonly circuitCooldownMs: number;
  readonly circuitMaxCooldownMs: number;
  readonly probeTimeoutMs: number;
  /**
   * Ready without a call for this long, the session is closed until demanded; null = never.
   * Counted from a second after the last call: until then the next may belong to the same work.
   */
  readonly idleStopMs: number | null;
  /** Deadline of one call, waiting included. */
  readonly callTimeoutMs: number;
  /** After closing stdin, how long a process may take to leave by itself. */
  readonly stdinGraceMs: number;
  /** After SIGTERM, how long a process group may take before SIGKILL. */
  readonly termGraceMs: number;
}
