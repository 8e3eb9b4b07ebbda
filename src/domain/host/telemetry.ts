/** OpenTelemetry options in our own types, so that the package need not be installed. */

/** Destinations for spans and metrics, instead of the globally registered providers. */
export interface TelemetryProviders {
  /** A `TracerProvider` of `@opentelemetry/api`. Default: the global one. */
  readonly tracerProvider?: { getTracer(name: string, version?: string): object };
  /** A `MeterProvider` of `@opentelemetry/api`. Default: the global one. */
  readonly meterProvider?: { getMeter(name: string, version?: string): object };
  /** A `TextMapPropagator` of `@opentelemetry/api`. Default: the global one. */
  readonly propagator?: {
    inject(context: object, carrier: unknown, setter: object): void;
    extract(context: object, carrier: unknown, getter: object): object;
  };
}

/** A trace context in the format of W3C Trace Context and Baggage. */
export interface TraceContext {
  /** The header of W3C Trace Context. */
  readonly traceparent?: string;
  /** The header of W3C Trace Context. */
  readonly tracestate?: string;
  /** The header of W3C Baggage. */
  readonly baggage?: string;
}
