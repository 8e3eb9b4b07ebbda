/** Requests permissions for calls; a request ends with its call or its server. */

import type { Clock } from '../../domain/clock.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import type { Subject } from '../errors/failed.ts';
import type { ServerView, StatusBoard } from '../status/board.ts';
import type { CallOptions } from '../troupe.ts';
import type { Permission, Permissions } from '../user/permissions.ts';
import { gateFor } from './gate.ts';
import type { Operation } from './operation.ts';
import { deadlineOf } from './time-limits.ts';

export interface CallPermissionsPorts {
  readonly clock: Clock;
  readonly board: StatusBoard;
  readonly permissions: Permissions;
}

/** The part of a call that a permission needs. */
export interface PendingCall {
  readonly server: string;
  readonly options: CallOptions;
  readonly startedAt: number;
  pausedMs: number;
  deadlineAt: number;
  /** The call's permission; null if none was requested. */
  permission: Permission | null;
}

type Wanted = Pick<Operation<unknown, Subject>, 'args' | 'find'>;

export class CallPermissions {
  readonly #ports: CallPermissionsPorts;
  readonly #asked = new Set<Permission>();

  constructor(ports: CallPermissionsPorts) {
    this.#ports = ports;
  }

  /** Withdraws all open requests. */
  close(): void {
    for (const permission of this.#asked) permission.withdraw();
  }

  /**
   * Returns whether the call is waiting for its permission. Requests the permission if that has not
   * been done yet.
   *
   * @throws TroupeError `PERMISSION_DENIED`.
   */
  isWaiting(call: PendingCall, wanted: Wanted, view: ServerView | null): boolean {
    const { args } = wanted;
    if (args !== undefined && view !== null && this.#isUnasked(call, view)) {
      this.#ask(call, args, view, wanted.find(view).shown);
    }
    return call.permission?.isAsking ?? false;
  }

  /**
   * Settles once the call no longer waits for its permission. If the permission was withdrawn, the
   * next check of the call and its server finds the reason.
   *
   * @throws TroupeError `PERMISSION_DENIED`.
   */
  async answered(call: PendingCall): Promise<void> {
    await call.permission?.answered;
    call.permission?.refuseDenied();
    if (call.permission?.isAllowed !== true) this.end(call);
  }

  /**
   * Returns whether the call may be sent now. Requests a new permission if what was allowed has
   * changed.
   *
   * @throws TroupeError `TOOL_CHANGED` or `PERMISSION_DENIED`.
   */
  isAllowed(
    call: PendingCall,
    { args }: Pick<Wanted, 'args'>,
    view: ServerView,
    shown: ExposedTool | undefined,
  ): boolean {
    if (args === undefined || shown === undefined) return true;
    call.permission?.review(view.desired, shown);
    if (call.permission?.isAllowed === false) this.end(call);
    if (this.#isUnasked(call, view)) this.#ask(call, args, view, shown);
    return call.permission?.isAllowed ?? true;
  }

  /** Ends a call's permission, because the call is over or needs another one. */
  end(call: PendingCall): void {
    call.permission?.end();
    call.permission = null;
  }

  #isUnasked({ permission }: PendingCall, { desired }: ServerView): boolean {
    return permission === null && !this.#ports.permissions.isOpen(desired);
  }

  /** While the user decides, the call holds no slot and the policy's deadline is paused. */
  #ask(
    call: PendingCall,
    args: Readonly<Record<string, unknown>>,
    { desired }: ServerView,
    shown: ExposedTool | undefined,
  ): void {
    if (shown === undefined) return;
    const { clock, board, permissions } = this.#ports;
    const { signal, timeoutMs, askPermission: ask } = call.options;
    const askedAt = clock.now();
    const leftMs = timeoutMs === undefined ? null : call.deadlineAt - askedAt;
    const permission = permissions.permissionFor({ desired, shown, args, ask, leftMs });
    if (permission === undefined) return;
    call.permission = permission;
    const withdraw = (): void => permission.withdraw();
    const unwatch = board.watch(call.server, () => {
      if (this.#isRefused(call)) withdraw();
    });
    signal?.addEventListener('abort', withdraw, { once: true });
    this.#asked.add(permission);
    void permission.answered.then(() => {
      this.#asked.delete(permission);
      signal?.removeEventListener('abort', withdraw);
      unwatch();
      call.pausedMs += clock.now() - askedAt;
      call.deadlineAt = deadlineOf(call, call.server, desired, shown.tool);
    });
    permission.start();
  }

  /** Returns whether the server refuses calls until the user or the settings change that. */
  #isRefused({ server, deadlineAt }: PendingCall): boolean {
    const { board, clock } = this.#ports;
    if (board.status(server) === undefined) return true;
    const view = board.view(server);
    if (view === undefined) return false;
    const remainingMs = deadlineAt - clock.now();
    const { callStatus, circuitUntilMs } = view;
    const times = { wallNowMs: clock.wallNow(), remainingMs, circuitUntilMs };
    return gateFor(callStatus, times).pass === 'refuse';
  }
}
