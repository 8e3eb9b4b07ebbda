/** Finds the rule that excludes a server, and its place. */

import type { AdmissionRule } from '../../domain/host/explanation.ts';
import type { DesiredServer, Limit, Settings, SourceRef } from '../../domain/settings.ts';
import type { Gates } from '../../policies/admission/admit.ts';

/** Every list that can exclude a server. */
export interface RefusingLists
  extends Pick<Gates, 'launchBound' | 'hostAllowed'>,
    Pick<Settings, 'limits' | 'budget'> {}

export interface RuleAndPlace {
  readonly rule: AdmissionRule;
  /** Absent when the rule is in no file. */
  readonly source?: SourceRef;
}

/** The rule by which a server may not run. */
export function refusingRule(
  verdict: 'excluded' | 'notAllowed',
  desired: DesiredServer,
  lists: RefusingLists,
): RuleAndPlace {
  const { bar } = desired;
  // Of several lists that leave a server out, those without a file come first: no edit undoes them.
  if (verdict === 'notAllowed' && lacks(lists.launchBound, desired)) return { rule: 'launchBound' };
  if (verdict === 'notAllowed' && lacks(lists.hostAllowed, desired)) return { rule: 'hostAllowed' };
  if (bar?.verdict === verdict) return withSource(bar.rule, bar.source);
  const list = verdict === 'excluded' ? 'excluded' : 'allowed';
  const limit = lists.limits?.find((each) => each.list === list && refuses(each, desired));
  return withSource(`mcp.${list}`, limit?.source);
}

/** The step that would lift the rule. */
export function stepAgainst(
  verdict: 'excluded' | 'notAllowed',
  desired: DesiredServer,
  lists: RefusingLists,
): string {
  const { name, bar } = desired;
  const { rule, source } = refusingRule(verdict, desired, lists);
  if (rule === 'launchBound')
    return `start again with ${name} in the list given at launch (--allow, or the option "allow" of the host)`;
  if (rule === 'hostAllowed') return `have the host put ${name} on its list (allow.changed)`;
  if (bar?.verdict === verdict) return bar.next;
  const [verb, to] = verdict === 'excluded' ? ['remove', 'from'] : ['add', 'to'];
  const change = `${verb} ${name} ${to} ${rule}`;
  if (source === undefined) return `${change} where the list is set`;
  if (source.file === undefined) return `${change} of the host's settings`;
  const place = source.line === undefined ? source.file : `${source.file}:${source.line}`;
  if (source.scope === 'managed') return `ask the administrator of ${place} to ${change}`;
  return `${change} in ${place}`;
}

function withSource(rule: AdmissionRule, source: SourceRef | undefined): RuleAndPlace {
  return source === undefined ? { rule } : { rule, source };
}

function lacks(names: readonly string[] | null | undefined, { name }: DesiredServer): boolean {
  return names !== null && names !== undefined && !setOf(names).has(name);
}

function refuses({ list, names }: Limit, { name }: DesiredServer): boolean {
  return setOf(names).has(name) === (list === 'excluded');
}

// Ten thousand servers may ask one list of ten thousand names.
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(names: readonly string[]): ReadonlySet<string> {
  const known = sets.get(names) ?? new Set(names);
  sets.set(names, known);
  return known;
}
