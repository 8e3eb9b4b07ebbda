import { type LogLevel, logLevels } from '../../domain/log-level.ts';
import { TroupeError } from '../../domain/troupe-error.ts';

// Each watched resource costs a request after every reconnect; beyond this number, polling is cheaper.
const maxPerServer = 256;

/** The resources that the host watches, across sessions. */
export class WatchedResources {
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
export class LogWishes {
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
