/**
 * The schema of each field of a policy. Every message ends with a remedy.
 */

import { z } from 'zod';

import { longestTimerMs } from '../domain/clock.ts';
import { failureKinds } from '../domain/failure.ts';
import {
  type PolicyField,
  type PolicyGroup,
  restartRules,
  type ServerPolicy,
} from '../domain/policy.ts';
import { scopes } from '../domain/settings.ts';
import { restartRequired } from './restart-required.ts';

// More than a thousand means no limit, which is null.
const maxCount = 1_000;
// A faster growth is better written as a list of waits.
const maxFactor = 100;
// A longer list of waits or rules is a mistake.
const maxItems = 100;
// Names of functions are shorter with every model.
const maxNameLength = 256;
// The transports' own limit for one message.
const maxResultLength = 16_777_216;
// As many as a file may hold.
const maxServers = 10_000;

const shape = (takes: string) => ({ error: `must be ${takes}` });

/** Messages for values with parts, whose own issues cover one part each. */
const sentences = new WeakMap<z.ZodType, (error: z.ZodError) => string>();
const ruled = <Schema extends z.ZodType>(schema: Schema, takes: string): Schema => {
  sentences.set(schema, () => `must be ${takes}`);
  return schema;
};

/** Describes the value to write in place of one that a schema of this file has refused. */
export function sentenceFor(schema: z.ZodType, error: z.ZodError): string {
  return sentences.get(schema)?.(error) ?? error.issues[0]?.message ?? 'is wrong';
}

/** A whole number within bounds, in a sentence that names both. */
const whole = (unit: string, least: number, most: number, orElse = '') => {
  const error = shape(`a whole number${unit} from ${least} to ${most}, without quotes${orElse}`);
  return z.int(error).min(least, error).max(most, error);
};
const ms = (least = 1) => whole(' of milliseconds', least, longestTimerMs);
const count = (least = 1) => whole('', least, maxCount);
/** The same, or null with the given meaning. */
const orNull = (means: string, unit: string, least: number, most: number) =>
  whole(unit, least, most, `, or null for ${means}`).nullable();
const msOrNull = (means: string) => orNull(means, ' of milliseconds', 1, longestTimerMs);
const countOrNull = (means: string, least = 1) => orNull(means, '', least, maxCount);
const slots = () =>
  ruled(
    z.union([z.literal('auto'), countOrNull('no limit')]),
    `"auto", a whole number from 1 to ${maxCount}, or null for no limit`,
  );
const firstAttempts = '"immediate", "delayed"';
const firstAttempt = () =>
  z.union([z.enum(['immediate', 'delayed']), z.strictObject({ sustainedMs: ms() })]);
const truth = () => z.boolean(shape('true or false, without quotes'));
const choice = <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  z.enum(words, shape(words.map((word) => `"${word}"`).join(' or ')));
const fraction = () => z.number().min(0).max(1);
const factor = () => z.number().min(1).max(maxFactor);
const list = <Item extends z.ZodType>(item: Item, least = 0) =>
  z.array(item).min(least).max(maxItems);

const templateText = z
  .string()
  .regex(/\{tool\}/)
  .max(maxNameLength);

const storm = ruled(
  z.strictObject({ limit: count(), windowMs: ms(), action: choice('suspend', 'fail') }).nullable(),
  '{ "limit": 5, "windowMs": 60000, "action": "suspend" } or null for none',
);

const afterGiveUp = ruled(
  z.union([
    z.enum(['stop', 'untilDemanded']),
    z.strictObject({ retryFromMs: ms(), toMs: ms(), floorMs: ms(0).optional() }),
  ]),
  '"stop", "untilDemanded" or { "retryFromMs": 15000, "toMs": 300000 }',
);

const retryOn = ruled(
  z.union([z.literal('any'), list(z.enum(failureKinds))]),
  `"any" or a list of ${failureKinds.join(', ')}`,
);

const busyBackoff = ruled(
  z
    .strictObject({ initialMs: ms(), factor: factor(), maxMs: ms(), addedJitter: fraction() })
    .nullable(),
  '{ "initialMs": 15000, "factor": 2, "maxMs": 300000, "addedJitter": 0.2 } or null for none',
);

const delays = ruled(
  z.union([
    list(ms(0), 1),
    z.strictObject({
      initialMs: ms(0),
      factor: factor(),
      maxMs: ms(0),
      floorMs: ms(0).optional(),
    }),
  ]),
  'a list of milliseconds, such as [500, 1000], or { "initialMs": 500, "factor": 2, "maxMs": 30000 }',
);

const silence = ruled(
  z.union([
    msOrNull('none'),
    z.strictObject({ local: msOrNull('none'), remote: msOrNull('none') }),
  ]),
  'milliseconds, null for none, or { "local": null, "remote": 300000 }',
);

const closeSteps = ruled(
  list(
    z.strictObject({ by: choice('stdinEnd', 'SIGINT', 'SIGTERM', 'SIGKILL'), waitMs: ms(0) }),
    1,
  ),
  'a list of steps, such as [{ "by": "stdinEnd", "waitMs": 2000 }, { "by": "SIGTERM", "waitMs": 2000 }]',
);

// The longest known code of Node or the SDK has 48 characters.
const maxCodeLength = 128;
const partOfMessage = shape(
  `a part of the message, of 1 to ${maxNameLength} characters; it is no pattern`,
);
const classifyRule = z
  .strictObject(
    {
      status: whole('', 100, 599).optional(),
      code: z
        .union(
          [z.string().min(1).max(maxCodeLength), z.int()],
          shape('a string such as "ECONNRESET", or the number of a JSON-RPC error'),
        )
        .optional(),
      message: z
        .string(partOfMessage)
        .regex(/\S/, partOfMessage)
        .max(maxNameLength, partOfMessage)
        .optional(),
      kind: z.enum(failureKinds, { error: `needs a "kind", one of ${failureKinds.join(', ')}` }),
    },
    { error: 'must be an object such as { "status": 599, "kind": "unavailable" }' },
  )
  .refine((rule) => Object.keys(rule).length > 1, {
    error: 'would fit every failure; give it status or code or message',
  })
  .meta({ minProperties: 2 });

const classifyRules = z.array(classifyRule).max(maxItems);
sentences.set(classifyRules, ({ issues: [issue] }) => {
  const [index, key] = issue?.path ?? [];
  if (issue === undefined || index === undefined)
    return `must be a list of at most ${maxItems} rules, such as [{ "status": 599, "kind": "unavailable" }]`;
  const rule = `rule ${Number(index) + 1}`;
  if (issue.code === 'unrecognized_keys')
    return `${rule} has an unknown key "${issue.keys[0]}"; a rule has status, code, message, kind`;
  const isOfPart = key !== undefined && key !== 'kind';
  return `${rule} ${isOfPart ? `has a wrong "${String(key)}": it ` : ''}${issue.message}`;
});

type FieldSchemas<Group> = { readonly [Field in keyof Group]: z.ZodType<Group[Field]> };

/** Complete: a field without a schema could not be set, one without a field does not compile. */
export const policySchemas: {
  readonly [Group in PolicyGroup]: FieldSchemas<ServerPolicy[Group]>;
} = {
  naming: {
    template: ruled(templateText, 'text with {tool}, as in "mcp__{server}__{tool}"'),
    case: choice('keep', 'lower'),
    separators: choice('keep', 'single'),
    maxLength: whole('', 16, maxNameLength),
    overflow: choice('hash', 'middle', 'error'),
    stripServerPrefix: truth(),
    collision: choice('originOrder', 'suffix', 'error'),
    aliases: ruled(list(templateText), 'a list of names with {tool}, such as ["{server}.{tool}"]'),
  },
  startup: {
    mode: choice('eager', 'lazy', 'background'),
    gateMs: whole(' of milliseconds', 0, 60_000).meta(restartRequired),
    withoutCache: choice('late', 'block'),
    required: truth(),
    timeoutMs: ms(),
    maxAttempts: countOrNull('no limit'),
    retryOn,
    missing: choice('fail', 'retry'),
    sameExits: countOrNull('no limit'),
    busyBackoff,
    afterGiveUp,
  },
  connect: {
    localTimeoutMs: msOrNull('no deadline'),
    firstRunTimeoutMs: msOrNull('no extra time'),
    remoteTimeoutMs: msOrNull('no deadline'),
    listTimeoutMs: ms(),
    missingVariable: choice('fail', 'keep'),
    sharing: choice('always', 'project', 'client'),
    queueTimeoutMs: ms(),
    localSlots: slots(),
    remoteSlots: slots(),
  },
  restart: {
    on: choice(...restartRules),
    first: ruled(firstAttempt(), `${firstAttempts} or { "sustainedMs": 10000 }`),
    firstAfterExpiry: ruled(
      firstAttempt().nullable(),
      `${firstAttempts}, { "sustainedMs": 1000 }, or null for the value of "first"`,
    ),
    delays,
    jitter: ruled(
      z.union([z.enum(['none', 'full']), fraction()]),
      '"none", "full" or a fraction from 0 to 1, such as 0.2',
    ),
    maxAttempts: countOrNull('no limit', 0),
    budgetReset: ruled(
      z.union([z.literal('immediate'), z.strictObject({ sustainedMs: ms() })]),
      '"immediate" or { "sustainedMs": 60000 }',
    ),
    afterGiveUp,
    retryAfterMinMs: ms(0),
    retryAfterMaxMs: ms(),
  },
  storm: { crashLoop: storm, reconnectStorm: storm },
  breaker: {
    threshold: countOrNull('none'),
    counts: choice('callFailures', 'connectionErrors'),
    action: choice('failFast', 'reconnect'),
    cooldownMs: ms(),
    maxCooldownMs: ms(),
    probeTimeoutMs: ms(),
  },
  health: {
    mode: choice('off', 'status', 'ping'),
    everyMs: ms(),
    failures: count(),
    treatMethodNotFoundAsAlive: truth(),
  },
  idle: { stopMs: msOrNull('never'), drainMs: ms(0), maxIdleMs: ms(0) },
  catalog: {
    whileDown: choice('keepStale', 'hide', 'deferred'),
    afterGiveUp: choice('hide', 'keepStale'),
    cache: choice('none', 'memory', 'disk'),
    // A stored list outlives any timer.
    ttlMs: orNull('no limit', ' of milliseconds', 1, Number.MAX_SAFE_INTEGER),
    maxEntries: orNull('no limit', '', 1, maxServers),
    // The maximum length that is read.
    descriptionMaxLength: whole('', 0, 16_384),
    pinTools: choice('off', 'warn', 'hold'),
  },
  call: {
    timeoutMs: ms(),
    idleTimeoutMs: silence,
    progressResets: truth(),
    maxTimeoutMs: msOrNull('not at all'),
    backgroundAfterMs: msOrNull('never'),
    replay: choice('never', 'sessionExpired', 'idempotentTrusted', 'once'),
    questionTimeoutMs: ms(),
    maxQuestions: count(),
  },
  result: {
    maxLength: whole('', 1, maxResultLength),
    maxDepth: whole('', 4, 256),
    textMaxLength: orNull('all', '', 0, maxResultLength),
    cutText: choice('file', 'drop'),
    imageMaxPixels: orNull('no limit', '', 1, 65_535),
    imageMaxBytes: orNull('no limit', '', 1, maxResultLength),
    binaries: choice('keep', 'file'),
    outputSchema: choice('check', 'ignore'),
    authChallenge: choice('refuse', 'keep'),
    filesMaxCount: whole('', 1, 100_000),
    filesMaxBytes: whole('', 1, 1_099_511_627_776),
    // A file outlives any timer.
    filesMaxAgeMs: whole(' of milliseconds', 1, Number.MAX_SAFE_INTEGER),
  },
  classify: { rules: classifyRules },
  auth: {
    refreshAheadMs: ms(0),
    stepUps: whole('', 0, 10),
    loginTimeoutMs: ms(1_000),
    rememberMs: ms(0),
  },
  close: { steps: closeSteps, totalMs: ms(), scope: choice('child', 'group', 'tree') },
  admission: {
    maxServers: orNull('no limit', '', 0, maxServers),
    budget: choice('off', 'warn', 'enforce'),
  },
  approval: {
    gatedScopes: ruled(
      list(z.enum(scopes)),
      'a list of "managed", "user", "project", "workspace", "local", "config" or "api"',
    ),
    folderFiles: choice('ask', 'allow'),
    perCall: truth(),
  },
};

const troupeWideFields: ReadonlySet<string> = new Set<PolicyField>([
  'startup.gateMs',
  'connect.localSlots',
  'connect.remoteSlots',
  'catalog.cache',
  'catalog.maxEntries',
  'result.filesMaxCount',
  'result.filesMaxBytes',
  'result.filesMaxAgeMs',
  'admission.maxServers',
  'admission.budget',
  'approval.gatedScopes',
]);

/** Returns whether the field applies to all servers together, so that one server cannot differ in it. */
export function isTroupeWide(group: PolicyGroup, field: string): boolean {
  return troupeWideFields.has(`${group}.${field}`);
}
