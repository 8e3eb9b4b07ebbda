/** Reads the metadata of a request: its trace, and what a caller adds for the server. */

import { keepNumbers } from '../domain/data/exact-json.ts';
import type { TraceContext } from '../domain/host/telemetry.ts';

type Meta = Readonly<Record<string, unknown>>;

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
export function traceContextIn(meta: Meta | undefined): TraceContext | undefined {
  const parts = traceKeys.flatMap((key) => {
    const value = meta?.[key];
    return isTracePart(key, value) ? [[key, value] as const] : [];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

// Each session has its own protocol version, capabilities and identity, and each request its own token.
const protocolPrefix = 'io.modelcontextprotocol/';

/** The protocol's own keys of metadata, since 2026-07-28. */
export const metaKeys = {
  protocolVersion: `${protocolPrefix}protocolVersion`,
  clientInfo: `${protocolPrefix}clientInfo`,
  clientCapabilities: `${protocolPrefix}clientCapabilities`,
  serverInfo: `${protocolPrefix}serverInfo`,
  logLevel: `${protocolPrefix}logLevel`,
  subscriptionId: `${protocolPrefix}subscriptionId`,
} as const;

/** Extensions of the protocol, by their key among capabilities. */
export const extensionKeys = {
  apps: `${protocolPrefix}ui`,
  tasks: `${protocolPrefix}tasks`,
} as const;

const progressKey = 'progressToken';

/** Returns a caller's metadata without the protocol's own keys; undefined when nothing is left. */
export function forwardedMeta(meta: Meta | undefined): Meta | undefined {
  return without(meta, (key) => key === progressKey || key.startsWith(protocolPrefix));
}

/** Returns metadata without its trace, which the telemetry's own replaces. */
export function withoutTrace(meta: Meta | undefined): Meta | undefined {
  return without(meta, (key) => traceKeys.some((known) => known === key));
}

function without(meta: Meta = {}, isDropped: (key: string) => boolean): Meta | undefined {
  const kept = Object.entries(meta).filter(([key]) => !isDropped(key));
  // Not by assignment: a key "__proto__" stays a key.
  return kept.length === 0 ? undefined : keepNumbers(Object.fromEntries(kept), meta);
}
