import type { SessionOwner, SessionPorts } from '../../../actors/session/ports.ts';
import type { SettingsReader } from '../../../actors/settings/reader.ts';
import type { CatalogFiles, CatalogFilesPorts } from '../../../actors/stores/catalogs.ts';
import type { Catalog } from '../../domain/catalog.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ServerProfile } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { Listeners } from '../listeners.ts';
import type { SessionRegistry } from '../session-registry.ts';
import type { RootRef, StatusBoard } from '../status/board.ts';
import { EraStore } from './era-store.ts';
import { CatalogKeeping } from './keeping.ts';
import { LogWishes } from './log-wishes.ts';
import { OfferList } from './offer-list.ts';
import { CatalogStore } from './store.ts';
import { ToolList } from './tool-list.ts';
import { WatchedResources } from './watched-resources.ts';

export interface CatalogsPorts {
  readonly clock: Clock;
  /** Absent: nothing outlives the run. */
  readonly keep: ((onProblems: CatalogFilesPorts['onProblems']) => CatalogFiles) | undefined;
  /** Made later than this. */
  readonly board: () => StatusBoard;
  readonly sessions: SessionRegistry;
  readonly listeners: Listeners;
  /** Made later than this; told which catalogs are known. */
  readonly root: () => RootRef;
  /** This generation's tools, or another of its lists, were listed again. */
  readonly onListed: (owner: SessionOwner) => void;
  /** Tools of a server that are neither shown nor called. */
  readonly heldTools: (desired: DesiredServer) => ReadonlySet<string>;
  /** Other definitions that are held back, by `pinKey`. */
  readonly heldOffers: (desired: DesiredServer) => ReadonlySet<string>;
  /** Something that a person who looks at this server should know. */
  readonly remark: (server: string, line: string) => void;
  readonly onProblems: CatalogFilesPorts['onProblems'];
}

/** All that is known of what servers offer: where it comes from, and what callers see of it. */
export class Catalogs {
  readonly tools: ToolList;
  readonly offers: OfferList;
  readonly watched: WatchedResources;
  readonly logs: LogWishes;
  /** What sessions put in and look up. */
  readonly session: Pick<SessionPorts, 'catalogs' | 'eras' | 'watched' | 'logLevel' | 'notified'>;
  readonly #ports: Pick<CatalogsPorts, 'board' | 'sessions'>;
  readonly #keeping: CatalogKeeping;
  readonly #isKept: boolean;
  readonly #store: CatalogStore;
  #isLookDue = false;

  constructor(ports: CatalogsPorts) {
    this.#ports = ports;
    const { clock, keep, board, sessions, listeners, remark } = ports;
    const catalogs = new CatalogStore((server) => {
      board().refresh(server);
      this.invalidate();
    });
    const sightings = () => board().sightings();
    this.#store = catalogs;
    this.tools = new ToolList({
      sightings,
      heldTools: ports.heldTools,
      catalogs,
      onChange: (servers) => {
        listeners.emit('tools.changed', { servers });
      },
      onCut: (server, shownCount, count) => {
        const line = `only ${shownCount} of its ${count} tools are shown, because all servers together have too many; leave some out by tools.include or tools.exclude`;
        remark(server, line);
      },
      onNameless: ({ server, tool, why }) => {
        const reason = why === 'long' ? 'its name is too long' : 'another tool has the same name';
        remark(
          server,
          `its tool "${tool}" is not shown, because ${reason}; see naming of its policy`,
        );
      },
    });
    this.offers = new OfferList({
      sightings,
      catalogs,
      heldOffers: ports.heldOffers,
      onResources: (server) => listeners.emit('resources.changed', { server }),
      onPrompts: (server) => {
        listeners.emit('prompts.changed', { server });
      },
    });
    this.watched = new WatchedResources((server) => {
      const actorId = board().sighting(server)?.actorId;
      if (actorId !== undefined) sessions.get(actorId)?.lookAtWatched();
    });
    this.logs = new LogWishes(() => {
      for (const { name } of board().statuses()) {
        const actorId = board().sighting(name)?.actorId;
        if (actorId !== undefined) sessions.get(actorId)?.lookAtLogLevel();
      }
    });
    const eras = new EraStore(() => clock.wallNow());
    this.#isKept = keep !== undefined;
    this.#keeping = new CatalogKeeping({
      catalogs,
      eras,
      clock,
      files: keep?.(ports.onProblems),
      settings: () => ports.root().getSnapshot().context.settings,
      sighting: (server) => board().sighting(server),
      onKnown: (owner) => {
        ports.root().send({ type: 'catalog.listed', ...owner });
      },
      onForgotten: (owner) => {
        ports.root().send({ type: 'catalog.forgotten', ...owner });
      },
      onListed: ports.onListed,
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
      notified: (server, method, params) => {
        listeners.emit('notification', { server, method, params });
      },
    };
  }

  /** Who a connected server says it is. */
  profileOf(server: string): ServerProfile | undefined {
    const actorId = this.#ports.board().sighting(server)?.actorId;
    return actorId === undefined ? undefined : this.#ports.sessions.get(actorId)?.profile;
  }

  /** A server came, went, or offers something else. */
  invalidate(): void {
    this.tools.invalidate();
    this.offers.invalidate();
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    queueMicrotask(() => {
      this.#isLookDue = false;
      this.#keeping.look();
    });
  }

  /** Returns all that a server announced, whether or not it is shown. */
  listedBy({ server, generation }: SessionOwner): Catalog {
    return this.#store.get(server, generation);
  }

  /** Before a pass can spawn anybody, what is stored of the servers is known. */
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

  /** Settles when what is to be stored is; undefined when nothing is. */
  close(): Promise<void> | undefined {
    return this.#keeping.close();
  }
}
