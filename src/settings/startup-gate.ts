/** The startup gate, which a troupe reads once: an edit applies at the next start. */

import type { ServerPolicy } from '../domain/policy.ts';
import type { Problem } from '../domain/settings.ts';
import type { ParsedDocument } from './parse-settings.ts';

/** The gate with the key that decides it; without a place it is the policy's default. */
export interface StartupGate {
  readonly ms: number;
  readonly place?: Required<Pick<Problem, 'file' | 'key'>> & Pick<Problem, 'line'>;
}

/** @param own - the documents whose numbers count, lowest precedence first */
export function startupGateOf(
  { startup }: ServerPolicy,
  own: readonly ParsedDocument[],
): StartupGate {
  const direct = own.findLast(({ mcp }) => mcp.startupGateMs !== undefined);
  if (direct?.mcp.startupGateMs !== undefined)
    return { ms: direct.mcp.startupGateMs, place: placeIn(direct, 'startupGateMs') };
  const ms = startup.gateMs;
  const isField = ({ mcp }: ParsedDocument): boolean =>
    mcp.policy?.overrides.startup?.gateMs !== undefined;
  const chosen = own.findLast((it) => it.mcp.policy?.preset !== undefined || isField(it));
  if (chosen === undefined) return { ms };
  return { ms, place: placeIn(chosen, isField(chosen) ? 'policy.startup.gateMs' : 'policy') };
}

function placeIn({ file, scope, lines }: ParsedDocument, key: string): StartupGate['place'] & {} {
  const line = scope === 'api' ? undefined : lines?.get(key);
  return { file, ...(line !== undefined && { line }), key: `mcp.${key}` };
}

/** Reports a gate that differs from the running troupe's; nothing once it is as at the start. */
export function changedSinceStart(atStart: StartupGate, now: StartupGate): readonly Problem[] {
  if (now.ms === atStart.ms) return [];
  // A key that was removed is reported in the file that had it.
  const { file = 'settings', key = 'mcp.startupGateMs' } = now.place ?? atStart.place ?? {};
  const line = now.place?.line;
  const message = `a new startup gate applies at the next start, so the running troupe keeps ${atStart.ms}; restart the troupe, or set ${atStart.ms} again`;
  return [{ file, ...(line !== undefined && { line }), key, message, severity: 'warning' }];
}
