/** Compares the servers that should exist with those that do. */

import {
  type AdmittedServer,
  type LiveServer,
  type Step,
  type StepKind,
  successorOf,
} from '../domain/plan.ts';
import type { DesiredServer } from '../domain/settings.ts';

/** The present state that a plan starts from. */
export interface PresentServers {
  /** By server name. */
  readonly live: Pick<ReadonlyMap<string, LiveServer>, 'get' | 'keys' | 'size'>;
  /** Ids of the actors that are ready. */
  readonly serving: Pick<ReadonlySet<string>, 'has'>;
  /** Digest of what applies in place, compared with what was applied. */
  readonly digestOf: (desired: DesiredServer) => string;
}

/**
 * Lists the steps that make the live servers match the desired ones.
 *
 * Every desired and every live server appears at least once: first servers that leave, by name,
 * then the desired servers in settings order, so equal inputs give equal plans. A server whose
 * generation differs is stopped and started again, never changed in place; edits coalesce while
 * it leaves. In a seamless handover the old server stays until its successor is ready or has
 * failed. Planning an applied plan gives only `keep`.
 *
 * @param desired - names are unique
 */
export function planChanges(
  desired: readonly AdmittedServer[],
  present: PresentServers,
): readonly Step[] {
  const { live } = present;
  const steps: Step[] = [];
  let liveCount = 0;
  for (const server of desired) {
    const now = live.get(server.desired.name);
    if (now !== undefined) liveCount += 1;
    // Usually one of thousands differs, and the others need no list of steps each.
    if (isApplied(server, now, present)) steps.push(unchanged(server.desired.name));
    else steps.push(...stepsFor(server, now, present));
  }
  return liveCount === live.size ? steps : [...stepsOfUnwanted(desired, live), ...steps];
}

/** Returns whether a server runs alone and exactly as it should. */
function isApplied(
  { desired, verdict }: AdmittedServer,
  live: LiveServer | undefined,
  { digestOf }: PresentServers,
): boolean {
  return (
    live !== undefined &&
    live.leaving === false &&
    live.beside === undefined &&
    live.generation === desired.generation &&
    live.verdict === verdict &&
    live.settingsDigest === digestOf(desired)
  );
}

function stepsOfUnwanted(
  desired: readonly AdmittedServer[],
  live: PresentServers['live'],
): readonly Step[] {
  const wanted = new Set(desired.map((server) => server.desired.name));
  const unwanted = [...live.keys()].filter((server) => !wanted.has(server)).sort();
  return unwanted.map((server) =>
    live.get(server)?.leaving
      ? step(server, 'keep', 'leaving')
      : step(server, 'retire', 'no longer in the settings'),
  );
}

/** Returns the step that keeps a server which runs exactly as it should. */
export function unchanged(server: string): Step {
  return step(server, 'keep', 'unchanged');
}

/** Returns whether a server runs exactly as it should. */
export function isUnchanged({ step: kind, why }: Step): boolean {
  return kind === 'keep' && why === 'unchanged';
}

/** Returns whether a plan changes nothing. */
export function changesNothing(steps: readonly Step[]): boolean {
  return steps.every(({ step: kind }) => kind === 'keep');
}

function stepsFor(
  server: AdmittedServer,
  live: LiveServer | undefined,
  present: PresentServers,
): readonly Step[] {
  const { desired, verdict } = server;
  const one = (kind: StepKind, why: string) => [step(desired.name, kind, why)];
  if (live === undefined) {
    const but = verdict === 'admitted' ? '' : `, but ${verdict}`;
    return one('spawn', `${originOf(desired)}, not running yet${but}`);
  }
  if (live.leaving) return one('keep', 'leaving');
  const successor = successorOf(live);
  if (successor !== undefined) return stepsOfHandover(server, live, successor, present);
  if (live.generation === desired.generation) return stepsInPlace(server, live, present);
  if (!mayHandOver(server, live, present)) return one('replace', 'connection settings changed');
  if (live.beside === undefined)
    return one('handover', 'connection settings changed; its successor starts beside it');
  // Two at a time are enough, however often the entry is edited.
  return live.beside.leaving === 'afterCalls'
    ? one('keep', 'its predecessor still finishes its calls')
    : one('keep', 'its successor makes way for another');
}

/** Returns whether a successor may start first. A server that is not ready has nothing to hand over. */
function mayHandOver(
  { desired, verdict }: AdmittedServer,
  { actorId }: LiveServer,
  { serving }: PresentServers,
): boolean {
  return desired.handover === 'seamless' && verdict === 'admitted' && serving.has(actorId);
}

function stepsOfHandover(
  server: AdmittedServer,
  live: LiveServer,
  successor: LiveServer,
  present: PresentServers,
): readonly Step[] {
  const { desired, verdict } = server;
  const { name, generation } = desired;
  if (verdict !== 'admitted') return [step(name, 'replace', verdict)];
  if (generation === live.generation) {
    const steps = stepsInPlace(server, live, present);
    return joined(step(name, 'handover', 'settings as before; its successor leaves'), steps);
  }
  if (generation === successor.generation) {
    const steps = stepsInPlace(server, successor, present);
    if (successor.due !== undefined) return joined(step(name, 'handover', successor.due), steps);
    return changesNothing(steps) ? [step(name, 'keep', 'its successor is not ready yet')] : steps;
  }
  if (!mayHandOver(server, live, present)) {
    return [step(name, 'replace', 'connection settings changed')];
  }
  return [
    step(name, 'handover', 'connection settings changed; its successor makes way for another'),
  ];
}

/** Puts changes of settings before the step that depends on them. */
function joined(last: Step, before: readonly Step[]): readonly Step[] {
  return [...before.filter(({ step: kind }) => kind !== 'keep'), last];
}

function stepsInPlace(
  { desired, verdict }: AdmittedServer,
  live: LiveServer,
  { digestOf }: PresentServers,
): readonly Step[] {
  const { name } = desired;
  const isUpdate = live.settingsDigest !== digestOf(desired);
  const isMove = live.verdict !== verdict;
  if (!isUpdate && !isMove) return [unchanged(name)];
  const update = isUpdate ? [step(name, 'update', 'settings changed')] : [];
  if (!isMove) return update;
  // A server must never run with settings that it was not admitted with: a block comes before
  // the new settings, an admission after them.
  return verdict === 'admitted'
    ? [...update, step(name, 'admit', 'now admitted')]
    : [step(name, 'block', verdict), ...update];
}

/** A server without an entry comes from the key that its source names. */
function originOf({ source }: DesiredServer): string {
  return source.key.startsWith('mcp.') ? `wanted by ${source.key}` : 'in the settings';
}

function step(server: string, kind: StepKind, why: string): Step {
  return { server, step: kind, why };
}
