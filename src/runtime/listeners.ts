import type { TroupeEventName, TroupeEvents } from '../domain/host/event.ts';

type Listener<Name extends TroupeEventName> = (event: TroupeEvents[Name]) => void;

/** The host's listeners. A listener's exception is reported and affects no other listener. */
export class Listeners {
  readonly #byName = new Map<TroupeEventName, Set<Listener<TroupeEventName>>>();
  readonly #onThrow: (name: TroupeEventName, error: unknown) => void;

  constructor(onThrow: (name: TroupeEventName, error: unknown) => void) {
    this.#onThrow = onThrow;
  }

  on<Name extends TroupeEventName>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners);
    // Wrapped, because the same function may subscribe twice and unsubscribe once.
    const entry: Listener<TroupeEventName> = (event) => listener(event as TroupeEvents[Name]);
    listeners.add(entry);
    return () => {
      listeners.delete(entry);
    };
  }

  /** Whether anyone listens, for an event that costs something to make. */
  has(name: TroupeEventName): boolean {
    return (this.#byName.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends TroupeEventName>(name: Name, event: TroupeEvents[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      callListener(
        () => listener(event),
        (error) => this.#onThrow(name, error),
      );
    }
  }
}

export type OnThrow = (error: unknown) => void;

/** Calls a host's function. Passes exceptions and rejections to `onThrow`. */
export function callListener(call: () => unknown, onThrow: OnThrow): void {
  try {
    const returned = call();
    // An async listener rejects later, which would end the process if it went unhandled.
    if (returned instanceof Promise) returned.catch(onThrow);
  } catch (error) {
    onThrow(error);
  }
}
