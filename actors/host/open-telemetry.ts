/**
 * Wraps `@opentelemetry/api` when a host asks for it and it is installed. Exceptions from the API
 * and the vendor's SDK never reach a call; only the first one is reported.
 */

import { createRequire } from 'node:module';
import type { TelemetryProviders, TraceContext } from '../../src/domain/host/telemetry.ts';
import { version } from '../../src/domain/version.ts';
import { isTracePart } from '../../src/protocol/meta.ts';

/** The API's context, which is passed along but never read here. */
export interface TraceScope {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceScope;
  deleteValue(key: symbol): TraceScope;
}

export type Attributes = Readonly<Record<string, string | number>>;

/** The part of the package that we use; its own types are missing when it is not installed. */
export interface TelemetryApi {
  readonly ROOT_CONTEXT: TraceScope;
  readonly context: {
    active(): TraceScope;
    with(context: TraceScope, work: () => void): void;
  };
  readonly trace: {
    getTracer(name: string, version?: string): Tracer;
    setSpan(context: TraceScope, span: Span): TraceScope;
    getSpanContext(context: TraceScope): SpanContext | undefined;
  };
  readonly metrics: { getMeter(name: string, version?: string): Meter };
  readonly propagation: Propagator;
}

type Carrier = Record<string, string>;

interface Propagator {
  inject(context: TraceScope, carrier: Carrier, setter: typeof carrierSetter): void;
  extract(context: TraceScope, carrier: Carrier, getter: typeof carrierGetter): TraceScope;
}

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

interface Tracer {
  startSpan(
    name: string,
    options: {
      readonly kind: number;
      attributes: Attributes;
      links: { readonly context: SpanContext }[];
      startTime?: number;
    },
    context: TraceScope,
  ): Span;
}

interface Span {
  isRecording(): boolean;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message: string }): unknown;
  updateName(name: string): unknown;
  end(): void;
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

interface Meter {
  createHistogram(
    name: string,
    options: InstrumentOptions,
  ): { record(value: number, attributes: Attributes, context?: TraceScope): void };
  createCounter(name: string, options: InstrumentOptions): Adding;
  createUpDownCounter(name: string, options: InstrumentOptions): Adding;
}

interface Adding {
  add(value: number, attributes: Attributes): void;
}

const carrierSetter = {
  /** Other propagators may write keys that MCP metadata must not contain. */
  set(carrier: Carrier, key: string, value: string): void {
    if (isTracePart(key, value)) carrier[key] = value;
  },
};

const carrierGetter = {
  keys: (carrier: Carrier): string[] => Object.keys(carrier),
  get: (carrier: Carrier, key: string): string | undefined => carrier[key],
};

/** The API's numeric constants. */
const kinds = { internal: 0, client: 2 } as const;
const statusError = 2;

const scope = 'mcp-troupe';

export interface NewSpan {
  readonly name: string;
  readonly kind: keyof typeof kinds;
  readonly attributes: Attributes;
  /** The span's parent. Default: none. */
  readonly parent?: TraceScope | undefined;
  /** The trace that was active, if it is a different one. */
  readonly besides?: TraceScope | undefined;
  /** In wall-clock milliseconds. Default: now. */
  readonly startedAt?: number | undefined;
}

/** Records one value of a metric. */
export type Note = (value: number, attributes: Attributes, context?: TraceScope) => void;

export class OpenTelemetry {
  readonly #api: TelemetryApi;
  readonly #tracer: Tracer | undefined;
  readonly #meter: Meter | undefined;
  readonly #propagator: Propagator;
  readonly #onFault: (error: unknown) => void;
  #hasFailed = false;

  constructor(
    api: TelemetryApi,
    { tracerProvider, meterProvider, propagator }: TelemetryProviders,
    onFault: (error: unknown) => void,
  ) {
    this.#api = api;
    this.#onFault = onFault;
    this.#propagator = (propagator as Propagator | undefined) ?? api.propagation;
    this.#tracer = this.safely(
      () => (tracerProvider ?? api.trace).getTracer(scope, version) as Tracer,
    );
    this.#meter = this.safely(
      () => (meterProvider ?? api.metrics).getMeter(scope, version) as Meter,
    );
  }

  /** Returns the work's result, or undefined if it throws. */
  safely<Value>(work: () => Value): Value | undefined {
    try {
      return work();
    } catch (error) {
      if (!this.#hasFailed) {
        this.#hasFailed = true;
        this.#onFault(error);
      }
      return undefined;
    }
  }

  /** Returns the caller's active trace, or the trace that it names instead. */
  contextOf(named?: TraceContext): {
    readonly context: TraceScope;
    readonly besides?: TraceScope;
  } {
    const { ROOT_CONTEXT, context } = this.#api;
    const active = this.safely(() => context.active()) ?? ROOT_CONTEXT;
    if (named === undefined) return { context: active };
    const carrier: Carrier = { ...named };
    const taken = this.safely(() => this.#propagator.extract(active, carrier, carrierGetter));
    return { context: taken ?? active, besides: active };
  }

  /** Returns the wall-clock time of spans, in milliseconds. */
  now(): number {
    return Date.now();
  }

  start({ name, kind, attributes, parent = this.#api.ROOT_CONTEXT, besides, startedAt }: NewSpan) {
    const span = this.safely(() => {
      const link = besides && this.#linkTo(besides, parent);
      const links = link === undefined ? [] : [link];
      const options = { kind: kinds[kind], attributes, links };
      if (startedAt !== undefined) Object.assign(options, { startTime: startedAt });
      return this.#tracer?.startSpan(name, options, parent);
    });
    const context = span && this.safely(() => this.#api.trace.setSpan(parent, span));
    return new SafeSpan(this, span, context ?? parent);
  }

  #linkTo(besides: TraceScope, parent: TraceScope): { readonly context: SpanContext } | undefined {
    const { trace } = this.#api;
    const context = trace.getSpanContext(besides);
    const isSame = context?.spanId === trace.getSpanContext(parent)?.spanId;
    return context === undefined || isSame ? undefined : { context };
  }

  /**
   * Runs the work exactly once, within this trace if the context manager works correctly. A context
   * manager that never calls back, or calls back late or twice, neither drops nor repeats the work.
   */
  within<Value>(context: TraceScope, work: () => Promise<Value>): Promise<Value> {
    let begun: Promise<Value> | undefined;
    const runOnce = (): Promise<Value> => {
      begun ??= started(work);
      return begun;
    };
    this.safely(() => this.#api.context.with(context, () => void runOnce()));
    return runOnce();
  }

  /** Returns the trace as request metadata; undefined when there is none. */
  carried(context: TraceScope): Readonly<Record<string, string>> | undefined {
    const carrier: Carrier = {};
    this.safely(() => this.#propagator.inject(context, carrier, carrierSetter));
    return Object.keys(carrier).length === 0 ? undefined : carrier;
  }

  histogram(name: string, description: string, boundaries?: readonly number[]): Note {
    const advice =
      boundaries === undefined ? {} : { advice: { explicitBucketBoundaries: [...boundaries] } };
    const made = this.safely(() =>
      this.#meter?.createHistogram(name, { description, unit: 's', ...advice }),
    );
    return (value, attributes, context) =>
      this.safely(() => made?.record(value, attributes, context));
  }

  counter(name: string, description: string, unit: string): Note {
    return this.#adding(() => this.#meter?.createCounter(name, { description, unit }));
  }

  upDownCounter(name: string, description: string, unit: string): Note {
    return this.#adding(() => this.#meter?.createUpDownCounter(name, { description, unit }));
  }

  #adding(make: () => Adding | undefined): Note {
    const made = this.safely(make);
    return (value, attributes) => this.safely(() => made?.add(value, attributes));
  }
}

/** Rejects with what the work throws. An async function would cost a call three more turns. */
export function started<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** A span whose methods never throw and do nothing once it has ended. */
export class SafeSpan {
  readonly context: TraceScope;
  readonly isRecording: boolean;
  readonly #telemetry: OpenTelemetry;
  #span: Span | undefined;

  constructor(telemetry: OpenTelemetry, span: Span | undefined, context: TraceScope) {
    this.#telemetry = telemetry;
    this.#span = span;
    this.context = context;
    this.isRecording = telemetry.safely(() => span?.isRecording()) === true;
  }

  set(attributes: Attributes): void {
    this.#telemetry.safely(() => this.#span?.setAttributes(attributes));
  }

  rename(name: string): void {
    this.#telemetry.safely(() => this.#span?.updateName(name));
  }

  event(name: string, attributes: Attributes = {}): void {
    this.#telemetry.safely(() => this.#span?.addEvent(name, attributes));
  }

  /** @param errorType - kind of failure; absent on success */
  end(errorType?: string): void {
    const span = this.#span;
    this.#span = undefined;
    this.#telemetry.safely(() => {
      if (errorType === undefined) return;
      span?.setAttributes({ 'error.type': errorType });
      span?.setStatus({ code: statusError, message: errorType });
    });
    this.#telemetry.safely(() => span?.end());
  }
}

/**
 * Loads the optional package as a CommonJS module, so that the host and we share one global
 * instance.
 */
const load = (): TelemetryApi =>
  createRequire(import.meta.url)('@opentelemetry/api') as TelemetryApi;

/**
 * Returns the OpenTelemetry wrapper; undefined if the host does not want it, or if it is not
 * installed, which is reported.
 */
export function openTelemetry(
  asked: boolean | TelemetryProviders | undefined,
  report: (message: string, error: unknown) => void,
  loadApi: () => TelemetryApi = load,
): OpenTelemetry | undefined {
  if (asked === undefined || asked === false) return undefined;
  let api: TelemetryApi;
  try {
    api = loadApi();
  } catch (error) {
    report(
      'Cannot load @opentelemetry/api, so there is no telemetry. Install it beside mcp-troupe.',
      error,
    );
    return undefined;
  }
  return new OpenTelemetry(api, asked === true ? {} : asked, (error) =>
    report(
      'Telemetry threw an exception; calls continue, but spans or metrics may be missing.',
      error,
    ),
  );
}
