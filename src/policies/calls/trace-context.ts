import type { TraceContext } from '../../domain/host/telemetry.ts';

/** The only keys of a trace that metadata of MCP may hold, by their W3C names. */
const traceKeys = ['traceparent', 'tracestate', 'baggage'] as const;

// What W3C asks everybody to carry of baggage; the other two are shorter.
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

/** Picks the trace out of the metadata of a request, and nothing else. Undefined when there is none. */
export function traceContextIn(
  meta: Readonly<Record<string, unknown>> | undefined,
): TraceContext | undefined {
  const parts = traceKeys.flatMap((key) => {
    const value = meta?.[key];
    return isTracePart(key, value) ? [[key, value] as const] : [];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}
