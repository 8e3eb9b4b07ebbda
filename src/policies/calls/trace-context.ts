import type { TraceContext } from '../../domain/host/telemetry.ts';

/** The only keys of a trace that metadata of MCP may hold, by their W3C names. */
const traceKeys = ['traceparent', 'tracestate', 'baggage'] as const;

// The baggage length that W3C requires every participant to propagate; the other two are shorter.
const longestValue = 8_192;

/** Returns whether a value is valid in metadata. */
export function isTracePart(key: string, value: unknown): value is string {
  return (
    traceKeys.some((known) => known === key) &&
    typeof value === 'string' &&
    value !== '' &&
    value.length <= longestValue
  );
}

/** Returns the trace keys of a request's metadata; undefined when there are none. */
export function traceContextIn(
  meta: Readonly<Record<string, unknown>> | undefined,
): TraceContext | undefined {
  const parts = traceKeys.flatMap((key) => {
    const value = meta?.[key];
    return isTracePart(key, value) ? [[key, value] as const] : [];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}
