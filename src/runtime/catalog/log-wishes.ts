import { type LogLevel, logLevels } from '../../domain/log-level.ts';

/** From which level on the host wants to hear what servers log: the most verbose wish counts. */
export class LogWishes {
  readonly #wishes = new Map<object, LogLevel>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Gives the function that takes the wish back. */
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

  /** Undefined = nobody said anything: servers send what they like. */
  readonly level = (): LogLevel | undefined => {
    const wanted = new Set(this.#wishes.values());
    return logLevels.find((level) => wanted.has(level));
  };

  #tell(before: LogLevel | undefined): void {
    if (this.level() !== before) this.#onChange();
  }
}
