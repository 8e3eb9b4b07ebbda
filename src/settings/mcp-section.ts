/**
 * The `mcp` section of a document: lists that limit, and numbers of the troupe.
 *
 * An invalid limiting list makes the whole document unusable: treating it as absent
 * would start servers that it was meant to forbid.
 */

import { z } from 'zod';

import { isRecord } from '../domain/data/is-record.ts';
import type { PermissionRules } from '../domain/permission.ts';
import type { PolicyChoice } from '../domain/policy.ts';
import type {
  CallLimits,
  CommandHook,
  CommandHooks,
  LedgerSettings,
  SlotCounts,
} from '../domain/settings.ts';
import { type ServerRule, urlRulePattern } from '../policies/admission/server-rule.ts';
import { closestName, unknownKeyMessage } from '../policies/text/closest-name.ts';
import { limitsSchema, permissionPattern, permissionsSchema, wholeNumber } from './entry/schema.ts';
import { type PolicyFault, parsePolicyChoice } from './policy-choice.ts';
import { restartRequired } from './restart-required.ts';
import {
  type Fault,
  findFault,
  lineAt,
  membersOf,
  schemaFault,
  type TreeMember,
  valueOf,
} from './settings-tree.ts';
import { type Views, viewsFault, viewsSchema } from './views.ts';

/** `auto`: where Docker has it; its absence is not a problem. */
export type DockerGatewayWish = boolean | 'auto';

export interface McpSection {
  readonly allowed?: readonly ServerRule[];
  readonly excluded?: readonly ServerRule[];
  readonly disabledServers?: readonly string[];
  readonly enabledServers?: readonly string[];
  readonly slots?: Partial<SlotCounts>;
  readonly startupGateMs?: number;
  readonly policy?: PolicyChoice;
  readonly permissions?: PermissionRules;
  readonly limits?: CallLimits;
  readonly views?: Views;
  /** Programs that see calls and their results. */
  readonly hooks?: {
    readonly [When in keyof CommandHooks]?: readonly Omit<CommandHook, 'source'>[] | undefined;
  };
  /** Whether and how calls are recorded. */
  readonly ledger?:
    | boolean
    | { readonly [Key in keyof LedgerSettings]?: LedgerSettings[Key] | undefined };
  /** Whether programs may be run for values of servers. */
  readonly commandValues?: boolean;
  /** Whether servers that the project folder declares may connect. */
  readonly projectServers?: boolean;
  readonly dockerGateway?: DockerGatewayWish;
  /** Whether commands share a troupe in the background. */
  readonly background?: boolean;
}

export interface ParsedMcpSection {
  /** Absent when the document must not be used. */
  readonly section?: McpSection;
  readonly faults: readonly Fault[];
  /** The line of each key, for example of `policy.startup.gateMs`. */
  readonly lines?: ReadonlyMap<string, number>;
}

// A thousand processes starting at once are beyond any machine.
const maxSlots = 1_000;

// The gate only delays what is shown; a minute without showing anything is a mistake.
const maxGateMs = 60_000;

// Each takes at least the start of a program for every call.
const maxHooks = 20;
const maxHookName = 100;
// A user waits for every call; ten minutes are the longest that a call may take.
const maxHookMs = 600_000;
const hooksError =
  '"hooks" must be an object of lists "before" and "after"; write { "before": [{ "name": "check", "command": ["check-call"] }] }';
const hookError =
  'a hook must be an object with a name and a command; write { "name": "check", "command": ["check-call"] }';
const hookNameError = `the "name" of a hook must be text of 1 to ${maxHookName} characters; write "check"`;
const hookCommandError =
  'the "command" of a hook must be a program and its arguments; write ["node", "check-call.mjs"]';
const hookToolsError =
  'the "tools" of a hook must be a list of tool names; write ["mcp__db__*"], or leave it out for all tools';
const hookMsError = `the "timeoutMs" of a hook must be a whole number of milliseconds from 1 to ${maxHookMs}; write 10000`;
const commandText = z.string({ error: hookCommandError });
const hook = z.strictObject(
  {
    name: z
      .string({ error: hookNameError })
      .min(1, { error: hookNameError })
      .max(maxHookName, { error: hookNameError }),
    command: z.tuple([commandText.min(1, { error: hookCommandError })], commandText, {
      error: hookCommandError,
    }),
    tools: z
      .array(permissionPattern, { error: hookToolsError })
      .min(1, { error: hookToolsError })
      .optional(),
    timeoutMs: wholeNumber(1, maxHookMs, hookMsError).optional(),
  },
  { error: hookError },
);
const hookList = z
  .array(hook, { error: hooksError })
  .max(maxHooks, { error: `there may be at most ${maxHooks} hooks in a list; join some of them` })
  .optional();

// Smaller files would be replaced all the time; larger ones are slow to search.
const [leastLedgerBytes, mostLedgerBytes] = [65_536, 1_073_741_824];
const maxLedgerFiles = 100;

const slotsError = `"slots" counts must be whole numbers from 1 to ${maxSlots}, or "auto"; write { "local": 3, "remote": 20 }`;
const gateError = `"startupGateMs" must be a whole number of milliseconds from 0 to ${maxGateMs}; write 250`;
const gatewayError = '"dockerGateway" must be true, false or "auto"; write true';
const slots = z.union([z.literal('auto'), wholeNumber(1, maxSlots, slotsError)], {
  error: slotsError,
});

const ledgerError =
  '"ledger" must be true, false or an object; write true, or { "arguments": "full" }';
const ledger = z.strictObject(
  {
    arguments: z
      .enum(['digest', 'full'], { error: '"arguments" must be "digest" or "full"; write "digest"' })
      .optional(),
    maxBytes: wholeNumber(
      leastLedgerBytes,
      mostLedgerBytes,
      `"maxBytes" must be a whole number of bytes from ${leastLedgerBytes} to ${mostLedgerBytes}; write 16777216`,
    ).optional(),
    files: wholeNumber(
      1,
      maxLedgerFiles,
      `"files" must be a whole number from 1 to ${maxLedgerFiles}; write 4`,
    ).optional(),
  },
  { error: ledgerError },
);

/** The message about the key of an object that is wrong, or about a value that is no object. */
function faultWithin(error: string) {
  return ({ input, errors }: { readonly input?: unknown; readonly errors?: unknown }): string => {
    // The object is the last of the alternatives.
    const faults = (errors as readonly z.core.$ZodIssue[][] | undefined)?.at(-1);
    return (isRecord(input) ? faults?.[0]?.message : undefined) ?? error;
  };
}

const listOf = (key: string) => {
  const error = `"${key}" must be a list of server names; write ["db"] or, for none, []`;
  return z.array(z.string({ error }).min(1, { error }), { error });
};

const ruleError =
  'this is not a server; write ["db"], or in place of a name { "command": ["npx", "-y", "x"] } or { "url": "https://*.example.com/*" }';
const ruleText = z.string({ error: ruleError }).min(1, { error: ruleError });
const serverRule = z.union(
  [
    ruleText,
    z.strictObject({ command: z.union([ruleText, z.array(ruleText).min(1)]) }),
    z.strictObject({ url: ruleText.regex(urlRulePattern) }),
  ],
  { error: ruleError },
);

const rulesOf = (key: string) => {
  const error = `"${key}" must be a list of servers; write ["db"] or, for none, []`;
  return z.array(serverRule, { error });
};

/** The schema of each key of the section. */
export const mcpFields = {
  allowed: rulesOf('allowed'),
  excluded: rulesOf('excluded'),
  disabledServers: listOf('disabledServers'),
  enabledServers: listOf('enabledServers'),
  slots: z.strictObject(
    {
      local: slots.optional(),
      remote: slots.optional(),
    },
    { error: slotsError },
  ),
  startupGateMs: wholeNumber(0, maxGateMs, gateError).meta(restartRequired),
  permissions: permissionsSchema,
  limits: limitsSchema,
  views: viewsSchema,
  hooks: z.strictObject({ before: hookList, after: hookList }, { error: hooksError }),
  ledger: z.union([z.boolean(), ledger], { error: faultWithin(ledgerError) }),
  // Read by `policy-choice.ts`, which reports faults that a schema cannot.
  policy: z.unknown(),
  commandValues: z.boolean({
    error: '"commandValues" must be true or false, without quotes; write true',
  }),
  projectServers: z.boolean({
    error: '"projectServers" must be true or false, without quotes; write false',
  }),
  dockerGateway: z.union([z.boolean(), z.literal('auto')], { error: gatewayError }),
  background: z.boolean({
    error: '"background" must be true or false, without quotes; write false',
  }),
} as const satisfies Readonly<Record<keyof McpSection, z.ZodType>>;

const fieldSchemas = new Map<string, z.ZodType>(Object.entries(mcpFields));

const limitingKeys: ReadonlySet<string> = new Set([
  'allowed',
  'excluded',
  'disabledServers',
  'hooks',
  'permissions',
  'projectServers',
  'views',
]);

export function parseMcpSection(member: TreeMember): ParsedMcpSection {
  const { node, line } = member;
  if (node.kind !== 'object') {
    const message = '"mcp" must be an object; write { "excluded": [] }';
    return { faults: [{ line, path: ['mcp'], message }] };
  }
  const broken = findFault(node, ['mcp']);
  if (broken !== undefined) return { faults: [broken] };

  const faults: Fault[] = [];
  const values = new Map<string, unknown>();
  const lines = new Map<string, number>();
  let isUsable = true;
  for (const field of node.members) {
    const result = parseField(field);
    if ('value' in result) {
      values.set(field.name, result.value);
      noteLines(field, '', lines);
      continue;
    }
    const { path, message, limits = false, severity } = result.fault;
    faults.push({
      line: path.length === 0 ? field.line : lineAt(field.node, path),
      path: [...(field.written ?? ['mcp', field.name]), ...path],
      message,
      ...(severity === undefined ? {} : { severity }),
    });
    if (limits) isUsable = false;
  }
  // Every value has passed the schema of its own key.
  return isUsable
    ? { section: Object.fromEntries(values) as McpSection, faults, lines }
    : { faults };
}

/** `limits`: the document is unusable. */
interface FieldFault extends PolicyFault, Pick<Fault, 'severity'> {
  readonly limits?: boolean;
}

/** Parses one key. The path of a fault starts below the key. */
function parseField({
  name,
  node,
}: TreeMember): { readonly value: unknown } | { readonly fault: FieldFault } {
  if (name === 'policy') {
    // An invalid policy counts as absent, because it limits nothing.
    const parsed = parsePolicyChoice(valueOf(node), 'troupe');
    return 'choice' in parsed ? { value: parsed.choice } : parsed;
  }
  const schema = fieldSchemas.get(name);
  if (schema === undefined) {
    const closest = closestName(name, fieldSchemas.keys());
    // A misspelt limit would not apply.
    const limits = closest !== undefined && limitingKeys.has(closest);
    const message = unknownKeyMessage(name, [...fieldSchemas.keys()]);
    return { fault: { path: [], message, ...(limits ? { limits } : { severity: 'warning' }) } };
  }
  const parsed = schema.safeParse(valueOf(node));
  if (parsed.success) return { value: parsed.data };
  const { error } = parsed;
  const fault = name === 'views' ? viewsFault(error) : schemaFault(schema, error);
  return { fault: { ...fault, limits: limitingKeys.has(name) } };
}

function noteLines(
  { name, line, node }: TreeMember,
  above: string,
  lines: Map<string, number>,
): void {
  lines.set(above + name, line);
  for (const member of membersOf(node)) noteLines(member, `${above}${name}.`, lines);
}
