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
  const steps: Step[] = [];
  let liveCount = 0;
  for (const server of desired) {
    const found = live.get(server.desired.name);
    if (found !== undefined) liveCount += 1;
    addStepsFor(steps, server, found, digestOf);
  }
  // Mostly nobody left the settings, and then nobody needs to be looked for.
  return liveCount === live.size ? steps : [...stepsOfUnwanted(desired, live), ...steps];
}

function stepsOfUnwanted(
  desired: readonly AdmittedServer[],
  live: ReadonlyMap<string, LiveServer>,
): readonly Step[] {
  const wanted = new Set(desired.map((server) => server.desired.name));
  const unwanted = [...live.keys()].filter((server) => !wanted.has(server)).sort();
  return unwanted.map((server) =>
    live.get(server)?.leaving
      ? step(server, 'keep', 'leaving')
      : step(server, 'retire', 'no longer in the settings'),
  );
}

/** Says whether a plan changes nothing. */
export function changesNothing(steps: readonly Step[]): boolean {
  return steps.every(({ step: kind }) => kind === 'keep');
}

function addStepsFor(
  steps: Step[],
  { desired, verdict }: AdmittedServer,
  live: LiveServer | undefined,
  digestOf: (desired: DesiredServer) => string,
): void {
  const server = desired.name;
  if (live === undefined) {
    const but = verdict === 'admitted' ? '' : `, but ${verdict}`;
    steps.push(step(server, 'spawn', `${originOf(desired)}, not running yet${but}`));
    return;
  }
  if (live.leaving) {
    steps.push(step(server, 'keep', 'leaving'));
    return;
  }
  if (live.generation !== desired.generation) {
    steps.push(step(server, 'replace', 'connection settings changed'));
    return;
  }

  const isUpdate = live.settingsDigest !== digestOf(desired);
  const isMove = live.verdict !== verdict;
  // Nothing may run for a moment under rules that no longer hold, or not yet:
  // a block goes out before the new settings, an admission after them.
  if (isMove && verdict !== 'admitted') steps.push(step(server, 'block', verdict));
  if (isUpdate) steps.push(step(server, 'update', 'settings changed'));
  if (isMove && verdict === 'admitted') steps.push(step(server, 'admit', 'now admitted'));
  if (!isUpdate && !isMove) steps.push(step(server, 'keep', 'unchanged'));
}

/** A server that no entry names is there because of the key that its source tells. */
function originOf({ source }: DesiredServer): string {
  return source.key.startsWith('mcp.') ? `wanted by ${source.key}` : 'in the settings';
}

function step(server: string, kind: StepKind, why: string): Step {
  return { server, step: kind, why };
}
