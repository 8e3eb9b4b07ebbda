/**
 * One MCP server in front of all servers of a troupe, of one, or of a view. It uses the public interface of the runtime
 * and decides nothing about servers. Each client has its own protocol instance ({@link GatewayClient}); this
 * class holds what clients share.
 */

import type { Clock } from '../domain/clock.ts';
import { isAtRest, isUsable } from '../domain/server-state.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { methods } from '../protocol/methods.ts';
import { createThrottle, type Throttle } from '../runtime/throttle.ts';
import type { Troupe } from '../runtime/troupe.ts';
import { waitOnce } from '../runtime/wait-once.ts';
import { BackgroundTools } from './background-tools.ts';
import { CallMetrics } from './call-metrics.ts';
import { FaultLog } from './fault-log.ts';
import { HeldCalls } from './held-calls.ts';
import { GatewayLogins } from './logins.ts';
import { createOffers, type Offers } from './offers.ts';
import { SessionlessClients } from './question-delivery.ts';
import {
  type GatewayIdentity,
  identityOfAll,
  identityOfOne,
  unknownIdentity,
} from './server-info.ts';

/** The lists for which clients get change notifications. */
export type ListKind = 'tools' | 'resources' | 'prompts';

/** A receiver of notifications. */
export interface Audience {
  listChanged(kind: ListKind): void;
  /** A resource changed; `uri` is the server's own. */
  resourceUpdated(server: string, uri: string): void;
  /** A server sent a log line. */
  logged(server: string, params: Readonly<Record<string, unknown>>): void;
}

/** A troupe or a view of one. */
type ShownTroupe = ReturnType<Troupe['view']>;

export interface GatewayOptions {
  readonly troupe: Troupe;
  readonly clock: Clock;
  /** The only server to show, under its own names. Default: all servers, with prefixed names. */
  readonly only?: string;
  /** The view of the troupe that is shown. Default: none, but the whole troupe. */
  readonly view?: string;
  /**
   * Whether clients are asked to open the page of a login that their call needs. Only if they all belong to the
   * troupe's user, because the login becomes that user's. Default: no.
   */
  readonly asksForLogins?: boolean;
  /** Receives protocol faults and our own faults. */
  readonly report: (message: string) => void;
  /** Counts the calls of several gateways together. Default: those of this one alone. */
  readonly metrics?: CallMetrics;
}

// Tools that a view does not name otherwise have the same names as without a view.
const template = '{server}__{tool}';
// Frequent list changes of a server must not flood clients.
const listChangedIntervalMs = 1_000;
// A server may take this long to connect; a client waits no longer for the server's identity.
const identityMs = 30_000;

// Many hosts list tools only once, right after the start. Servers started by a package runner list their tools
// within this time, and hosts wait longer than this for an answer.
const firstListsMs = 5_000;

export class Gateway {
  readonly troupe: ShownTroupe;
  readonly clock: Clock;
  readonly offers: Offers;
  readonly metrics: CallMetrics;
  readonly held: HeldCalls;
  readonly background: BackgroundTools;
  readonly sessionless = new SessionlessClients();
  /** Undefined: clients are not asked to log in. */
  readonly logins: GatewayLogins | undefined;
  /** The name of the view that is shown. */
  readonly view: string | undefined;
  /** Logs faults in the protocol by client. */
  readonly faults: FaultLog;
  readonly #options: GatewayOptions;
  readonly #audiences = new Set<Audience>();
  readonly #news: Readonly<Record<ListKind, Throttle>>;
  readonly #ends: readonly (() => void)[];
  /** Called when no request is in progress anymore. */
  readonly #onIdle = new Set<() => void>();
  /** Callbacks that cancel pending work when the gateway shuts down. */
  readonly #givingUp = new Set<() => void>();
  /** Cached, because modern clients need it for every request. */
  #identity: { readonly of: object; readonly is: GatewayIdentity } | undefined;
  readonly #firstLists = new Map<ListKind, Promise<unknown>>();
  /** When clients wait no longer for the first lists; set by the first that needs one. */
  #firstListsUntil: number | undefined;
  #callsInFlight = 0;
  #isDraining = false;

  constructor(options: GatewayOptions) {
    const { clock, only, view, asksForLogins = false, report } = options;
    const troupe = view === undefined ? options.troupe : options.troupe.view(view, { template });
    this.#options = options;
    this.view = view;
    this.troupe = troupe;
    this.clock = clock;
    this.faults = new FaultLog(clock, report);
    this.offers = createOffers(troupe, only, view !== undefined);
    this.metrics = options.metrics ?? new CallMetrics(troupe);
    this.held = new HeldCalls(clock);
    this.background = new BackgroundTools(troupe);
    const throttle = (kind: ListKind): Throttle =>
      createThrottle(clock, listChangedIntervalMs, () => {
        for (const audience of this.#audiences) audience.listChanged(kind);
      });
    this.#news = {
      tools: throttle('tools'),
      resources: throttle('resources'),
      prompts: throttle('prompts'),
    };
    this.logins = asksForLogins
      ? new GatewayLogins({
          troupe,
          clock,
          isShown: (server) => this.#isShown(server),
          onToolChanged: () => this.#news.tools.trigger(),
        })
      : undefined;
    let hasBackground = this.#hasBackground();
    const lookAgain = (): void => {
      this.logins?.lookAgain();
      if (this.#hasBackground() === hasBackground) return;
      hasBackground = !hasBackground;
      this.#news.tools.trigger();
    };
    this.#ends = [
      troupe.on('reconciled', lookAgain),
      options.troupe.on('views.changed', lookAgain),
      troupe.on('tools.changed', ({ servers }) => this.#changed('tools', servers)),
      troupe.on('resources.changed', ({ server }) => this.#changed('resources', [server])),
      troupe.on('prompts.changed', ({ server }) => this.#changed('prompts', [server])),
      troupe.on('resource.updated', ({ server, uri }) => {
        if (!this.#isShown(server)) return;
        for (const audience of this.#audiences) audience.resourceUpdated(server, uri);
      }),
      troupe.on('notification', ({ server, method, params }) => {
        if (method !== methods.logMessage.name || !this.#isShown(server)) return;
        for (const audience of this.#audiences) audience.logged(server, params);
      }),
    ];
  }

  get callsInFlight(): number {
    return this.#callsInFlight;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * The tools that clients see: `log_in` only those that can open its page, and an app's own tools only those that
   * render apps.
   */
  tools(canOpenPages = false, rendersApps = false): ReturnType<Offers['tools']> {
    const listed = rendersApps ? this.offers.tools() : this.offers.toolsForModels();
    const all = this.#hasBackground() ? this.background.beside(listed) : listed;
    return canOpenPages && this.logins !== undefined ? this.logins.beside(all) : all;
  }

  /** Resolves when the servers that were starting have sent this list, or after a few seconds. */
  firstLists(kind: ListKind): Promise<unknown> {
    const { clock, troupe } = this;
    this.#firstListsUntil ??= clock.now() + firstListsMs;
    const timeoutMs = Math.max(0, this.#firstListsUntil - clock.now());
    const server = this.#options.only;
    const lists =
      this.#firstLists.get(kind) ??
      troupe.listed(kind, { timeoutMs, ...(server !== undefined && { server }) });
    this.#firstLists.set(kind, lists);
    return lists;
  }

  /** Creates a gateway for a view of the same troupe, whose calls are counted together with those here. */
  forView(view: string): Gateway {
    return new Gateway({ ...this.#options, view, metrics: this.metrics });
  }

  /** Adds a receiver of notifications; returns how to remove it. */
  join(audience: Audience): () => void {
    this.#audiences.add(audience);
    return () => this.#audiences.delete(audience);
  }

  /**
   * The identity for clients. With `only`, waits a while for that server. A client that introduces itself also
   * waits for the first instructions, because it gets them only once.
   */
  async identity(isIntroduction = true): Promise<GatewayIdentity> {
    const { only, view } = this.#options;
    const profile =
      only === undefined
        ? undefined
        : (this.troupe.profile(only) ?? (await this.#awaitProfile(only)));
    // Instructions arrive with the tools.
    if (isIntroduction) await this.firstLists('tools');
    if (only !== undefined)
      return profile === undefined
        ? unknownIdentity(this.#isHidden(only) ? undefined : only)
        : identityOfOne(this.troupe, only, profile);
    const instructions = this.troupe.instructions();
    if (this.#identity?.of !== instructions)
      this.#identity = { of: instructions, is: identityOfAll(instructions, view) };
    return this.#identity.is;
  }

  /**
   * Runs a request of a client.
   * @throws TroupeError `SHUTTING_DOWN` while the gateway is stopping
   */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isDraining) {
      throw new TroupeError('SHUTTING_DOWN', 'The gateway is stopping. Reconnect later.', {
        retryable: true,
      });
    }
    this.#callsInFlight += 1;
    try {
      return await work();
    } finally {
      this.#callsInFlight -= 1;
      if (this.#callsInFlight === 0) for (const wake of [...this.#onIdle]) wake();
    }
  }

  /** Calls back when the time to finish requests is over; returns how to unsubscribe. */
  atShutdown(giveUp: () => void): () => void {
    this.#givingUp.add(giveUp);
    return () => this.#givingUp.delete(giveUp);
  }

  /**
   * Refuses new requests and waits for those in progress, up to the limit. The rest are then cancelled, so
   * that their clients get an error instead of waiting for their own time-out.
   */
  async drain(limitMs: number): Promise<void> {
    this.#isDraining = true;
    if (this.#callsInFlight > 0 && limitMs > 0)
      await waitOnce(this.#within(limitMs), (wake) => {
        this.#onIdle.add(wake);
        return () => this.#onIdle.delete(wake);
      });
    for (const giveUp of [...this.#givingUp]) giveUp();
  }

  close(): void {
    this.#isDraining = true;
    for (const end of this.#ends) end();
    this.logins?.close();
    for (const throttle of Object.values(this.#news)) throttle.stop();
    if (this.#options.metrics === undefined) this.metrics.close();
    this.held.close();
    this.faults.close();
    this.#audiences.clear();
  }

  /** Whether a call may be moved to the background. */
  #hasBackground(): boolean {
    return this.troupe.backgroundServers().some((server) => this.#isShown(server));
  }

  #within(limitMs: number) {
    return { clock: this.clock, deadlineAt: this.clock.now() + limitMs, signal: undefined };
  }

  #changed(kind: ListKind, servers: readonly string[]): void {
    if (servers.some((each) => this.#isShown(each))) this.#news[kind].trigger();
  }

  #isShown(server: string): boolean {
    const { only = server } = this.#options;
    return only === server;
  }

  /** Whether there is such a server, and the view leaves it out. */
  #isHidden(server: string): boolean {
    const isThere = this.#options.troupe.status(server) !== undefined;
    return isThere && this.troupe.status(server) === undefined;
  }

  /** Starts a dormant server; a server that the user stopped stays stopped. */
  async #awaitProfile(server: string) {
    if (this.troupe.status(server)?.state === 'dormant')
      this.#options.troupe.send({ type: 'server.start', server });
    await waitOnce(this.#within(identityMs), (wake) => {
      const look = (): void => {
        const state = this.troupe.status(server)?.state;
        // A server that is ready and did not identify itself never will.
        const isOver = state !== undefined && (isAtRest(state) || isUsable(state));
        if (isOver || this.#isHidden(server) || this.troupe.profile(server) !== undefined) wake();
      };
      const end = this.troupe.on('status.changed', look);
      look();
      return end;
    });
    return this.troupe.profile(server);
  }
}
