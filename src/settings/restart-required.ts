/**
 * Marks a key in a schema whose edits apply at the next start of the troupe. The
 * documentation and the schema for editors say so as well; `startup-gate.ts`
 * reports an edit of such a key to the user of a running troupe.
 */

import type { z } from 'zod';

/** The mark of such a key's schema: `.meta(restartRequired)`. */
export const restartRequired = { restartRequired: true } as const;

/** Returns whether a running troupe ignores an edit of this key. */
export function isRestartRequired(schema: z.ZodType): boolean {
  return schema.meta()?.['restartRequired'] === true;
}
