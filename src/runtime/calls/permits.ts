/** Has calls allowed before they are sent, and ends the question with whatever ends the call. */

import type { Clock } from '../../domain/clock.ts';
import type { Subject } from '../errors/call.ts';
import { denied } from '../errors/permission-refusal.ts';
import type { PermissionDesk, Permit } from '../people/permission-desk.ts';
import type { Sighting, StatusBoard } from '../status/board.ts';
import type { CallOptions } from '../troupe.ts';
import type { Errand } from './errand.ts';
import { gateFor } from './gate.ts';
import { deadlineOf } from './times.ts';

export interface CallPermitsPorts {
  readonly clock: Clock;
  readonly board: StatusBoard;
  readonly permissions: PermissionDesk;
}

/** What of a call a question concerns. */
export interface AskedCall {
  readonly server: string;
  readonly options: CallOptions;
  readonly startedAt: number;
  pausedMs: number;
  deadlineAt: number;
  permitted: Permit | null;
}

export class CallPermits {
  readonly #ports: CallPermitsPorts;
  /** Ends each question that is open. */
  readonly #questions = new Set<() => void>();

  constructor(ports: CallPermitsPorts) {
    this.#ports = ports;
  }

  close(): void {
    for (const end of this.#questions) end();
  }

  /**
   * Has the call allowed, and holds no place meanwhile. The question ends with the call and with its
   * server; then it is looked at again, which tells why.
   *
   * @throws TroupeError `PERMISSION_DENIED`.
   */
  async permit(
    call: AskedCall,
    { args = {}, find }: Pick<Errand<unknown, Subject>, 'args' | 'find'>,
    sighting: Sighting,
  ): Promise<void> {
    const { clock, board, permissions } = this.#ports;
    const { shown } = find(sighting);
    if (shown === undefined) return;
    const question = new AbortController();
    const end = (): void => question.abort();
    const { signal, timeoutMs, askPermission: ask } = call.options;
    const askedAt = clock.now();
    let isLate = false;
    let permit: Permit;
    const timer =
      timeoutMs === undefined
        ? undefined
        : clock.setTimeout(() => {
            isLate = true;
            end();
          }, call.deadlineAt - askedAt);
    const unwatch = board.watch(call.server, () => {
      if (this.#isRefused(call)) end();
    });
    signal?.addEventListener('abort', end, { once: true });
    this.#questions.add(end);
    try {
      const { desired } = sighting;
      permit = await permissions.decide({ desired, shown, args, ask, signal: question.signal });
    } finally {
      this.#questions.delete(end);
      signal?.removeEventListener('abort', end);
      unwatch();
      clock.clearTimeout(timer);
      call.pausedMs += clock.now() - askedAt;
      call.deadlineAt = deadlineOf(call, call.server, sighting.desired, shown.tool);
    }
    if (isLate) throw denied(shown, 'late');
    if (!question.signal.aborted) call.permitted = permit;
  }

  /** Whether the server will take no call before somebody does something. */
  #isRefused({ server, deadlineAt }: AskedCall): boolean {
    const { board, clock } = this.#ports;
    if (board.status(server) === undefined) return true;
    const sighting = board.sighting(server);
    if (sighting === undefined) return false;
    const remainingMs = deadlineAt - clock.now();
    const { callStatus, circuitUntilMs } = sighting;
    const times = { wallNowMs: clock.wallNow(), remainingMs, circuitUntilMs };
    return gateFor(callStatus, times).pass === 'refuse';
  }
}
