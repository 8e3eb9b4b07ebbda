import type { PolicyChoice, PolicyOverrides, ServerPolicy } from '../domain/policy.ts';
import { presets } from './presets.ts';

/** The same policy but for the fields that are given; each is taken as a whole. */
export function overridePolicy(policy: ServerPolicy, overrides: PolicyOverrides): ServerPolicy {
  const given = Object.entries(overrides).filter(([, fields]) => Object.keys(fields).length > 0);
  // Thousands of servers share one policy as long as none says otherwise.
  if (given.length === 0) return policy;
  const groups = given.map(([group, fields]) => [
    group,
    { ...policy[group as keyof ServerPolicy], ...fields },
  ]);
  // Every override is of the type of the field that it replaces.
  return { ...policy, ...(Object.fromEntries(groups) as Partial<ServerPolicy>) };
}

/**
 * The policy a choice leads to. Whoever names a preset begins there and has
 * nothing else of `base`.
 */
export function chosenPolicy(base: ServerPolicy, choice: PolicyChoice): ServerPolicy {
  return overridePolicy(
    choice.preset === undefined ? base : presets[choice.preset],
    choice.overrides,
  );
}
