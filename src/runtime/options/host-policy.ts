import { parsePolicyChoice } from '../../config/policy-choice.ts';
import type { PolicyChoice } from '../../domain/policy.ts';
import { TroupeError } from '../../domain/troupe-error.ts';

/**
 * Reads the option `policy` of a host by the rules of the settings.
 *
 * @param remark - told of fields that this version does not obey
 * @throws TroupeError `INVALID_ARGUMENTS` that names the key.
 */
export function hostPolicy(
  policy: unknown,
  remark: (message: string, key: string) => void,
): PolicyChoice {
  const parsed = parsePolicyChoice(policy ?? 'default', 'troupe');
  if ('fault' in parsed) {
    const { path, message } = parsed.fault;
    const key = ['policy', ...path].join('.');
    throw new TroupeError(
      'INVALID_ARGUMENTS',
      `The option "${key}" of createTroupe is wrong: ${message}.`,
    );
  }
  for (const { path, message } of parsed.remarks) remark(message, ['policy', ...path].join('.'));
  return parsed.choice;
}
