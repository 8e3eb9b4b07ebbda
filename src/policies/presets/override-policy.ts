import type { PolicyChoice, PolicyOverrides, ServerPolicy } from '../../domain/policy.ts';
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
 * nothing else of `base`. Equal choices lead to one object, not to equal ones.
 */
export function chosenPolicy(base: ServerPolicy, choice: PolicyChoice): ServerPolicy {
  const start = choice.preset === undefined ? base : presets[choice.preset];
  const key = JSON.stringify(choice.overrides);
  if (key === '{}') return start;
  const chosen = chosenFrom.get(start) ?? new Map<string, ServerPolicy>();
  chosenFrom.set(start, chosen);
  const known = chosen.get(key);
  if (known !== undefined) return known;
  const policy = overridePolicy(start, choice.overrides);
  if (chosen.size >= rememberedChoices) chosen.clear();
  chosen.set(key, policy);
  return policy;
}

// Thousands of servers say the same few things (`"startup": "lazy"`), and whoever hashes or
// compares their policies is done at once when they are one object.
const chosenFrom = new WeakMap<ServerPolicy, Map<string, ServerPolicy>>();
// More than people ever write down; what is beyond costs time, not truth.
const rememberedChoices = 1_000;
