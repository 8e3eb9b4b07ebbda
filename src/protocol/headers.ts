/** The HTTP headers of MCP. */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isRecord } from '../domain/data/is-record.ts';
import { headerValue } from './argument-headers.ts';
import { metaKeys } from './meta.ts';
import { methodNamed } from './methods.ts';

export const headerNames = {
  session: 'mcp-session-id',
  protocolVersion: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
} as const;

/** Headers by which modern servers route a request without reading its body; none for other messages. */
export function routingHeaders(message: JSONRPCMessage): Readonly<Record<string, string>> {
  const version = claimedVersionOf(message);
  if (version === undefined || !('method' in message)) return {};
  const { method, params } = message;
  const name = params?.[methodNamed(method)?.target ?? ''];
  return {
    [headerNames.protocolVersion]: version,
    [headerNames.method]: method,
    ...(typeof name === 'string' && { [headerNames.name]: headerValue(name) }),
  };
}

/** Returns the protocol version that a modern request carries in its metadata. */
export function claimedVersionOf(message: JSONRPCMessage): string | undefined {
  if (!('method' in message && 'id' in message)) return undefined;
  const meta = message.params?.['_meta'];
  const version = isRecord(meta) ? meta[metaKeys.protocolVersion] : undefined;
  return typeof version === 'string' ? version : undefined;
}
