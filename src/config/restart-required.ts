/**
 * Marks, in a schema, a key that counts when a troupe starts and not again before
 * the next start. The documents and the schema for editors repeat it;
 * `start-values.ts` tells whoever edits such a key under a running troupe.
 */

import type { z } from 'zod';

/** What is written at the schema of such a key: `.meta(restartRequired)`. */
export const restartRequired = { restartRequired: true } as const;

/** Says whether a running troupe takes no notice of a change of this key. */
export function isRestartRequired(schema: z.ZodType): boolean {
  return schema.meta()?.['restartRequired'] === true;
}
