/**
 * What one open session knows of its server's catalog, and keeps up to date.
 *
 * The tools are listed when the chart says so, because `ready` depends on them.
 * Resources and prompts come after the first list of tools and are kept up to date
 * from here: whether they are there changes nothing in the life of a server. A list
 * of them that fails costs only itself, and shows as `partialCatalog`.
 */

import type { Client, SubscriptionFilter } from '@modelcontextprotocol/client';

import type { SideLists } from '../../../src/domain/catalog.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { SessionFact, SessionInput } from '../../../src/domain/session.ts';
import type { ListedTool } from '../../../src/domain/tool.ts';
import { printableText } from '../../../src/policies/text/printable.ts';
import type { SessionPorts } from '../ports.ts';
import { createCoalescer, gapsInWords, type ItemList, type ListKind, listAll } from './list.ts';
import { createListening, type Listening } from './listening.ts';
import { promptKind, resourceKind, templateKind } from './offers.ts';
import { createRelisting, type Relisting } from './relisting.ts';
import { createThrottle, type Throttle } from './throttle.ts';
import { toolKind, toolWithHeadersKind } from './tool.ts';
import { createWatching } from './watched.ts';

const instructionsCharacters = 16_384;
const notifiedIntervalMs = 1_000;
// The lists of a server that keeps announcing changes are fetched less and less often.
const maxNotifiedIntervalMs = 30_000;
// News of watched resources are gathered this long, so that a flood of them is a few events.
const watchedIntervalMs = 100;
const methodNotFound = -32_601;

type Body<Fact> = Fact extends SessionFact ? Omit<Fact, 'session' | 'at'> : never;

export interface SessionCatalogSetup {
  readonly input: SessionInput;
  readonly ports: Pick<SessionPorts, 'clock' | 'catalogs' | 'watched'>;
  readonly client: Client;
  /** Requests have headers that servers of the modern era may want arguments in. */
  readonly hasHeaders: boolean;
  readonly secrets: readonly string[];
  /** False as soon as the session is ending: nothing is told any more. */
  readonly isOpen: () => boolean;
  readonly listTimeoutMs: () => number;
  readonly send: (fact: Body<SessionFact>) => void;
  readonly remark: (line: string) => void;
  readonly describe: (error: unknown, asked: string) => { failure: Failure; rpcCode?: number };
  /** The list of tools failed: to be told. */
  readonly onListFailed: (error: unknown, failure: Failure) => void;
  readonly onListed: () => void;
}

type Fetched<Item> = ItemList<Item> | { readonly error: unknown; readonly isLate: boolean };

const noItems: ItemList<never> = { items: [], gapCount: 0, gaps: [] };

type SideKind = 'resources' | 'prompts';

export class SessionCatalog {
  /** Fetches the tools; a wish during a list causes one more list after it. */
  readonly list: () => void;
  /** The resources that hosts watch may differ. */
  readonly lookAtWatched: () => void;

  readonly #setup: SessionCatalogSetup;
  readonly #notified: Throttle;
  readonly #changes: Throttle;
  readonly #changed = new Set<string>();
  readonly #side: Readonly<Record<SideKind, Relisting>>;
  readonly #listening: Listening | undefined;
  /** What is missing, by the list it is missing from. */
  readonly #gaps = new Map<string, string>();
  readonly #agreed = new Set<string>();
  #tools: ReadonlyMap<string, ListedTool> = new Map();
  #hasListed = false;

  constructor(setup: SessionCatalogSetup) {
    this.#setup = setup;
    const { clock } = setup.ports;
    const { client, isOpen, ports } = setup;
    const { server } = setup.input;
    this.list = createCoalescer(() => this.#listTools());
    this.#notified = createThrottle(
      clock,
      notifiedIntervalMs,
      () => {
        if (isOpen()) setup.send({ type: 'session.notified' });
      },
      maxNotifiedIntervalMs,
    );
    this.#changes = createThrottle(clock, watchedIntervalMs, () => this.#tellChanges());
    this.#side = {
      resources: createRelisting(clock, () => this.#listSide([resourceKind, templateKind])),
      prompts: createRelisting(clock, () => this.#listSide([promptKind])),
    };
    const isModern = client.getProtocolEra() === 'modern';
    this.#listening = isModern
      ? createListening({
          client,
          clock,
          filter: () => this.#filter(),
          onAgreed: (filter) => this.#onAgreed(filter),
          onGap: () => this.lookAgain(),
        })
      : undefined;
    const watch = createWatching({
      client,
      isOpen,
      wanted: () => ports.watched.of(server),
      onTold: (uri) => this.updated(uri),
      onRefused: (uri, error) => {
        const { failure } = setup.describe(error, 'resources/subscribe');
        setup.remark(`changes of ${uri} cannot be watched: ${failure.message}`);
      },
    });
    const canWatch = client.getServerCapabilities()?.resources?.subscribe === true;
    this.lookAtWatched = () => {
      if (!isOpen()) return;
      if (isModern) this.#listening?.look();
      else if (canWatch) watch();
      else if (ports.watched.of(server).length > 0)
        setup.remark('does not tell of changes of single resources');
    };
  }

  /** The session has opened. */
  start(): void {
    this.#listening?.look();
    if (this.#setup.ports.watched.of(this.#setup.input.server).length > 0) this.lookAtWatched();
  }

  /** Nothing is fetched and told from now on. */
  stop(): void {
    this.#notified.stop();
    this.#changes.stop();
    this.#listening?.stop();
    for (const relisting of Object.values(this.#side)) relisting.stop();
  }

  toolNamed(name: string): ListedTool | undefined {
    return this.#tools.get(name);
  }

  /** The server said that a list of it changed. */
  listChanged(kind: 'tools' | SideKind): void {
    if (kind === 'tools') this.#notified.trigger();
    // Before the first list everything is still to come.
    else if (this.#hasListed && this.#offers(kind)) this.#side[kind].wish();
  }

  /** The server said that a resource changed. */
  updated(uri: string): void {
    const { ports, input } = this.#setup;
    if (!ports.watched.of(input.server).includes(uri)) return;
    this.#changed.add(uri);
    this.#changes.trigger();
  }

  /** News may have been missed: everything may have changed. */
  lookAgain(): void {
    for (const kind of ['tools', 'resources', 'prompts'] as const) this.listChanged(kind);
    for (const uri of this.#watched()) this.updated(uri);
  }

  /** Modern servers agree to each address; others were asked for each. */
  #watched(): Iterable<string> {
    const { client, ports, input } = this.#setup;
    const isModern = client.getProtocolEra() === 'modern';
    return isModern ? this.#agreed : ports.watched.of(input.server);
  }

  #offers(kind: 'tools' | SideKind): boolean {
    return this.#setup.client.getServerCapabilities()?.[kind] !== undefined;
  }

  async #listTools(): Promise<void> {
    const { isOpen, describe, onListFailed, listTimeoutMs, hasHeaders } = this.#setup;
    if (!isOpen()) return;
    const limitMs = listTimeoutMs();
    const kind = hasHeaders ? toolWithHeadersKind : toolKind;
    const [list] = this.#offers('tools') ? await this.#fetch([kind], limitMs) : [noItems];
    if (!isOpen() || list === undefined) return;
    if ('items' in list) {
      this.#listed(list);
      return;
    }
    const failure = list.isLate
      ? this.#lateList(limitMs)
      : describe(list.error, 'tools/list').failure;
    onListFailed(list.error, failure);
  }

  #lateList(limitMs: number): Failure {
    return {
      // Only the first list belongs to the start.
      kind: this.#hasListed ? 'protocol' : 'initTimeout',
      message: `The server did not list its tools within ${limitMs} ms.`,
    };
  }

  #listed(list: ItemList<ListedTool>): void {
    const { client, ports, input, secrets, send, onListed } = this.#setup;
    const isFirst = !this.#hasListed;
    this.#hasListed = true;
    this.#tools = new Map(list.items.map((tool) => [tool.name, tool]));
    if (isFirst) this.#putMissing();
    const instructions = client.getInstructions();
    ports.catalogs.put(input, list.items, {
      ...(instructions !== undefined && {
        instructions: printableText(instructions, instructionsCharacters),
      }),
      ...(client.getServerCapabilities()?.completions !== undefined && { completions: true }),
      ...(list.gapCount > 0 && { partial: true }),
      secrets,
    });
    onListed();
    send({ type: 'session.listed', toolCount: list.items.length });
    const gaps = list.gapCount > 0 ? gapsInWords(list) : undefined;
    this.#note(toolKind.method, gaps && `Not all tools are listed: ${gaps}.`);
    if (isFirst) this.#beginSide();
  }

  /** What the server does not offer is known before it is ready. */
  #putMissing(): void {
    const lists: Partial<SideLists> = {
      ...(!this.#offers('resources') && { resources: [], resourceTemplates: [] }),
      ...(!this.#offers('prompts') && { prompts: [] }),
    };
    if (Object.keys(lists).length > 0) this.#setup.ports.catalogs.putSide(this.#setup.input, lists);
  }

  /** After the tools, so that nothing that is not needed for a start keeps it waiting. */
  #beginSide(): void {
    for (const kind of ['resources', 'prompts'] as const)
      if (this.#offers(kind)) this.#side[kind].wish();
  }

  /** One load: all lists of a kind share a deadline, and each may fail by itself. */
  async #listSide(kinds: readonly ListKind<unknown>[]): Promise<boolean> {
    const limitMs = this.#setup.listTimeoutMs();
    const lists = await this.#fetch(kinds, limitMs);
    if (!this.#setup.isOpen()) return false;
    return kinds
      .map((kind, index) => this.#take(kind, lists[index] ?? noItems, limitMs))
      .every((isDone) => isDone);
  }

  #take(kind: ListKind<unknown>, list: Fetched<unknown>, limitMs: number): boolean {
    const { ports, input, describe } = this.#setup;
    if ('items' in list) {
      const lists: Partial<Record<string, readonly unknown[]>> = { [kind.field]: list.items };
      ports.catalogs.putSide(input, lists as Partial<SideLists>);
      const gaps = list.gapCount > 0 ? gapsInWords(list) : undefined;
      this.#note(kind.method, gaps && `Not all ${kind.many} are listed: ${gaps}.`);
      return true;
    }
    const { failure, rpcCode } = describe(list.error, kind.method);
    // Many servers offer resources and do not know the request for templates.
    if (kind === templateKind && rpcCode === methodNotFound)
      return this.#take(kind, noItems, limitMs);
    const why = list.isLate
      ? `The server did not list its ${kind.many} within ${limitMs} ms.`
      : failure.message;
    this.#note(kind.method, why);
    return false;
  }

  /** All pages of some lists within one deadline; a request never answered must not keep later ones. */
  async #fetch<Item>(
    kinds: readonly ListKind<Item>[],
    limitMs: number,
  ): Promise<readonly Fetched<Item>[]> {
    const { client, ports } = this.#setup;
    const controller = new AbortController();
    const timer = ports.clock.setTimeout(() => controller.abort(), limitMs);
    const fetched = await Promise.all(
      kinds.map((kind) =>
        listAll(client, kind, controller.signal).catch((error: unknown) => ({
          error,
          isLate: controller.signal.aborted,
        })),
      ),
    );
    ports.clock.clearTimeout(timer);
    return fetched;
  }

  /** Remembers what is missing from a list, and tells when that makes a difference. */
  #note(list: string, gap: string | undefined): void {
    const { send, remark } = this.#setup;
    const before = this.#gaps.get(list);
    if (before === gap) return;
    if (gap === undefined) this.#gaps.delete(list);
    else {
      this.#gaps.set(list, gap);
      remark(`announced its catalog incompletely: ${gap}`);
    }
    const [message] = this.#gaps.values();
    if (message === undefined) send({ type: 'session.recovered', reason: 'partialCatalog' });
    else {
      const failure: Failure = { kind: 'protocol', message };
      send({ type: 'session.impaired', reason: 'partialCatalog', failure });
    }
  }

  #filter(): SubscriptionFilter | undefined {
    const { client, ports, input } = this.#setup;
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
    const watched = resources?.subscribe === true ? ports.watched.of(input.server) : [];
    const filter: SubscriptionFilter = {
      ...(tools?.listChanged === true && { toolsListChanged: true }),
      ...(resources?.listChanged === true && { resourcesListChanged: true }),
      ...(prompts?.listChanged === true && { promptsListChanged: true }),
      ...(watched.length > 0 && { resourceSubscriptions: [...watched] }),
    };
    return Object.keys(filter).length > 0 ? filter : undefined;
  }

  #onAgreed({ resourceSubscriptions: uris = [] }: SubscriptionFilter): void {
    const isNews = uris.filter((uri) => !this.#agreed.has(uri));
    this.#agreed.clear();
    for (const uri of uris) this.#agreed.add(uri);
    for (const uri of isNews) this.updated(uri);
  }

  #tellChanges(): void {
    const { isOpen, ports, input } = this.#setup;
    const uris = [...this.#changed];
    this.#changed.clear();
    if (isOpen() && uris.length > 0) ports.watched.changed(input.server, uris);
  }
}
