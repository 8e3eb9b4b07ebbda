/**
 * Decides which servers may connect. Lists only narrow: a server must be on every list of
 * allowed servers and on no list of excluded ones.
 */

import type { AdmittedServer } from '../../domain/plan.ts';
import type { Verdict } from '../../domain/server-state.ts';
import {
  type DesiredServer,
  isFolderScope,
  needsApproval,
  type Settings,
} from '../../domain/settings.ts';
import type { ApprovalDecisions } from '../approvals/records.ts';
import { approvalFingerprint } from '../fingerprint.ts';
import { type Places, withinBudget } from './server-budget.ts';

/** Everything besides the server itself that admission depends on. */
export interface Gates {
  /** Whether the files of the project folder count. */
  readonly trusted: boolean;
  /** Absent = all are allowed; empty = none. */
  readonly allowed?: readonly string[];
  readonly excluded: readonly string[];
  /** The host's own list; null = no list. */
  readonly hostAllowed: readonly string[] | null;
  /** The list given at launch, which the other two never widen. */
  readonly launchBound?: readonly string[];
  /** The last decision about a fingerprint counts. */
  readonly decisions: ApprovalDecisions;
  /** Places of the budget that are taken; absent = none. */
  readonly places?: Places;
}

/**
 * Returns whether one server may connect, and if not, the first reason. Only {@link admitAll}
 * applies the budget, which depends on all servers.
 *
 * The order of the reasons is part of the contract: a server that the user
 * disabled shows `disabled` even if it is also excluded, and the user is not asked to
 * approve a server that another gate would keep out anyway.
 */
export function admit(desired: DesiredServer, gates: Gates): Verdict {
  return admission([gates])(desired);
}

/**
 * Pairs every server of the settings with its verdict, in settings order. The
 * lists of the settings and those of the gates narrow each other, so it is
 * harmless when the gates repeat what the settings say.
 */
export function admitAll(
  settings: Pick<Settings, 'servers' | 'allowed' | 'excluded' | 'budget'>,
  gates: Gates,
): readonly AdmittedServer[] {
  const verdictOf = admission([gates, settings]);
  const servers = settings.servers.map((desired) => ({ desired, verdict: verdictOf(desired) }));
  return withinBudget(servers, settings.budget, gates.places ?? noPlaces);
}

const noPlaces: Places = { held: new Set(), returned: new Set() };

type Lists = Pick<Gates, 'allowed' | 'excluded'>;

// The lists become sets once per pass: ten thousand servers against a list of
// ten thousand names must not cost a hundred million comparisons.
function admission([gates, ...more]: readonly [Gates, ...Lists[]]): (
  desired: DesiredServer,
) => Verdict {
  const lists: readonly Lists[] = [gates, ...more];
  const excluded = new Set(lists.flatMap((list) => list.excluded));
  const allowLists = [gates.hostAllowed, gates.launchBound, ...lists.map((list) => list.allowed)]
    .filter((names) => names !== null && names !== undefined)
    .map((names) => new Set(names));

  return (desired) => {
    const { name, bar } = desired;
    if (!desired.enabled) return 'disabled';
    if (isFolderScope(desired.source.scope) && !gates.trusted) return 'untrusted';
    if (excluded.has(name) || bar?.verdict === 'excluded') return 'excluded';
    if (bar !== undefined) return 'notAllowed';
    if (!allowLists.every((names) => names.has(name))) return 'notAllowed';
    if (desired.invalid !== undefined) return 'invalidConfig';
    if (!needsApproval(desired)) return 'admitted';
    const present = approvalFingerprint(desired);
    const made = gates.decisions.get(name)?.findLast((each) => each.fingerprint === present);
    if (made === undefined) return 'pendingApproval';
    return made.decision === 'granted' ? 'admitted' : 'rejected';
  };
}
