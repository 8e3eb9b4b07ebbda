import type { SessionOwner, SessionPorts } from '../../../actors/session/ports.ts';
import type { SettingsReader } from '../../../actors/settings/last-good-settings.ts';
import type { Catalog } from '../../domain/catalog.ts';
import { type LogLevel, logLevels } from '../../domain/log-level.ts';
import type { ServerProfile, SessionHandle } from '../../domain/session.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { createThrottle, type Throttle } from '../throttle.ts';
import { OfferList } from './offer-list.ts';
import { CatalogStore, type CatalogsPorts, EraStore } from './store.ts';
import { StoredCatalogs } from './stored-catalogs.ts';
import { ToolList } from './tool-list.ts';

// A model notices no difference, and a thousand servers that become ready at once cost a few lists.
const announcePauseMs = 20;
// Reading fewer takes less time than the events that follow.
const fewServers = 8;

/** What servers offer: where the lists come from, and what callers see of them. */
export class Catalogs {
  readonly tools: ToolList;
  readonly offers: OfferList;
  readonly watched: WatchedResources;
  readonly logs: LogWishes;
  /** The functions that sessions use. */
  readonly session: Pick<SessionPorts, 'catalogs' | 'eras' | 'watched' | 'logLevel' | 'notified'>;
  readonly #ports: CatalogsPorts;
  readonly #stored: StoredCatalogs;
  readonly #store: CatalogStore;
  /** Starts the announcement that is scheduled; one after a pause is so only when it is due. */
  readonly #throttle: Throttle;
  #isScheduled = false;

  constructor(ports: CatalogsPorts) {
    this.#ports = ports;
    const { parts, board, listeners } = ports;
    this.#throttle = createThrottle(parts.clock, announcePauseMs, () =>
      queueMicrotask(this.#announce),
    );
    const store = new CatalogStore((server) => {
      board().refreshTools(server);
      this.invalidate();
    });
    this.#store = store;
    this.tools = new ToolList(store, ports);
    this.offers = new OfferList(store, ports);
    this.watched = new WatchedResources((server) => this.#sessionOf(server)?.reconcileWatched());
    this.logs = new LogWishes(() => {
      for (const { name } of board().statuses()) this.#sessionOf(name)?.reconcileLogLevel();
    });
    const eras = new EraStore(() => parts.clock.wallNow());
    this.#stored = new StoredCatalogs(store, eras, ports);
    this.session = {
      catalogs: this.#stored.catalogs,
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

  /** Returns how a connected server identifies itself. */
  profileOf(server: string): ServerProfile | undefined {
    return this.#sessionOf(server)?.profile;
  }

  #sessionOf(server: string): SessionHandle | undefined {
    const { board, sessions } = this.#ports;
    const actorId = board().view(server)?.actorId;
    return actorId === undefined ? undefined : sessions.get(actorId);
  }

  /**
   * Handles a server that was added, removed, or offers something else: reports once for all
   * changes in one turn. Each report reads all servers, so with many, they are 20 ms apart.
   */
  invalidate(): void {
    this.tools.invalidate();
    this.offers.invalidate();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#ports.board().size > fewServers) this.#throttle.trigger();
    else queueMicrotask(this.#announce);
  }

  readonly #announce = (): void => {
    this.#isScheduled = false;
    this.tools.announce();
    this.offers.announce();
    this.#stored.prune();
  };

  /** Returns everything that a server announced, whether or not it is shown. */
  listedBy({ server, generation }: SessionOwner): Catalog {
    return this.#store.get(server, generation);
  }

  /** Wraps a reader so that stored catalogs are loaded before a pass can spawn their servers. */
  lookedUpBy(reader: SettingsReader): SettingsReader {
    if (this.#ports.parts.keepCatalogs === undefined) return reader;
    return {
      ...reader,
      read: async (now, scope) => {
        const reading = await reader.read(now, scope);
        await this.#stored.load(reading.settings.servers);
        return reading;
      },
    };
  }

  /** Resolves once all catalogs are stored; returns undefined if none are stored. */
  close(): Promise<void> | undefined {
    this.#throttle.stop();
    if (this.#isScheduled) this.#announce();
    return this.#stored.close();
  }
}

// Each watched resource costs a request after every reconnect; beyond this number, polling is cheaper.
const maxPerServer = 256;

/** The resources that the host watches, across sessions. */
class WatchedResources {
  /** Number of subscriptions for each address, by server. */
  readonly #wishes = new Map<string, Map<string, number>>();
  readonly #onChange: (server: string) => void;

  constructor(onChange: (server: string) => void) {
    this.#onChange = onChange;
  }

  /** Adds a subscription. Returns a function that ends it, once. */
  add(server: string, uri: string): () => void {
    const wishes = this.#wishes.get(server) ?? new Map<string, number>();
    if (!wishes.has(uri) && wishes.size >= maxPerServer) {
      throw new TroupeError(
        'OVERLOADED',
        `${maxPerServer} resources of ${server} are watched already. End one of these first, or read them from time to time.`,
        { server },
      );
    }
    this.#wishes.set(server, wishes);
    this.#count(server, wishes, uri, 1);
    let isWished = true;
    return () => {
      if (isWished) this.#count(server, wishes, uri, -1);
      isWished = false;
    };
  }

  readonly of = (server: string): readonly string[] => [
    ...(this.#wishes.get(server)?.keys() ?? []),
  ];

  #count(server: string, wishes: Map<string, number>, uri: string, by: 1 | -1): void {
    const before = wishes.get(uri) ?? 0;
    if (before + by === 0) wishes.delete(uri);
    else wishes.set(uri, before + by);
    if (wishes.size === 0) this.#wishes.delete(server);
    if (before === 0 || before + by === 0) this.#onChange(server);
  }
}

/** The log level that the host requests from servers: the most verbose request counts. */
class LogWishes {
  readonly #wishes = new Map<object, LogLevel>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Adds a request. Returns a function that withdraws it. */
  add(level: LogLevel): () => void {
    const wish = {};
    const before = this.level();
    this.#wishes.set(wish, level);
    this.#tell(before);
    return () => {
      const present = this.level();
      this.#wishes.delete(wish);
      this.#tell(present);
    };
  }

  /** Returns the requested level; undefined if none: servers then send what they like. */
  readonly level = (): LogLevel | undefined => {
    const wanted = new Set(this.#wishes.values());
    return logLevels.find((level) => wanted.has(level));
  };

  #tell(before: LogLevel | undefined): void {
    if (this.level() !== before) this.#onChange();
  }
}
