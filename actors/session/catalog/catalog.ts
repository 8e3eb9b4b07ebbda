/**
 * The server's catalog in one open session: fetches its lists and follows its changes.
 *
 * The session chart decides when a list is fetched and receives the changes that the server
 * announces. A failed list of resources or prompts affects no other list.
 */

import type { SubscriptionFilter } from '@modelcontextprotocol/client';
import type { SideLists } from '../../../src/domain/catalog.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import { printableText } from '../../../src/domain/data/printable.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { ListName, ListOutcome, SessionId, WireFact } from '../../../src/domain/session.ts';
import type { ListedTool } from '../../../src/domain/tool.ts';
import {
  promptKind,
  resourceKind,
  templateKind,
  toolKind,
  toolWithHeadersKind,
} from '../../../src/protocol/items.ts';
import { gapsInWords, type ItemList, type ListKind, listAll } from '../../../src/protocol/lists.ts';
import type { Client } from '../../../src/protocol/mcp-client.ts';
import { methods } from '../../../src/protocol/methods.ts';
import { methodNotFound } from '../../../src/protocol/rpc-codes.ts';
import { Reopening } from '../../transports/http/reopening.ts';
import type { SessionPorts } from '../ports.ts';
import { subscriptionReconciler } from './reconcile.ts';

const instructionsCharacters = 16_384;

interface SessionCatalogSetup {
  readonly id: SessionId;
  readonly ports: Pick<SessionPorts, 'clock' | 'catalogs' | 'watched'>;
  readonly client: Client;
  /**
   * Whether the server may require arguments to be repeated in request headers, as modern servers
   * do.
   */
  readonly hasHeaders: boolean;
  readonly secrets: readonly string[];
  /** Returns false once the session is ending; nothing is reported from then on. */
  readonly isOpen: () => boolean;
  readonly report: (fact: WireFact) => void;
  readonly remark: (line: string) => void;
  readonly describe: (error: unknown, asked: string) => { failure: Failure; rpcCode?: number };
}

const noItems: ItemList<never> = { items: [], gapCount: 0, gaps: [] };
/** The lists other than tools, by name; resource templates belong to the resources. */
const sideKinds: Readonly<Record<Exclude<ListName, 'tools'>, readonly ListKind<unknown>[]>> = {
  resources: [resourceKind, templateKind],
  prompts: [promptKind],
};

export class SessionCatalog {
  readonly #setup: SessionCatalogSetup;
  /** Watched resources that have changed; this and what follows is rarely in use. */
  #changed: Set<string> | undefined;
  /** Listens for changes; modern servers only. */
  readonly #listening: Listening | undefined;
  #reconcileSubscriptions: (() => void) | undefined;
  #outdated: readonly ListName[] = [];
  #agreed: ReadonlySet<string> | undefined;
  /** Each list's gap, by method; the same gap is logged only once. */
  #gaps: Map<string, string> | undefined;
  /** Whether the tools have been listed. */
  hasTools = false;
  /** Tools by name, if their arguments may have to be repeated in headers. */
  #tools: ReadonlyMap<string, ListedTool> | undefined;
  /** Kinds of other lists that this session has stored. */
  #sides: readonly ListKind<unknown>[] = [];

  constructor(setup: SessionCatalogSetup) {
    this.#setup = setup;
    const { client, ports } = setup;
    if (client.getProtocolEra() === 'modern')
      this.#listening = new Listening({
        client,
        clock: ports.clock,
        filter: () => this.#filter(),
        onAgreed: (filter) => this.#onAgreed(filter),
        onGap: () => this.missed(),
      });
  }

  /** Reconciles the subscriptions with the resources that hosts watch. */
  reconcileWatched(): void {
    const { client, isOpen, ports, id, remark } = this.#setup;
    if (!isOpen()) return;
    if (this.#listening !== undefined) this.#listening.update();
    else if (client.getServerCapabilities()?.resources?.subscribe === true) {
      this.#reconcileSubscriptions ??= this.#createReconciler();
      this.#reconcileSubscriptions();
    } else if (ports.watched.of(id.server).length > 0)
      remark('does not support subscriptions to single resources');
  }

  #createReconciler(): () => void {
    const { client, isOpen, ports, id, describe, remark } = this.#setup;
    return subscriptionReconciler({
      client,
      clock: ports.clock,
      isOpen,
      wanted: () => ports.watched.of(id.server),
      onSubscribed: (uri) => this.updated(uri),
      onRefused: (uri, error) => {
        const { failure } = describe(error, methods.subscribe.name);
        remark(`changes of ${uri} cannot be watched: ${failure.message}`);
      },
    });
  }

  /** Called when the session is open. */
  start(): void {
    this.#listening?.update();
    if (this.#setup.ports.watched.of(this.#setup.id.server).length > 0) this.reconcileWatched();
  }

  /** Stops following changes. */
  stop(): void {
    this.#listening?.stop();
  }

  toolNamed(name: string): ListedTool | undefined {
    return this.#tools?.get(name);
  }

  get offers(): { readonly resources: boolean; readonly prompts: boolean } {
    return { resources: this.#offers('resources'), prompts: this.#offers('prompts') };
  }

  /** Fetches and stores a list. Rejects only if the signal is aborted. */
  async list(list: ListName, signal: AbortSignal): Promise<ListOutcome> {
    this.#outdated = this.#outdated.filter((outdated) => outdated !== list);
    if (list === 'tools') return this.#listTools(signal);
    const lists = sideKinds[list].map((kind) => this.#listSide(kind, signal));
    const failure = (await Promise.all(lists)).find((gap) => gap !== undefined);
    signal.throwIfAborted();
    if (failure?.isMissing === true) return { type: 'failed', failure: failure.gap };
    const at = this.#setup.ports.clock.now();
    return { type: 'listed', at, count: 0, gap: failure?.gap ?? null };
  }

  /**
   * Handles the server's announcement that a list changed; reports it once until that list is
   * fetched again.
   */
  listChanged(list: ListName): void {
    if (this.#outdated.includes(list)) return;
    this.#outdated = [...this.#outdated, list];
    this.#setup.report({ type: `${list}.changed` });
  }

  /** Handles the server's announcement that a resource changed. */
  updated(uri: string): void {
    const { ports, id, report } = this.#setup;
    if (!ports.watched.of(id.server).includes(uri)) return;
    const isFirst = this.#changed === undefined;
    this.#changed ??= new Set();
    this.#changed.add(uri);
    if (isFirst) report({ type: 'resource.updated' });
  }

  /** Reports that everything may have changed, because announcements may have been missed. */
  missed(): void {
    for (const list of ['tools', 'resources', 'prompts'] as const) this.listChanged(list);
    for (const uri of this.#watched()) this.updated(uri);
  }

  /** Reports which watched resources changed. */
  publish(): void {
    const { isOpen, ports, id } = this.#setup;
    const uris = [...(this.#changed ?? [])];
    this.#changed = undefined;
    if (isOpen() && uris.length > 0) ports.watched.changed(id.server, uris);
  }

  /**
   * Returns the resources whose updates the server sends: those that a modern server acknowledged,
   * otherwise all watched ones.
   */
  #watched(): Iterable<string> {
    const { ports, id } = this.#setup;
    return this.#listening === undefined ? ports.watched.of(id.server) : (this.#agreed ?? []);
  }

  #offers(kind: ListName): boolean {
    return this.#setup.client.getServerCapabilities()?.[kind] !== undefined;
  }

  async #listTools(signal: AbortSignal): Promise<ListOutcome> {
    const { client, describe, hasHeaders } = this.#setup;
    const kind = hasHeaders ? toolWithHeadersKind : toolKind;
    try {
      const list = this.#offers('tools') ? await listAll(client, kind, signal) : noItems;
      signal.throwIfAborted();
      return this.#putTools(list);
    } catch (error) {
      signal.throwIfAborted();
      return { type: 'failed', failure: describe(error, methods[kind.key].name).failure };
    }
  }

  #putTools(list: ItemList<ListedTool>): ListOutcome {
    const { client, ports, id, secrets, hasHeaders } = this.#setup;
    const gap = this.#gapIn(list, methods.listTools.name, 'tools') ?? null;
    // A session without any list could not be used at all, so only a later list may fail here.
    if (this.hasTools && gap !== null && list.items.length === 0)
      return { type: 'failed', failure: gap };
    if (!this.hasTools) this.#putMissing();
    this.hasTools = true;
    if (hasHeaders) this.#tools = new Map(list.items.map((tool) => [tool.name, tool]));
    const instructions = client.getInstructions();
    ports.catalogs.put(id, list.items, {
      ...(instructions !== undefined && {
        instructions: printableText(instructions, instructionsCharacters),
      }),
      ...(client.getServerCapabilities()?.completions !== undefined && { completions: true }),
      ...(list.gapCount > 0 && { partial: true }),
      secrets,
    });
    return { type: 'listed', at: ports.clock.now(), count: list.items.length, gap };
  }

  /** Stores empty lists for what the server does not offer. */
  #putMissing(): void {
    const lists: Partial<SideLists> = {
      ...(!this.#offers('resources') && { resources: [], resourceTemplates: [] }),
      ...(!this.#offers('prompts') && { prompts: [] }),
    };
    if (Object.keys(lists).length > 0) this.#setup.ports.catalogs.putSide(this.#setup.id, lists);
  }

  /** Fetches a list other than tools. Returns its gap, if any. */
  async #listSide(
    kind: ListKind<unknown>,
    signal: AbortSignal,
  ): Promise<{ readonly gap: Failure; readonly isMissing: boolean } | undefined> {
    const { client, describe } = this.#setup;
    try {
      const list = await listAll(client, kind, signal);
      signal.throwIfAborted();
      return this.#putSide(kind, list);
    } catch (error) {
      if (signal.aborted) return undefined;
      const { failure, rpcCode } = describe(error, methods[kind.key].name);
      // Many servers that offer resources do not implement the templates request.
      if (kind === templateKind && rpcCode === methodNotFound) return this.#putSide(kind, noItems);
      this.#remarkOnce(methods[kind.key].name, failure.message);
      return { gap: { kind: 'protocol', message: failure.message }, isMissing: true };
    }
  }

  #putSide(kind: ListKind<unknown>, list: ItemList<unknown>) {
    const gap = this.#gapIn(list, methods[kind.key].name, kind.many);
    const isFirst = !this.#sides.includes(kind);
    if (!isFirst && gap !== undefined && list.items.length === 0) return { gap, isMissing: true };
    if (isFirst) this.#sides = [...this.#sides, kind];
    const lists: Partial<Record<string, readonly unknown[]>> = {
      [methods[kind.key].items]: list.items,
    };
    this.#setup.ports.catalogs.putSide(this.#setup.id, lists as Partial<SideLists>);
    return gap && { gap, isMissing: false };
  }

  #gapIn(list: ItemList<unknown>, method: string, many: string): Failure | undefined {
    const gap = list.gapCount > 0 ? `Not all ${many} are listed: ${gapsInWords(list)}.` : undefined;
    this.#remarkOnce(method, gap);
    return gap === undefined ? undefined : { kind: 'protocol', message: gap };
  }

  #remarkOnce(method: string, gap: string | undefined): void {
    if (gap === undefined) {
      this.#gaps?.delete(method);
      return;
    }
    this.#gaps ??= new Map();
    if (this.#gaps.get(method) === gap) return;
    this.#gaps.set(method, gap);
    this.#setup.remark(`announced its catalog incompletely: ${gap}`);
  }

  #filter(): SubscriptionFilter | undefined {
    const { client, ports, id } = this.#setup;
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
    const watched = resources?.subscribe === true ? ports.watched.of(id.server) : [];
    const filter: SubscriptionFilter = {
      ...(tools?.listChanged === true && { toolsListChanged: true }),
      ...(resources?.listChanged === true && { resourcesListChanged: true }),
      ...(prompts?.listChanged === true && { promptsListChanged: true }),
      ...(watched.length > 0 && { resourceSubscriptions: [...watched] }),
    };
    return Object.keys(filter).length > 0 ? filter : undefined;
  }

  #onAgreed({ resourceSubscriptions: uris = [] }: SubscriptionFilter): void {
    const before = this.#agreed;
    this.#agreed = new Set(uris);
    for (const uri of uris) if (before?.has(uri) !== true) this.updated(uri);
  }
}

const acknowledgeMs = 30_000;

interface ListeningSetup {
  readonly client: Client;
  readonly clock: Clock;
  /** The changes to listen for; undefined if none. */
  readonly filter: () => SubscriptionFilter | undefined;
  /** Called when the server has acknowledged the filter. */
  readonly onAgreed: (filter: SubscriptionFilter) => void;
  /** Called when a stream was reopened; changes in between were not announced. */
  readonly onGap: () => void;
}

/**
 * Listens on a modern server, which announces changes only on request. When the filter changes, a new
 * stream opens before the old one ends.
 */
class Listening {
  readonly #setup: ListeningSetup;
  #present: { readonly key: string; readonly stop: () => void } | undefined;

  constructor(setup: ListeningSetup) {
    this.#setup = setup;
  }

  /** Called when the filter may have changed. */
  update(): void {
    const filter = this.#setup.filter();
    const key = JSON.stringify(filter);
    const before = this.#present;
    if (before?.key === key) return;
    this.#present = undefined;
    if (filter === undefined) before?.stop();
    else this.#present = { key, stop: openStream(this.#setup, filter, () => before?.stop()) };
  }

  stop(): void {
    this.#present?.stop();
  }
}

/**
 * Keeps a stream open until the returned function is called. `onSettled` ends the stream that this
 * one replaces.
 */
function openStream(
  { client, clock, onAgreed, onGap }: ListeningSetup,
  filter: SubscriptionFilter,
  onSettled: () => void,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const reopening = new Reopening(clock);
  let hasGap = false;

  /** Resolves once the stream has ended. */
  const listen = async (): Promise<void> => {
    let isAcknowledged = false;
    try {
      const { ended } = await client.listen(filter, signal, { clock, ms: acknowledgeMs });
      isAcknowledged = true;
      onSettled();
      if (!signal.aborted) {
        onAgreed(filter);
        if (hasGap) onGap();
        hasGap = false;
      }
      await ended;
    } catch {
      // The next attempt follows after a longer wait.
    }
    if (signal.aborted) return;
    onSettled();
    hasGap ||= isAcknowledged;
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await listen();
      if (!signal.aborted) await reopening.afterLoss(signal);
    }
  };

  void follow();
  return () => {
    controller.abort();
    onSettled();
  };
}
