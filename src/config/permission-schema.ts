/** Lists of calls that are allowed, need approval, or are denied. */

import { z } from 'zod';
import type { PermissionPattern } from '../domain/permission.ts';

const permissionsError =
  '"permissions" must be an object of lists "allow", "ask" and "deny"; write { "ask": ["mcp__db__*"] }';
const patternError =
  'this names no tool; write an exposed name as "mcp__db__query" or "mcp__db__*", or { "server": "db", "tool": "drop_*" }';
const toolError = 'this names no tool of the server; write ["drop_*"]';
const text = (error: string) => z.string({ error }).min(1, { error });

const listsOf = (pattern: z.ZodType<PermissionPattern>) =>
  z.strictObject(
    {
      allow: z.array(pattern, { error: permissionsError }).optional(),
      ask: z.array(pattern, { error: permissionsError }).optional(),
      deny: z.array(pattern, { error: permissionsError }).optional(),
    },
    { error: permissionsError },
  );

/** For all servers, in the section `mcp`. */
export const permissionsSchema = listsOf(
  z.union(
    [
      text(patternError),
      z.strictObject({ server: text(patternError), tool: text(patternError).optional() }),
    ],
    { error: patternError },
  ),
);

/** For one server, in its entry, by its own tool names. */
export const toolPermissionsSchema = listsOf(text(toolError));
