/** JSON-RPC errors, and the codes that more than one place recognizes. */

export const methodNotFound = -32_601;
/** Of the 2026-07-28 revision; the error's data lists the supported versions. */
export const unsupportedVersion = -32_022;

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
