/** `mcp.views`: what clients of the troupe may see and do. */

import { z } from 'zod';
import type { NamingPolicy } from '../domain/policy.ts';
import type { CallLimits, Settings, SourceRef, ViewSettings } from '../domain/settings.ts';
import { limitsSchema, permissionsSchema } from './entry/schema.ts';
import { policySchemas, sentenceFor } from './policy-schema.ts';
import { type Fault, schemaFault } from './settings-tree.ts';

// Part of an address, so only characters that need no encoding there. The order of views counts, and keys that are
// numbers would come first.
const viewName = /^(?!\.|\d+$)[\w.-]{1,64}$/;
// Readable by every model API.
const toolName = /^[\w.-]{1,64}$/;

const nameError =
  'a view is named with at most 64 letters, digits, "_", "-" and ".", not all of them digits; write { "review": { "servers": ["db"] } }';
const viewError = 'a view must be an object; write { "servers": ["db"] }';
const serversError = '"servers" must be a list of names; write ["db", "web_*"]';
const renameError =
  '"rename" must name tools by server; write { "db": { "query": "ask_database" } }';
const newNameError =
  'a new name has at most 64 letters, digits, "_", "-" and "."; write "ask_database"';
const permissionsError =
  'the "permissions" of a view are lists "ask" and "deny", because it can only narrow; write { "ask": ["mcp__db__*"] }';
const namingError = '"naming" must be an object; write { "template": "{tool}" }';
const clientsError = '"clients" must be a list of rules; write [{ "group": "reviewers" }]';
const ruleError = 'a rule needs "user", "group" or "scope"; write { "group": "reviewers" }';

const patternError =
  'this is not a name; write "*_delete", or for one server { "server": "db", "name": "drop_*" }';
const listError = 'this must be a list of names; write ["*_delete"]';

const filled = (error: string) => z.string({ error }).min(1, { error });

const patterns = z
  .array(
    z.union(
      [
        filled(patternError),
        z.strictObject({ server: filled(patternError), name: filled(patternError) }),
      ],
      { error: patternError },
    ),
    { error: listError },
  )
  .optional();
const filter = { include: patterns, exclude: patterns };
const filterError = 'this must be an object of lists; write { "exclude": ["*_delete"] }';

const newNames = z
  .record(z.string(), z.string({ error: newNameError }).regex(toolName, { error: newNameError }), {
    error: renameError,
  })
  .refine((names) => new Set(Object.values(names)).size === Object.keys(names).length, {
    error: 'two tools of one server get the same name; give each its own',
  });

const clientRule = z
  .strictObject(
    {
      user: filled(ruleError).optional(),
      group: filled(ruleError).optional(),
      scope: filled(ruleError).optional(),
    },
    { error: ruleError },
  )
  .refine((rule) => Object.keys(rule).length > 0, { error: ruleError })
  .meta({ minProperties: 1 });

const naming = z.strictObject(policySchemas.naming, { error: namingError }).partial();

const viewSchema = z.strictObject(
  {
    servers: z.array(filled(serversError), { error: serversError }).optional(),
    tools: z
      .strictObject(
        { ...filter, rename: z.record(z.string(), newNames, { error: renameError }).optional() },
        { error: filterError },
      )
      .optional(),
    prompts: z.strictObject(filter, { error: filterError }).optional(),
    resources: z.strictObject(filter, { error: filterError }).optional(),
    permissions: permissionsSchema.omit({ allow: true }).optional(),
    naming: naming.optional(),
    limits: limitsSchema.optional(),
    clients: z.array(clientRule, { error: clientsError }).optional(),
  },
  { error: viewError },
);

export const viewsSchema = z.record(z.string().regex(viewName), viewSchema, {
  error: ({ code }) => (code === 'invalid_key' ? nameError : viewError),
});

export type Views = z.infer<typeof viewsSchema>;

/** Returns what is wrong with a value that the schema has refused; the path starts below `views`. */
export function viewsFault(error: z.ZodError): Omit<Fault, 'line'> {
  const fault = schemaFault(viewsSchema, error);
  const [, part, field] = fault.path;
  if (part === 'permissions' && field === 'allow') return { ...fault, message: permissionsError };
  const schema = part === 'naming' ? naming.shape[field as keyof NamingPolicy] : undefined;
  if (schema === undefined) return fault;
  const sentence = sentenceFor(schema.unwrap(), error);
  return { ...fault, message: `"naming.${String(field)}" ${sentence}` };
}

/**
 * Joins the views of several documents, the last of which has the highest precedence.
 * @param isPartial - whether a document that may have views cannot be read
 */
export function viewsIn(
  documents: readonly { readonly views: Views | undefined; readonly source: SourceRef }[],
  isPartial: boolean,
): Pick<Settings, 'views' | 'isPartial'> {
  const joined = new Map<string, ViewSettings>();
  for (const { views = {}, source } of documents)
    for (const [name, each] of Object.entries(views))
      joined.set(name, settingsOf(name, each, source));
  return {
    ...(joined.size > 0 && { views: [...joined.values()] }),
    ...(isPartial && { isPartial }),
  };
}

function settingsOf(name: string, view: Views[string], source: SourceRef): ViewSettings {
  const { tools: { rename = {}, ...tools } = {}, permissions, limits, ...rest } = view;
  const renames = Object.entries(rename).flatMap(([server, names]) =>
    Object.entries(names).map(([tool, to]) => ({ server, tool, to })),
  );
  const key = `${source.key}.${name}.permissions`;
  return {
    name,
    ...rest,
    tools,
    renames,
    limits: limits as CallLimits | undefined,
    permissions: permissions && { rules: permissions, source: { ...source, key } },
  };
}
