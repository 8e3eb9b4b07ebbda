/**
 * Guards a session against a server that talks without end: of what it says unasked,
 * so much a second gets through and the rest is dropped, which costs next to nothing.
 * Answers and requests of the server always pass. A flood is told once; it is over
 * when nothing had to be dropped for a while, and what was dropped may then be asked for.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Clock } from '../src/domain/clock.ts';
import type { Failure } from '../src/domain/failure.ts';

/** A server that reports progress ten times a second for each of 16 calls stays below it. */
const notificationsPerSecond = 200;
const windowMs = 1_000;
// One whole window without a drop.
const calmMs = 1_000;

/** What a person is told of a flood. */
export const floodFailure: Failure = {
  kind: 'protocol',
  message: `The server sends more than ${notificationsPerSecond} notifications a second; the rest is dropped.`,
};

export interface FloodPorts {
  readonly clock: Clock;
  readonly onFlood: () => void;
  /** What was dropped is not known: all that can change may have changed. */
  readonly onCalm: () => void;
}

export interface FloodGate {
  admits(message: JSONRPCMessage): boolean;
  stop(): void;
}

export function createFloodGate({ clock, onFlood, onCalm }: FloodPorts): FloodGate {
  let windowStart = Number.NEGATIVE_INFINITY;
  let count = 0;
  let lastDropAt = 0;
  let state: 'calm' | 'flooded' | 'stopped' = 'calm';
  let timer: unknown;

  const lookIn = (delayMs: number): void => {
    timer = clock.setTimeout(() => {
      const leftMs = lastDropAt + calmMs - clock.now();
      if (leftMs > 0) return lookIn(leftMs);
      state = 'calm';
      onCalm();
    }, delayMs);
  };
  const drop = (now: number): void => {
    lastDropAt = now;
    if (state !== 'calm') return;
    state = 'flooded';
    lookIn(calmMs);
    onFlood();
  };

  return {
    admits(message) {
      if (!('method' in message) || 'id' in message) return true;
      const now = clock.now();
      if (now - windowStart >= windowMs) {
        windowStart = now;
        count = 0;
      }
      count += 1;
      if (count <= notificationsPerSecond) return true;
      drop(now);
      return false;
    },
    stop() {
      state = 'stopped';
      clock.clearTimeout(timer);
    },
  };
}

/** Puts the gate before whoever listens to the transport now. */
export function guardTransport(transport: Transport, gate: FloodGate): void {
  const listener = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (gate.admits(message)) listener?.(message, extra);
  };
}
