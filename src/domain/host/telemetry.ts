/** OpenTelemetry options in our own types, so that the package need not be installed. */

/** Where spans and metrics go in place of what is registered for the whole process. */
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

/** The trace that something belongs to, as W3C Trace Context and Baggage write it. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}
