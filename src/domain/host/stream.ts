/**
 * Streams as RxJS, XState and other libraries read them: an object whose
 * `Symbol.observable` method returns something to subscribe to. These types
 * name no library, and none has to be installed.
 */

declare global {
  interface SymbolConstructor {
    /** Absent at run time until a library defines it; `@@observable` stands in for it. */
    readonly observable: symbol;
  }
}

/** Callbacks for a stream's values and its end. Streams of a troupe never fail. */
export interface StreamObserver<Value> {
  /** Called with each value. */
  next?(value: Value): void;
  /** Never called: a stream of statuses does not fail. */
  error?(error: unknown): void;
  /** Called once, when no more values follow. */
  complete?(): void;
}

/** An observable as RxJS's `from()` accepts it. */
export interface Stream<Value> {
  /** Subscribes an observer. One that throws is reported and affects no other. */
  subscribe(observer: StreamObserver<Value> | ((value: Value) => void)): {
    unsubscribe(): void;
  };
}

/** The type that RxJS's `from()` accepts. */
export interface Streamable<Value> {
  /** Returns the stream; each subscriber gets the current value first. */
  [Symbol.observable](): Stream<Value>;
}
