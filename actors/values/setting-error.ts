import type { Missing } from '../../src/domain/failure.ts';

/** Thrown for an unusable setting; the message names its key. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
  readonly code = 'INVALID_SETTING';
  /** What the user has to provide. */
  readonly missing: Missing | undefined;

  constructor(message: string, { missing, ...options }: ErrorOptions & { missing?: Missing } = {}) {
    super(message, options);
    this.missing = missing;
  }
}

/** Creates the error for a string whose variables or references cannot be expanded. */
export function unexpandable(
  expansion: { readonly missing: string } | { readonly broken: string },
  key: string,
): SettingError {
  if ('missing' in expansion)
    return new SettingError(
      `The variable ${expansion.missing}, which "${key}" needs, is not set.`,
      {
        missing: { what: 'variable', name: expansion.missing },
      },
    );
  return new SettingError(`A reference in "${key}" is not whole; fix it in the settings.`);
}
