/** Finds the admission rule that decided about a server, its place, and what would change the verdict. */

import type { AdmissionRule, Explanation } from '../../domain/host/explanation.ts';
import type { Verdict } from '../../domain/server-state.ts';
import type { DesiredServer, Settings, SourceRef } from '../../domain/settings.ts';
import { admit, admitAll, type Gates } from '../../policies/admission/admit.ts';
import { approvalFingerprint } from '../../policies/fingerprint.ts';
import { refusingRule } from '../status/refusing-rule.ts';

/** The facts that admission decides by. */
export interface AdmissionFacts {
  readonly desired: DesiredServer;
  readonly gates: Gates;
  readonly settings: Pick<Settings, 'servers' | 'limits' | 'budget'>;
}

export function admissionOf(verdict: Verdict, facts: AdmissionFacts): Explanation['admission'] {
  const { desired } = facts;
  const own = { rule: ownRule[verdict] ?? 'approval', source: desired.source } as const;
  switch (verdict) {
    case 'excluded':
    case 'notAllowed':
      return { verdict, ...refusingRule(verdict, desired, { ...facts.gates, ...facts.settings }) };
    case 'invalidConfig':
      return { verdict, rule: 'invalid', source: placeOfFault(desired) };
    case 'admitted':
      return { verdict, ...own, rule: desired.gated ? 'approval' : 'ungated' };
    case 'disabled':
      return desired.disabledBy === undefined
        ? { verdict, ...own }
        : { verdict, rule: 'mcp.disabledServers', source: desired.disabledBy };
    case 'overBudget':
      return { verdict, ...own, source: facts.settings.budget?.source ?? desired.source };
    case 'untrusted':
    case 'pendingApproval':
    case 'rejected':
      return { verdict, ...own };
  }
}

const ownRule: Partial<Readonly<Record<Verdict, AdmissionRule>>> = {
  disabled: 'enabled',
  untrusted: 'trust',
  overBudget: 'budget',
};

function placeOfFault({ source, invalid }: DesiredServer): SourceRef {
  if (invalid === undefined) return source;
  const { file, line, key = source.key } = invalid;
  return { file, key, ...(line === undefined ? {} : { line }), scope: source.scope };
}

/** A host event and the verdict that it would lead to. */
export interface Opener {
  readonly event: string;
  readonly verdict: Verdict;
}

/** Lists the host events that would change the verdict, by evaluating admission with each. */
export function openersOf({ desired, gates, settings }: AdmissionFacts): readonly Opener[] {
  const { invalid: _invalid, bar, ...entry } = desired;
  // The host's settings cannot lift these two.
  const isFixed = bar?.rule === 'managed' || bar?.rule === 'hostRule';
  const fixed = { ...entry, enabled: true, ...(isFixed ? { bar } : {}) };
  const { allowed: _allowed, ...unlisted } = gates;
  const fingerprint = approvalFingerprint(desired);
  const decided = (decision: 'granted' | 'rejected'): Gates => ({
    ...gates,
    decisions: [...gates.decisions, { server: desired.name, fingerprint, decision }],
  });
  const others = gates.decisions.filter(
    (made) => made.server !== desired.name || made.fingerprint !== fingerprint,
  );
  const verdictUnder = (changed: Gates): Verdict => verdictAmong(desired, changed, settings);
  const now = verdictUnder(gates);
  return [
    {
      event: 'settings.changed',
      // Settings can lift the budget as well, so the server is evaluated alone.
      verdict: admit(fixed, { ...unlisted, excluded: [] }),
    },
    { event: 'trust.changed', verdict: verdictUnder({ ...gates, trusted: true }) },
    { event: 'allow.changed', verdict: verdictUnder({ ...gates, hostAllowed: null }) },
    { event: 'approval.grant', verdict: verdictUnder(decided('granted')) },
    { event: 'approval.reject', verdict: verdictUnder(decided('rejected')) },
    { event: 'approval.revoke', verdict: verdictUnder({ ...gates, decisions: others }) },
  ].filter(({ verdict }) => verdict !== now);
}

/** Evaluates all servers only under a budget, where they compete; there may be ten thousand. */
function verdictAmong(
  desired: DesiredServer,
  gates: Gates,
  { servers, budget }: AdmissionFacts['settings'],
): Verdict {
  const alone = admit(desired, gates);
  if (alone !== 'admitted' || budget === undefined) return alone;
  const lists = { servers, budget, excluded: gates.excluded };
  const found = admitAll(lists, gates).find((each) => each.desired.name === desired.name);
  return found?.verdict ?? alone;
}
