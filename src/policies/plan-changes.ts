/** Compares the servers that should exist with those that do. */

import type { AdmittedServer, LiveServer, Step, StepKind } from '../domain/plan.ts';
import type { DesiredServer } from '../domain/settings.ts';

/**
 * Lists the steps that make the live servers match the desired ones.
 *
 * Total: every desired and every live server is named at least once. What leaves
 * comes first, by name; then the desired servers in settings order, so equal
 * inputs give equal plans. A server whose generation differs is stopped and
 * started again, never changed in place; while it leaves, edits coalesce.
 * Planning an applied plan gives nothing but `keep`.
 *
 * @param desired - names are unique
 * @param live - by server name
 * @param digestOf - digest of what applies in place, compared with what was applied
 */
export function planChanges(
  desired: readonly AdmittedServer[],
  live: ReadonlyMap<string, LiveServer>,
  digestOf: (desired: DesiredServer) => string,
): readonly Step[] {
  const wanted = new Set(desired.map((server) => server.desired.name));
  const unwanted = [...live.keys()].filter((server) => !wanted.has(server)).sort();
  return [
    ...unwanted.map((server) =>
      live.get(server)?.leaving
        ? step(server, 'keep', 'leaving')
        : step(server, 'retire', 'no longer in the settings'),
    ),
    ...desired.flatMap((server) => stepsFor(server, live.get(server.desired.name), digestOf)),
  ];
}

/** Says whether a plan changes nothing. */
export function changesNothing(steps: readonly Step[]): boolean {
  return steps.every(({ step: kind }) => kind === 'keep');
}

function stepsFor(
  { desired, verdict }: AdmittedServer,
  live: LiveServer | undefined,
  digestOf: (desired: DesiredServer) => string,
): readonly Step[] {
  const server = desired.name;
  if (live === undefined) {
    const but = verdict === 'admitted' ? '' : `, but ${verdict}`;
    return [step(server, 'spawn', `${originOf(desired)}, not running yet${but}`)];
  }
  if (live.leaving) return [step(server, 'keep', 'leaving')];
  if (live.generation !== desired.generation) {
    return [step(server, 'replace', 'connection settings changed')];
  }

  const updates =
    live.settingsDigest === digestOf(desired) ? [] : [step(server, 'update', 'settings changed')];
  if (live.verdict === verdict) {
    return updates.length === 0 ? [step(server, 'keep', 'unchanged')] : updates;
  }
  // Nothing may run for a moment under rules that no longer hold, or not yet:
  // a block goes out before the new settings, an admission after them.
  return verdict === 'admitted'
    ? [...updates, step(server, 'admit', 'now admitted')]
    : [step(server, 'block', verdict), ...updates];
}

/** A server that no entry names is there because of the key that its source tells. */
function originOf({ source }: DesiredServer): string {
  return source.key.startsWith('mcp.') ? `wanted by ${source.key}` : 'in the settings';
}

function step(server: string, kind: StepKind, why: string): Step {
  return { server, step: kind, why };
}
