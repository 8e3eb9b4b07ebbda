import type { PolicyOverrides, ServerPolicy } from '../../domain/policy.ts';

/** Returns the policy with the given fields replaced, each as a whole. */
export function overridePolicy(policy: ServerPolicy, overrides: PolicyOverrides): ServerPolicy {
  const given = Object.entries(overrides).filter(([, fields]) => Object.keys(fields).length > 0);
  // Thousands of servers share one policy as long as none overrides anything.
  if (given.length === 0) return policy;
  const groups = given.map(([group, fields]) => [
    group,
    { ...policy[group as keyof ServerPolicy], ...fields },
  ]);
  // Every override has the type of the field that it replaces.
  return { ...policy, ...(Object.fromEntries(groups) as Partial<ServerPolicy>) };
}
