/** Statuses as streams for RxJS or XState. */

import type { ServerStatus } from '../../domain/host/status.ts';
import type { Stream, Streamable } from '../../domain/host/stream.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import { callListener } from '../listeners.ts';
import { checkName } from '../options/check.ts';
import type { ServerHandle } from '../troupe.ts';
import type { StatusBoard } from './board.ts';

type Report = (message: string, error: unknown) => void;

/**
 * Returns the handle of one server, which need not exist yet.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` for a name that is not a string.
 */
export function serverHandle(name: string, board: StatusBoard, report: Report): ServerHandle {
  checkName('name of the server', name);
  const status = () => board.status(name);
  const stream = streamOf(status, (check) => board.watch(name, check), board, report);
  return streamable({ name, status }, stream);
}

/**
 * Returns the stream of all statuses. Changes within one turn of the event loop are emitted as one
 * value.
 */
export function allStatuses(board: StatusBoard, report: Report): Stream<readonly ServerStatus[]> {
  const follow = (check: () => void) => {
    let isDue = false;
    return board.watchAll(() => {
      if (board.isClosed) check();
      else if (!isDue) {
        isDue = true;
        queueMicrotask(() => {
          isDue = false;
          check();
        });
      }
    });
  };
  return streamOf(() => board.statuses(), follow, board, report);
}

/**
 * Emits the current value immediately, then each new one; completes when the board closes.
 *
 * @param follow - calls back when the value may have changed; returns the unsubscribe function
 */
function streamOf<Value extends ServerStatus | undefined | readonly ServerStatus[]>(
  current: () => Value,
  follow: (check: () => void) => () => void,
  board: StatusBoard,
  report: Report,
): Stream<Value> {
  const onThrow = (error: unknown): void => report('An observer of a status stream threw.', error);
  return {
    subscribe: (given) => {
      const observer = typeof given === 'function' ? { next: given } : given;
      let last: { readonly value: Value } | undefined;
      let unfollow: (() => void) | undefined;
      const unsubscribe = (): void => {
        unfollow?.();
        unfollow = undefined;
      };
      const complete = (): void => {
        if (unfollow === undefined) return;
        unsubscribe();
        callListener(() => observer.complete?.(), onThrow);
      };
      const check = (): void => {
        if (unfollow === undefined) return;
        const value = current();
        if (
          last === undefined ||
          !equalTyped<ServerStatus | undefined | readonly ServerStatus[]>(value, last.value)
        ) {
          last = { value };
          callListener(() => observer.next?.(value), onThrow);
        }
        if (board.isClosed) complete();
      };
      // Before the first value, so that changes caused by the observer are noticed.
      unfollow = follow(check);
      check();
      return { unsubscribe };
    },
  };
}

/**
 * Lets libraries find an object's stream. They check for `Symbol.observable` if it was defined
 * before they were loaded, and for its stand-in otherwise.
 */
export function streamable<Target extends object, Value>(
  target: Target,
  stream: Stream<Value>,
): Target & Streamable<Value> {
  const symbol: symbol | undefined = Symbol.observable;
  for (const key of symbol === undefined ? ['@@observable'] : [symbol, '@@observable'])
    Object.defineProperty(target, key, { value: () => stream });
  return target as Target & Streamable<Value>;
}
