import { parsePolicyChoice } from '../../config/policy-choice.ts';
import type { PolicyChoice } from '../../domain/policy.ts';
import { TroupeError } from '../../domain/troupe-error.ts';

/**
 * Reads the option `policy` of a host by the rules of the settings.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the key.
 */
export function hostPolicy(policy: unknown): PolicyChoice {
  const parsed = parsePolicyChoice(policy ?? 'default', 'troupe');
  if ('choice' in parsed) return parsed.choice;
  const { path, message } = parsed.fault;
  const key = ['policy', ...path].join('.');
  throw new TroupeError(
    'INVALID_ARGUMENTS',
    `The option "${key}" of createTroupe is wrong: ${message}.`,
  );
}
