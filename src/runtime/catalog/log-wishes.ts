import { type LogLevel, logLevels } from '../../domain/log-level.ts';

/** The log level that the host requests from servers: the most verbose request counts. */
export class LogWishes {
  readonly #wishes = new Map<object, LogLevel>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Returns a function that withdraws the request. */
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

  /** Undefined = not requested: servers send what they like. */
  readonly level = (): LogLevel | undefined => {
    const wanted = new Set(this.#wishes.values());
    return logLevels.find((level) => wanted.has(level));
  };

  #tell(before: LogLevel | undefined): void {
    if (this.level() !== before) this.#onChange();
  }
}
