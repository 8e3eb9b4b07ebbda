/** Reports failures to clients: as the result of a call, or as a JSON-RPC error. */

import { type CallerCode, exitCodeFor } from '../domain/caller-code.ts';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { printableLine } from '../domain/data/printable.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { invalidParams, missingCapability, RpcError } from '../protocol/rpc-codes.ts';

const errorKey = 'mcp-troupe/error';

/** Codes for unknown names, which are the client's mistake rather than a failed call. */
const unknownCodes: ReadonlySet<CallerCode> = new Set([
  'TOOL_UNKNOWN',
  'SERVER_UNKNOWN',
  'SERVER_REMOVED',
]);

/**
 * The error of a call whose server, of an older revision, asks for a message of a model, for a client of
 * 2026-07-28 that does not support that: its revision requires this error instead of a declined question.
 */
export function withoutModel(server: string): TroupeError {
  const message = `${server} asked for a message of the client's model during this request, which the client does not support. The request was cancelled: check whether it took effect, and repeat it with a client that supports sampling.`;
  return new TroupeError('INPUT_REQUIRED', message, {
    server,
    outcome: 'unknown',
    rpcCode: missingCapability,
    rpcData: { requiredCapabilities: { sampling: {} } },
  });
}

/** The error of a request that was cancelled because the gateway stopped. */
export function cutOff(error: unknown): TroupeError {
  const { outcome, server, tool } = troupeErrorOf(error);
  const next =
    outcome === 'not_executed'
      ? 'Reconnect later and repeat it.'
      : 'Check whether it took effect before you repeat it.';
  return new TroupeError('SHUTTING_DOWN', `The gateway stopped before this was done. ${next}`, {
    outcome,
    retryable: outcome === 'not_executed',
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    cause: error,
  });
}

/** Returns the result for a failed call. The client's own mistakes are thrown as an RpcError. */
export function failedCall(error: unknown): Record<string, unknown> {
  const failed = troupeErrorOf(error);
  const document = failed.toJSON();
  if (unknownCodes.has(failed.code))
    throw new RpcError({ code: invalidParams, message: failed.message, data: document });
  // For the client, not for its model.
  if (failed.rpcCode === missingCapability) throw failedRequest(failed);
  return {
    content: [{ type: 'text', text: `MCP error: ${failed.message}` }],
    isError: true,
    _meta: { [errorKey]: document },
  };
}

/** The JSON-RPC error of a failed request other than a tool call. */
export function failedRequest(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const failed = troupeErrorOf(error);
  const { rpcData = {} } = failed;
  const data = keepNumbers({ ...rpcData, ...failed.toJSON() }, rpcData);
  return new RpcError({ code: rpcCodeOf(failed), message: failed.message, data });
}

/**
 * A code from the server itself is passed on. Our own codes are the exit codes of the command line, which lie
 * outside the range reserved by JSON-RPC and MCP.
 */
function rpcCodeOf(error: TroupeError): number {
  if (error.rpcCode !== undefined) return error.rpcCode;
  return unknownCodes.has(error.code) ? invalidParams : exitCodeFor(error);
}

export function troupeErrorOf(error: unknown): TroupeError {
  if (error instanceof TroupeError) return error;
  const words = error instanceof Error ? error.message : String(error);
  // A bug in the gateway; its message may contain anything.
  const message = `The gateway failed: ${printableLine(words, 500).replace(/\.$/, '')}. Please report this, and repeat the call only if that is safe.`;
  return new TroupeError('INTERNAL', message, { outcome: 'unknown', cause: error });
}
