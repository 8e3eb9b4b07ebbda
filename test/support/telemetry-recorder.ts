/** The real OpenTelemetry SDK with exporters in memory. */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type SpanStatus,
} from '@opentelemetry/api';
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { onTestFinished } from 'vitest';
import type { TelemetryProviders } from '../../src/domain/host/telemetry.ts';

/** The context manager that an SDK registers to keep a span active across `await`. */
class StoredContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => work.call(self, ...args));
  }

  bind<T>(_context: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}

/** Enables active spans for the current test. */
export function rememberActiveSpans(): void {
  context.setGlobalContextManager(new StoredContext());
  onTestFinished(() => context.disable());
}

class Collecting extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

export interface Point {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The number of values in a histogram. */
  readonly value: number;
  readonly sum: number | undefined;
}

export interface TelemetryRecorder {
  /** The option that a host passes to `createTroupe`. */
  readonly providers: Required<TelemetryProviders>;
  readonly tracerProvider: BasicTracerProvider;
  /** Finished spans, in the order in which they ended. */
  spans(): readonly ReadableSpan[];
  /** The only span with this name. */
  span(name: string): ReadableSpan;
  points(metric: string): Promise<readonly Point[]>;
  /** All exported data as one string. */
  text(): Promise<string>;
}

export function recordTelemetry({ sampler }: { sampler?: Sampler } = {}): TelemetryRecorder {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  const reader = new Collecting();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const spans = () => exporter.getFinishedSpans();
  const all = async (): Promise<readonly Point[]> => {
    const { resourceMetrics } = await reader.collect();
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor: { name: metric, unit }, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => {
          const { count, sum } = typeof value === 'number' ? { count: value } : value;
          return { metric, unit, attributes, value: count, sum };
        }),
      ),
    );
  };
  const propagator = new CompositePropagator({
    propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
  });
  return {
    providers: { tracerProvider, meterProvider, propagator },
    tracerProvider,
    spans,
    span(name) {
      const [found, ...others] = spans().filter((span) => span.name === name);
      if (found !== undefined && others.length === 0) return found;
      const names = spans().map((span) => span.name);
      throw new Error(`Not one span "${name}" among: ${names.join(', ')}`);
    },
    points: async (metric) => (await all()).filter((point) => point.metric === metric),
    text: async () =>
      JSON.stringify([
        spans().map(({ name, attributes, events, status }) => ({
          name,
          attributes,
          events,
          status,
        })),
        await all(),
      ]),
  };
}

/** A span in the form that tests compare. */
export function told({ name, status, attributes }: ReadableSpan): {
  readonly name: string;
  readonly status: SpanStatus;
  readonly attributes: ReadableSpan['attributes'];
} {
  return { name, status, attributes };
}
