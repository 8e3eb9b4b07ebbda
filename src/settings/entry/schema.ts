/**
 * The schema of one entry of `mcpServers`.
 *
 * Every message ends with a remedy; rules between fields are in `rules.ts`.
 */

import { z } from 'zod';
import { longestTimerMs } from '../../domain/clock.ts';
import type { PermissionPattern } from '../../domain/permission.ts';
import { restartRules } from '../../domain/policy.ts';

// More than a thousand attempts mean no limit, which is `null` in a policy.
const maxAttempts = 1_000;

// The maximum length of a description that a model sees.
export const maxDescriptionLength = 2_048;

// The longest address that servers and proxies commonly take.
const maxUrlLength = 8_192;

const text = (sentence: string) => z.string({ error: sentence });

const truth = (key: string) =>
  z.boolean({ error: `"${key}" must be true or false, without quotes` });

/** A whole number within bounds; every other value gets this message. */
export const wholeNumber = (least: number, most: number, error: string) =>
  z.int({ error }).min(least, { error }).max(most, { error });

const milliseconds = (key: string) =>
  wholeNumber(
    1,
    longestTimerMs,
    `"${key}" must be a whole number of milliseconds from 1 to ${longestTimerMs}, without quotes`,
  );

/** One of these words. */
export const choice = <const Words extends readonly [string, ...string[]]>(
  key: string,
  words: Words,
) =>
  z.enum(words, {
    error: `"${key}" must be ${words.map((word) => `"${word}"`).join(' or ')}`,
  });

const texts = (key: string, example: string) =>
  z.array(text(`every item of "${key}" must be text in quotes; write ${example}`), {
    error: `"${key}" must be a list; write ${example}`,
  });

const commandError =
  'a value from a command must be { "command": ["program", "argument"] }, all of it text';
const command = z.strictObject({ command: z.array(z.string()).min(1) }, { error: commandError });
/** The message about a value that is neither text nor a command. */
const valueError =
  (error: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    typeof input === 'object' && input !== null ? commandError : error;

/** Texts by name; each may come from a command. */
const valueByName = (key: string, example: string) =>
  z.record(
    z.string(),
    z.union([z.string(), command], {
      error: valueError(`every value of "${key}" must be text in quotes; write ${example}`),
    }),
    { error: `"${key}" must be an object of strings; write ${example}` },
  );

const proxyError =
  '"proxy" must be the address of a proxy, or false for none; write "http://proxy.example.com:3128"';
const tlsError = '"tls" must be an object of strings; write { "ca": "certificates/ca.pem" }';
const tlsValue = (key: string) =>
  z
    .union([z.string(), command], {
      error: valueError(`"${key}" must be text in quotes; write { "ca": "certificates/ca.pem" }`),
    })
    .optional();

const commandWords =
  '"headersCommand" must be a program and its arguments; write ["print-headers", "--for", "db"]';
const accountError =
  '"account" must be a name of 1 to 100 letters, digits, "_", ".", "@", "+" or "-"; write "work"';

const toolNames = (key: string) => texts(key, '["read_*"]');

// Lists of calls that are allowed, need approval, or are denied.
const permissionsError =
  '"permissions" must be an object of lists "allow", "ask" and "deny"; write { "ask": ["mcp__db__*"] }';
const patternError =
  'this is not a tool name; write an exposed name as "mcp__db__query" or "mcp__db__*", or { "server": "db", "tool": "drop_*" }';
const toolError = 'this is not the name of a tool; write ["drop_*"]';
const filled = (error: string) => text(error).min(1, { error });

const listsOf = (pattern: z.ZodType<PermissionPattern>) =>
  z.strictObject(
    {
      allow: z.array(pattern, { error: permissionsError }).optional(),
      ask: z.array(pattern, { error: permissionsError }).optional(),
      deny: z.array(pattern, { error: permissionsError }).optional(),
    },
    { error: permissionsError },
  );

export const permissionPattern = z.union(
  [
    filled(patternError),
    z.strictObject({ server: filled(patternError), tool: filled(patternError).optional() }),
  ],
  { error: patternError },
);

/** For all servers, in the section `mcp`. */
export const permissionsSchema = listsOf(permissionPattern);

/** For one server, in its entry, by its own tool names. */
const toolPermissionsSchema = listsOf(filled(toolError));

const descriptionError = `"description" must be text of at most ${maxDescriptionLength} characters; shorten it`;
const attemptsError = `"maxAttempts" must be a whole number from 1 to ${maxAttempts}, without quotes`;
const overridesError = '"overrides" must name tools; write { "query": { "timeoutMs": 120000 } }';
// A name, or an address of mail; no reference, because it is shown for approval.
const accountPattern = /^[\w.@+-]{1,100}$/;

// Above this, a limit costs memory and limits nothing.
const maxPerMinute = 10_000;
const limitsError = '"limits" must be an object of numbers; write { "perMinute": 60 }';
const perMinute = (key: string) =>
  wholeNumber(
    1,
    maxPerMinute,
    `"${key}" must be a whole number of calls from 1 to ${maxPerMinute}, without quotes`,
  ).optional();

/** How often something may be called. */
export const limitsSchema = z.strictObject(
  { perMinute: perMinute('perMinute'), perClientPerMinute: perMinute('perClientPerMinute') },
  { error: limitsError },
);
const toolOverride = z.strictObject(
  {
    enabled: truth('enabled').optional(),
    timeoutMs: milliseconds('timeoutMs').optional(),
    limits: limitsSchema.optional(),
  },
  { error: overridesError },
);
const urlError = `"url" must be text of at most ${maxUrlLength} characters; write "https://host/mcp"`;

export const serverEntrySchema = z.strictObject(
  {
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'sse', 'ws', 'memory'], {
        error:
          '"type" must be "stdio", "http", "sse" or "ws"; leave it out and it follows from "command" or "url"',
      })
      .optional(),
    command: text('"command" must be text: the program alone; write "npx"').optional(),
    args: texts('args', '["-y", "package"]').optional(),
    env: valueByName('env', '{ "NAME": "value" }').optional(),
    envFile: text('"envFile" must be text: a file; write ".env"').optional(),
    cwd: text('"cwd" must be text: a folder; write "." for the project').optional(),
    url: text(urlError).max(maxUrlLength, { error: urlError }).optional(),
    headers: valueByName('headers', '{ "X-Key": "value" }').optional(),
    proxy: z
      .union([z.literal(false), z.string(), command], { error: valueError(proxyError) })
      .optional(),
    tls: z
      .strictObject(
        {
          ca: tlsValue('ca'),
          cert: tlsValue('cert'),
          key: tlsValue('key'),
          passphrase: tlsValue('passphrase'),
        },
        { error: tlsError },
      )
      .optional(),
    headersCommand: z
      .union(
        [
          text(commandWords).regex(/\S/, { error: commandWords }),
          z.array(text(commandWords), { error: commandWords }).min(1, { error: commandWords }),
        ],
        { error: commandWords },
      )
      .optional(),
    // Read by `oauth.ts`, which reports the key within it.
    oauth: z.unknown().optional(),
    account: z
      .string({ error: accountError })
      .regex(accountPattern, { error: accountError })
      .optional(),
    values: choice('values', ['expand', 'literal']).optional(),
    era: choice('era', ['auto', 'legacy', 'modern']).optional(),

    enabled: truth('enabled').optional(),
    startup: choice('startup', ['eager', 'lazy']).optional(),
    trust: truth('trust').optional(),
    description: text(descriptionError)
      .max(maxDescriptionLength, { error: descriptionError })
      .optional(),
    handover: choice('handover', ['exclusive', 'seamless']).optional(),
    tools: z
      .strictObject(
        {
          include: toolNames('include').optional(),
          exclude: toolNames('exclude').optional(),
          permissions: toolPermissionsSchema.optional(),
          overrides: z.record(z.string(), toolOverride, { error: overridesError }).optional(),
        },
        { error: '"tools" must be an object; write { "include": ["*"], "exclude": [] }' },
      )
      .optional(),
    limits: limitsSchema.optional(),

    // Read by `policy-choice.ts`, which reports faults that a schema cannot.
    policy: z.unknown().optional(),
    timeoutMs: milliseconds('timeoutMs').optional(),
    connectTimeoutMs: milliseconds('connectTimeoutMs').optional(),
    idleStopMs: milliseconds('idleStopMs').nullable().optional(),
    sharing: choice('sharing', ['always', 'project', 'client']).optional(),
    restart: choice('restart', restartRules).optional(),
    maxAttempts: wholeNumber(1, maxAttempts, attemptsError).optional(),
    required: truth('required').optional(),
    startupTimeoutMs: milliseconds('startupTimeoutMs').optional(),
  },
  { error: 'a server must be an object; write { "command": "npx", "args": ["-y", "package"] }' },
);

export type ServerEntry = z.infer<typeof serverEntrySchema>;

/** Every key an entry may have. */
export const serverEntryKeys: readonly string[] = Object.keys(serverEntrySchema.shape);

/** Keys that decide how a server is treated; they count only in the user's own settings. */
export const privilegedKeys = [
  'trust',
  'policy',
  'timeoutMs',
  'connectTimeoutMs',
  'idleStopMs',
  'sharing',
  'restart',
  'maxAttempts',
  'required',
  'startupTimeoutMs',
] as const satisfies readonly (keyof ServerEntry)[];
