import type { SessionOwner, SessionPorts } from '../../../actors/session/ports.ts';
import type { SettingsReader } from '../../../actors/settings/last-good-settings.ts';
import type { Catalog } from '../../domain/catalog.ts';
import type { ServerProfile, SessionHandle } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { Listeners } from '../listeners.ts';
import type { TroupeParts } from '../root-actor.ts';
import type { ServerRecords } from '../server-records.ts';
import type { SessionRegistry } from '../session-registry.ts';
import type { RootRef, StatusBoard } from '../status/board.ts';
import type { ProblemList } from '../status/problem-list.ts';
import { EraStore } from './era-store.ts';
import { LogWishes, WatchedResources } from './host-wishes.ts';
import { CatalogKeeping } from './keeping.ts';
import { OfferList } from './offer-list.ts';
import { CatalogStore } from './store.ts';
import { ToolList } from './tool-list.ts';

export interface CatalogsPorts {
  readonly parts: Pick<TroupeParts, 'clock' | 'keepCatalogs'>;
  readonly sessions: SessionRegistry;
  readonly problems: ProblemList;
  readonly listeners: Listeners;
  readonly records: ServerRecords;
  readonly approvals: {
    /** A generation's tools, or another of its lists, were listed again. */
    noteListed(owner: SessionOwner): void;
    /** Tools of a server that are neither shown nor called. */
    heldTools(desired: DesiredServer): ReadonlySet<string>;
    /** Other definitions that are held back, by `pinKey`. */
    heldOffers(desired: DesiredServer): ReadonlySet<string>;
  };
  // Functions, because these are created later.
  readonly root: () => RootRef;
  readonly board: () => StatusBoard;
}

/** What servers offer: where the lists come from, and what callers see of them. */
export class Catalogs {
  readonly tools: ToolList;
  readonly offers: OfferList;
  readonly watched: WatchedResources;
  readonly logs: LogWishes;
  /** The part that sessions use. */
  readonly session: Pick<SessionPorts, 'catalogs' | 'eras' | 'watched' | 'logLevel' | 'notified'>;
  readonly #ports: Pick<CatalogsPorts, 'board' | 'sessions'>;
  readonly #keeping: CatalogKeeping;
  readonly #isKept: boolean;
  readonly #store: CatalogStore;
  #isScheduled = false;

  constructor(ports: CatalogsPorts) {
    this.#ports = ports;
    const { parts, board, root, listeners, records, approvals, problems } = ports;
    const { clock, keepCatalogs } = parts;
    const catalogs = new CatalogStore((server) => {
      board().refresh(server);
      this.invalidate();
    });
    const views = () => board().views();
    this.#store = catalogs;
    this.tools = new ToolList({
      views,
      heldTools: (desired) => approvals.heldTools(desired),
      catalogs,
      onChange: (servers) => listeners.emit('tools.changed', { servers }),
      onCut: (server, shownCount, count) => {
        const line = `only ${shownCount} of its ${count} tools are shown, because all servers together have too many; leave some out by tools.include or tools.exclude`;
        records.remark(server, line);
      },
      onNameless: ({ server, tool, why }) => {
        const reason = why === 'long' ? 'its name is too long' : 'another tool has the same name';
        records.remark(
          server,
          `its tool "${tool}" is not shown, because ${reason}; see naming of its policy`,
        );
      },
    });
    this.offers = new OfferList({
      views,
      catalogs,
      heldOffers: (desired) => approvals.heldOffers(desired),
      onResources: (server) => listeners.emit('resources.changed', { server }),
      onPrompts: (server) => listeners.emit('prompts.changed', { server }),
    });
    this.watched = new WatchedResources((server) => this.#sessionOf(server)?.lookAtWatched());
    this.logs = new LogWishes(() => {
      for (const { name } of board().statuses()) this.#sessionOf(name)?.lookAtLogLevel();
    });
    const eras = new EraStore(() => clock.wallNow());
    this.#isKept = keepCatalogs !== undefined;
    this.#keeping = new CatalogKeeping({
      catalogs,
      eras,
      clock,
      files: keepCatalogs?.((list) => problems.set('catalogs', list)),
      settings: () => root().getSnapshot().context.settings,
      view: (server) => board().view(server),
      onKnown: (owner) => root().send({ type: 'catalog.listed', ...owner }),
      onForgotten: (owner) => root().send({ type: 'catalog.forgotten', ...owner }),
      onListed: (owner) => approvals.noteListed(owner),
    });
    this.session = {
      catalogs: this.#keeping.catalogs,
      eras,
      watched: {
        of: this.watched.of,
        changed: (server, uris) => {
          for (const uri of uris) listeners.emit('resource.updated', { server, uri });
        },
      },
      logLevel: this.logs.level,
      notified: (server, method, params) =>
        listeners.emit('notification', { server, method, params }),
    };
  }

  /** How a connected server identifies itself. */
  profileOf(server: string): ServerProfile | undefined {
    return this.#sessionOf(server)?.profile;
  }

  #sessionOf(server: string): SessionHandle | undefined {
    const { board, sessions } = this.#ports;
    const actorId = board().view(server)?.actorId;
    return actorId === undefined ? undefined : sessions.get(actorId);
  }

  /** A server came, went, or offers something else: reported once for all changes of one turn. */
  invalidate(): void {
    this.tools.invalidate();
    this.offers.invalidate();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.tools.announce();
      this.offers.announce();
      this.#keeping.prune();
    });
  }

  /** Returns all that a server announced, whether or not it is shown. */
  listedBy({ server, generation }: SessionOwner): Catalog {
    return this.#store.get(server, generation);
  }

  /** Wraps a reader so that stored catalogs are loaded before a pass can spawn their servers. */
  lookedUpBy(reader: SettingsReader): SettingsReader {
    if (!this.#isKept) return reader;
    return {
      ...reader,
      read: async (now, scope) => {
        const reading = await reader.read(now, scope);
        await this.#keeping.load(reading.settings.servers);
        return reading;
      },
    };
  }

  /** Resolves when all catalogs are stored; undefined when none are stored. */
  close(): Promise<void> | undefined {
    return this.#keeping.close();
  }
}
