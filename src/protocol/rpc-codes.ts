/** JSON-RPC errors: the codes that we send or recognize, and what MCP adds to them. */

import { isRecord } from '../domain/data/is-record.ts';

// JSON-RPC 2.0.
export const parseError = -32_700;
export const invalidRequest = -32_600;
export const methodNotFound = -32_601;
export const invalidParams = -32_602;
export const internalError = -32_603;
/** The first of those that JSON-RPC leaves to servers, without a meaning of its own. */
export const serverError = -32_000;

// MCP.
/** The user rejected what a server asked a model for. */
export const rejected = -1;
/** The session of a request is unknown. Version 1 of the SDK returns it; it has other uses too. */
export const sessionNotFound = -32_001;
/** The other side lacks a capability; the error's data names it. Since 2026-07-28. */
export const missingCapability = -32_021;
/** The error's data lists the supported versions. Since 2026-07-28. */
export const unsupportedVersion = -32_022;
/** The user must visit an address first; the error's data lists them. */
export const urlRequired = -32_042;

export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A JSON-RPC error: of a server's response, or of our response to the request in which it is thrown. */
export class RpcError extends Error implements RpcErrorBody {
  // As in the SDK.
  override readonly name = 'ProtocolError';
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: RpcErrorBody) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Reads the JSON-RPC error in the body of an HTTP response; undefined if it holds none. */
export function rpcErrorIn(body = ''): RpcErrorBody | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const error = isRecord(parsed) ? parsed['error'] : undefined;
    if (!isRecord(error) || typeof error['code'] !== 'number') return undefined;
    const { code, message, data } = error;
    return { code, message: typeof message === 'string' ? message : '', data };
  } catch {
    return undefined;
  }
}
