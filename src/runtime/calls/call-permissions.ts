/** Requests permissions for calls; a request ends with its call or its server. */

import type { Clock } from '../../domain/clock.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import type { StatusBoard } from '../status/board.ts';
import type { Permission, Permissions } from '../user/permissions.ts';
import type { Call } from './call.ts';
import { gateOf } from './gate.ts';

export interface CallPermissionsPorts {
  readonly clock: Clock;
  readonly board: StatusBoard;
  readonly permissions: Permissions;
}

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
  isWaiting(call: Call, desired: DesiredServer): boolean {
    if (this.#isUnasked(call, desired))
      this.#ask(call, desired, call.operation.find(desired).shown);
    return call.permission?.isAsking ?? false;
  }

  /**
   * Settles once the call no longer waits for its permission. If the permission was withdrawn, the
   * next check of the call and its server finds the reason.
   *
   * @throws TroupeError `PERMISSION_DENIED`.
   */
  async answered(call: Call): Promise<void> {
    await call.permission?.answered;
    call.permission?.refuseDenied();
    if (call.permission?.isAllowed !== true) call.endPermission();
  }

  /**
   * Returns whether the call may be sent now. Requests a new permission if what was allowed has
   * changed.
   *
   * @throws TroupeError `TOOL_CHANGED` or `PERMISSION_DENIED`.
   */
  isAllowed(call: Call, desired: DesiredServer, shown: ExposedTool | undefined): boolean {
    if (shown === undefined) return true;
    call.permission?.review(desired, shown);
    if (call.permission?.isAllowed === false) call.endPermission();
    if (this.#isUnasked(call, desired)) this.#ask(call, desired, shown);
    return call.permission?.isAllowed ?? true;
  }

  #isUnasked({ permission, operation, view }: Call, desired: DesiredServer): boolean {
    const isOpen = this.#ports.permissions.isOpen(desired, view?.settings);
    return operation.args !== undefined && permission === null && !isOpen;
  }

  /** While the user decides, the call holds no slot and the policy's deadline is paused. */
  #ask(call: Call, desired: DesiredServer, shown: ExposedTool | undefined): void {
    const { options, operation, ownDeadlineAt, view } = call;
    const { signal, askPermission: ask } = options;
    if (shown === undefined || operation.args === undefined) return;
    const { clock, board, permissions } = this.#ports;
    const askedAt = clock.now();
    const leftMs = ownDeadlineAt === undefined ? null : ownDeadlineAt - askedAt;
    const { args } = operation;
    const permission = permissions.permissionFor({ desired, shown, args, ask, leftMs, view });
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
      call.setDeadline(desired);
    });
    permission.start();
  }

  /** Returns whether the server refuses calls until the user or the settings change that. */
  #isRefused({ server, deadlineAt }: Call): boolean {
    const { board, clock } = this.#ports;
    if (board.status(server) === undefined) return true;
    const view = board.view(server);
    return view !== undefined && gateOf(view, deadlineAt, clock).pass === 'refuse';
  }
}
