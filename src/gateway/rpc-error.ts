/** How what went wrong is told to a client: as the result of a call, or as a JSON-RPC error. */

import { type CallerCode, exitCodeFor } from '../domain/caller-code.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { printableLine } from '../policies/text/printable.ts';

export const invalidParams = -32_602;

/** Becomes the JSON-RPC error of the request that it is thrown in. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

const errorKey = 'mcp-troupe/error';

/** There is nothing of that name: the client is wrong, not the call. */
const unknownCodes: ReadonlySet<CallerCode> = new Set([
  'TOOL_UNKNOWN',
  'SERVER_UNKNOWN',
  'SERVER_REMOVED',
]);

/** The server needs what this client has not said that it can: for the client, not for its model. */
const missingCapability = -32_021;

/** For what was under way when the gateway stopped and could wait no longer. */
export function cutOff(error: unknown): TroupeError {
  const { outcome, server, tool } = troupeErrorOf(error);
  const next =
    outcome === 'not_executed'
      ? 'Connect again later, and repeat it.'
      : 'Look what came of it before you repeat it.';
  return new TroupeError('SHUTTING_DOWN', `The gateway stopped before this was done. ${next}`, {
    outcome,
    retryable: outcome === 'not_executed',
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    cause: error,
  });
}

/** The result of a call that failed. What no client can know better is thrown as an RpcError. */
export function failedCall(error: unknown): Record<string, unknown> {
  const failed = troupeErrorOf(error);
  const document = failed.toJSON();
  if (unknownCodes.has(failed.code)) throw new RpcError(invalidParams, failed.message, document);
  if (failed.rpcCode === missingCapability) throw failedRequest(failed);
  return {
    content: [{ type: 'text', text: `MCP error: ${failed.message}` }],
    isError: true,
    _meta: { [errorKey]: document },
  };
}

/** The JSON-RPC error of a request that failed and is no call of a tool. */
export function failedRequest(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const failed = troupeErrorOf(error);
  return new RpcError(rpcCodeOf(failed), failed.message, {
    ...failed.rpcData,
    ...failed.toJSON(),
  });
}

/**
 * What the server itself answered stays as it is. Codes of our own lie outside the range that
 * JSON-RPC and MCP keep for themselves: they are the exit codes of the command line.
 */
function rpcCodeOf(error: TroupeError): number {
  if (error.rpcCode !== undefined) return error.rpcCode;
  return unknownCodes.has(error.code) ? invalidParams : exitCodeFor(error);
}

export function troupeErrorOf(error: unknown): TroupeError {
  if (error instanceof TroupeError) return error;
  const words = error instanceof Error ? error.message : String(error);
  // A fault of ours; what it says may be about anything.
  const message = `The gateway failed: ${printableLine(words, 500).replace(/\.$/, '')}. Report it, and call again if that does no harm.`;
  return new TroupeError('INTERNAL', message, { outcome: 'unknown', cause: error });
}
