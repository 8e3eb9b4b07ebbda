/**
 * What clients reach over HTTP: all servers at `/mcp`, and each view of the settings at `/mcp/NAME`. Each has a
 * gateway of its own, so that no session, question or call can be continued in another.
 */

import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import type { ClientClaims } from '../policies/views/client-views.ts';
import { headerNames } from '../protocol/headers.ts';
import { methods } from '../protocol/methods.ts';
import type { Troupe } from '../runtime/troupe.ts';
import { type ClientIdentity, ignore } from './client-requests.ts';
import type { Gateway } from './gateway.ts';
import { GatewayClient, sessionlessClients } from './gateway-client.ts';
import type { OnRevoked } from './held-calls.ts';
import { HttpSessions } from './http-sessions.ts';
import { maxBodyBytes, type Refusal } from './request-guard.ts';

/** The troupe that has the views. */
export type TroupeWithViews = Pick<Troupe, 'on' | 'views'>;

/** Which part of the troupe a request is for, and what its access token says. */
export interface Wanted {
  /** The view in the request's path. */
  readonly view: string | undefined;
  /** Undefined if clients send no access tokens of an issuer. */
  readonly claims?: ClientClaims | undefined;
}

const sessionless = { canReceive: () => true, onClosed: ignore };

/** A gateway over HTTP, for clients of both eras. */
export class Lane {
  readonly gateway: Gateway;
  readonly sessions: HttpSessions;
  /** Answers clients of 2026-07-28. */
  readonly modern: McpHttpHandler;
  readonly #leave: () => void;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
    this.sessions = new HttpSessions(gateway);
    this.modern = createMcpHandler(
      async ({ authInfo, requestInfo }) => {
        const client = authInfo?.extra as ClientIdentity | undefined;
        const connection = { ...sessionless, ...client };
        const isIntroduction =
          requestInfo?.headers.get(headerNames.method) === methods.discover.name;
        const identity = await gateway.identity(isIntroduction);
        return new GatewayClient(gateway, identity, 'modern', connection).protocol;
      },
      {
        legacy: 'reject',
        maxRequestBodySize: maxBodyBytes,
        onerror: (error) => gateway.faults.add(sessionlessClients, error),
      },
    );
    const { notify } = this.modern;
    this.#leave = gateway.join({
      listChanged: (kind) => {
        if (kind === 'tools') notify.toolsChanged();
        else if (kind === 'prompts') notify.promptsChanged();
        else notify.resourcesChanged();
      },
      resourceUpdated: (server, uri) =>
        notify.resourceUpdated(gateway.offers.addressOf(server, uri)),
      // Modern clients get logs only within their own requests.
      logged: () => undefined,
    });
  }

  async close(): Promise<void> {
    this.#leave();
    await this.sessions.close();
    await this.modern.close();
  }
}

/** How a client reaches a part of the troupe. */
export interface Admitted {
  readonly lane: Lane;
  /** Whether rules decide what the client's token opens. */
  readonly isRuled: boolean;
  readonly onRevoked: OnRevoked;
}

/** The name of the part that a request is for; undefined for all servers. */
interface Place extends Pick<Admitted, 'isRuled'> {
  readonly name: string | undefined;
}

export class Lanes {
  readonly #whole: Lane;
  readonly #troupe: TroupeWithViews | undefined;
  readonly #views = new Map<string, Lane>();
  /** Ends what the settings no longer allow, and does nothing else. */
  readonly #checks = new Set<() => void>();
  readonly #leave: (() => void) | undefined;

  /** @param troupe - undefined if no views are served */
  constructor(gateway: Gateway, troupe: TroupeWithViews | undefined) {
    this.#whole = new Lane(gateway);
    this.#troupe = troupe;
    this.#leave = troupe?.on('views.changed', () => {
      for (const check of [...this.#checks]) check();
      void this.#endRemoved();
    });
  }

  get all(): readonly Lane[] {
    return [this.#whole, ...this.#views.values()];
  }

  /**
   * Finds the part of the troupe that a request is for. Without a view in its path, a client to which rules open
   * views gets the first of them.
   */
  admit(wanted: Wanted): Admitted | Refusal {
    const place = this.#placeOf(wanted);
    if ('status' in place) return place;
    const { name, isRuled } = place;
    const isOwn = name === undefined || name === this.#whole.gateway.view;
    const lane = isOwn ? this.#whole : this.#laneOf(name);
    if ('status' in lane) return lane;
    const isOpen = (): boolean => {
      const now = this.#placeOf(wanted);
      return !('status' in now) && now.name === name;
    };
    return {
      lane,
      isRuled,
      onRevoked: (end) => {
        const check = (): void => {
          if (isOpen()) return;
          this.#checks.delete(check);
          end();
        };
        this.#checks.add(check);
        check();
        return () => this.#checks.delete(check);
      },
    };
  }

  #placeOf({ view, claims }: Wanted): Place | Refusal {
    const own = this.#whole.gateway.view;
    const open = claims && this.#troupe?.views(claims);
    const isRuled = open !== undefined;
    const served = own === undefined ? (this.#troupe?.views() ?? []) : [own];
    const names = isRuled ? served.filter((name) => open.includes(name)) : served;
    if (isRuled && names.length === 0) return closed;
    const name = view ?? own ?? (isRuled ? names[0] : undefined);
    return name === undefined || names.includes(name) ? { name, isRuled } : unknownView;
  }

  /** Ends what belongs to views that are no longer in the settings. */
  async #endRemoved(): Promise<void> {
    const known = this.#troupe?.views() ?? [];
    const removed = [...this.#views].filter(([name]) => !known.includes(name));
    for (const [name] of removed) this.#views.delete(name);
    await Promise.all(removed.map(([, lane]) => endView(lane)));
  }

  /** Refuses new requests and waits for those in progress, up to the limit. */
  async drain(limitMs: number): Promise<void> {
    await Promise.all(this.all.map(({ gateway }) => gateway.drain(limitMs)));
  }

  /** Closes all, but for the gateway that was given. */
  async close(): Promise<void> {
    this.#leave?.();
    await Promise.all([this.#whole.close(), ...[...this.#views.values()].map(endView)]);
  }

  #laneOf(view: string): Lane | Refusal {
    const known = this.#views.get(view);
    if (known !== undefined) return known;
    const { gateway } = this.#whole;
    if (gateway.isDraining) return stopping;
    const lane = new Lane(gateway.forView(view));
    this.#views.set(view, lane);
    return lane;
  }
}

async function endView(lane: Lane): Promise<void> {
  await lane.close();
  lane.gateway.close();
}

const unknownView: Refusal = {
  status: 404,
  message: 'there is no such view; views are in "mcp": { "views": { … } } of the settings',
};

const stopping: Refusal = {
  status: 503,
  message: 'the gateway is stopping',
  headers: { 'retry-after': '5' },
};

const closed: Refusal = {
  status: 403,
  message: 'no view is open to this token; ask the operator for a rule in mcp.views',
};
