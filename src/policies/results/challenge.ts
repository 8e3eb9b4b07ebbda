import type { ToolResult } from '../../domain/tool.ts';

const key = 'mcp/www_authenticate';

/**
 * Says whether a failed answer wants a log-in: it carries, beside its text, what an HTTP server would
 * put into `WWW-Authenticate`. An answer that is no error is an answer, whatever it carries.
 */
export function wantsLogIn({ isError, _meta: meta }: ToolResult): boolean {
  if (isError !== true || typeof meta !== 'object' || meta === null) return false;
  if (!Object.hasOwn(meta, key)) return false;
  const challenges = [meta[key]].flat();
  return challenges.some((challenge) => typeof challenge === 'string' && challenge.trim() !== '');
}
