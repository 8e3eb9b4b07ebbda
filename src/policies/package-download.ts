/** What differs for a server that may have to be downloaded before it runs. */

import type { ConnectPolicy } from '../domain/policy.ts';
import type { ServerSpec } from '../domain/server-spec.ts';
import { packageRunnerOf } from './approvals/package-runner.ts';

/** Returns whether the server's first start may download it. */
export function mayDownload(spec: ServerSpec): boolean {
  return spec.type === 'stdio' && packageRunnerOf(spec.command, spec.args) !== undefined;
}

/** Returns by how much the deadline of a local start is longer when it may be a download. */
export function firstRunExtraMs({ localTimeoutMs, firstRunTimeoutMs }: ConnectPolicy): number {
  if (localTimeoutMs === null || firstRunTimeoutMs === null) return 0;
  return Math.max(0, firstRunTimeoutMs - localTimeoutMs);
}
