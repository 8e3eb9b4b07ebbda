import { z } from 'zod';
import { longestTimerMs } from '../../domain/clock.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { type HostEvent, troupeEventNames } from '../../domain/host/event.ts';
import { logLevels } from '../../domain/log-level.ts';
import { questionKinds } from '../../domain/question.ts';
import { serverStates } from '../../domain/server-state.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { isServerName } from '../../policies/text/name-rule.ts';
import { permissionPattern } from '../../settings/entry/schema.ts';
import type { TroupeOptions } from '../troupe.ts';
import { checkEmbedded } from './embedded-servers.ts';
import { rootChoices } from './roots.ts';

const file = z.string().min(1);
const aFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function');

const fileScopes = ['managed', 'user', 'project', 'workspace', 'local', 'config'] as const;

// A few hundred megabytes, enough for an hour of a busy troupe.
const mostRecords = 1_000_000;

const pluginSources = z.array(
  z
    .strictObject({
      plugin: z.string().regex(/^[\w.-]{1,60}$/, {
        error: 'a plugin is named with 1 to 60 letters, digits, "_", "." or "-"',
      }),
      file: file.optional(),
      settings: z.record(z.string(), z.unknown()).optional(),
    })
    .refine((it) => (it.file === undefined) !== (it.settings === undefined), {
      error: 'a plugin brings either "file" or "settings"',
    }),
);

const hooks = z.array(
  z.strictObject({
    name: z.string().min(1),
    tools: z.array(permissionPattern).min(1).optional(),
    timeoutMs: z.number().min(1).max(longestTimerMs).optional(),
    run: aFunction,
  }),
);

const optionsSchema = z
  .strictObject({
    sources: z.array(
      z.union([file, z.strictObject({ file, scope: z.enum(fileScopes).optional() })]),
      { error: "is a list of files, such as ['troupe.json']" },
    ),
    plugins: pluginSources,
    rules: z.array(aFunction),
    bare: z.boolean(),
    settings: z.record(z.string(), z.unknown()),
    servers: z.record(
      z.string().refine(isServerName, { error: 'a name of a server cannot be used' }),
      z.strictObject({
        connect: aFunction,
        settings: z.record(z.string(), z.unknown()).optional(),
      }),
    ),
    projectRoot: z.string().min(1),
    stateDir: z.string().min(1),
    allow: z.array(z.string()),
    trusted: z.boolean(),
    // Checked by `hostPolicy`.
    policy: z.unknown(),
    inspect: z.union([
      z.boolean(),
      z.strictObject({
        records: z.int().min(1).max(mostRecords).optional(),
        maxBytes: z.int().min(1).optional(),
        journal: file.optional(),
      }),
    ]),
    telemetry: z.union([
      z.boolean(),
      z.strictObject({
        tracerProvider: z.looseObject({ getTracer: aFunction }).optional(),
        meterProvider: z.looseObject({ getMeter: aFunction }).optional(),
        propagator: z.looseObject({ inject: aFunction, extract: aFunction }).optional(),
      }),
    ]),
    seed: z.number().int(),
    clock: z.looseObject({
      now: aFunction,
      wallNow: aFunction,
      setTimeout: aFunction,
      clearTimeout: aFunction,
    }),
    inputs: aFunction,
    headers: aFunction,
    credentials: z.object({
      get: aFunction,
      set: aFunction,
      delete: aFunction,
      listen: aFunction.optional(),
    }),
    onQuestion: aFunction,
    questions: z.array(z.enum(questionKinds)),
    roots: rootChoices,
    permission: aFunction,
    hooks: z.strictObject({ before: hooks.optional(), after: hooks.optional() }),
    askPermission: aFunction,
    env: z.record(z.string(), z.string().optional()),
  })
  .partial();

// Zod compiles a schema at its first use: 2 ms for one that is used once, at the start.
const checkedOnce = { jitless: true } as const;

/**
 * Refuses invalid options, so that a misspelled one is not ignored.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the option.
 */
export function checkOptions(options: TroupeOptions): void {
  // The process environment is an exotic object, and is only read by name.
  const { env: _env, ...plain } = options;
  const checked = optionsSchema.safeParse(plain, checkedOnce);
  if (checked.success) {
    checkEmbedded(options.settings, options.servers ?? {});
    return;
  }
  const [issue] = checked.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : undefined;
  const name = unknown ?? issue?.path.join('.') ?? '';
  throw argumentsError(
    unknown === undefined
      ? `The option "${name}" of createTroupe is wrong: ${issue?.message ?? 'unknown'}. See TroupeOptions.`
      : `createTroupe has no option ${unknown}. See TroupeOptions for those it has.`,
  );
}

/** @throws TroupeError `INVALID_ARGUMENTS` for anything but a non-empty string. */
export function checkName(what: string, name: unknown): void {
  if (typeof name === 'string' && name !== '') return;
  throw argumentsError(`The ${what} must be a non-empty string.`);
}

/** @throws TroupeError `INVALID_ARGUMENTS` for an unknown state, for which a wait would never end. */
export function checkState(state: string): void {
  if ((serverStates as readonly string[]).includes(state)) return;
  throw argumentsError(`There is no state "${state}". The states are: ${serverStates.join(', ')}.`);
}

/** @throws TroupeError `INVALID_ARGUMENTS` for anything but a positive whole number. */
export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1) return;
  throw argumentsError('The limit must be a whole number of at least 1.');
}

const stopSchema = z
  .strictObject({
    graceMs: z.union([z.number().min(0).max(longestTimerMs), z.literal(Number.POSITIVE_INFINITY)]),
    force: z.boolean(),
  })
  .partial();

/** @throws TroupeError `INVALID_ARGUMENTS` for options that `stop()` does not have. */
export function checkStop(options: unknown): void {
  const checked = stopSchema.safeParse(options, checkedOnce);
  if (checked.success) return;
  const [issue] = checked.error.issues;
  const name = issue?.path.join('.') ?? '';
  throw argumentsError(
    `These options of stop() are wrong${name === '' ? '' : ` (${name})`}: ${issue?.message ?? 'unknown'}. It has graceMs, in milliseconds, and force.`,
  );
}

/** @throws TroupeError `INVALID_ARGUMENTS` for an unknown level. */
export function checkLogLevel(level: unknown): void {
  if (logLevels.some((known) => known === level)) return;
  throw argumentsError(`The level must be one of ${logLevels.join(', ')}.`);
}

const shownLength = 128;

const server = z.string().min(1).max(100);
const names = z.array(z.string().min(1).max(100)).max(10_000);

const hostEventSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('settings.changed'),
    settings: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    type: z.literal(['settings.reload', 'system.woke', 'troupe.stop', 'troupe.kill']),
  }),
  z.strictObject({
    type: z.literal([
      'server.start',
      'server.stop',
      'server.restart',
      'server.reconnect',
      'server.refresh',
      'auth.completed',
    ]),
    server,
  }),
  z.strictObject({
    type: z.literal(['approval.grant', 'approval.reject', 'approval.revoke']),
    server,
    fingerprint: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  }),
  z.strictObject({ type: z.literal('trust.changed'), trusted: z.boolean() }),
  z.strictObject({ type: z.literal('allow.changed'), allowed: names.nullable() }),
  z.strictObject({ type: z.literal('roots.changed'), roots: rootChoices }),
  z.strictObject({ type: z.literal('plugins.changed'), plugins: pluginSources }),
]);

const hostEventTypes: readonly string[] = hostEventSchema.options.flatMap(({ shape }) => [
  ...shape.type.values,
]);

/**
 * Admits only host events: the charts would also obey one of their own internal events, or one of
 * XState's.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the offending field.
 */
export function checkHostEvent(event: unknown): HostEvent {
  const checked = hostEventSchema.safeParse(event);
  if (checked.success) return checked.data as HostEvent;
  const type = isRecord(event) ? event['type'] : undefined;
  if (typeof type === 'string' && !hostEventTypes.includes(type)) {
    throw unknownEvent('event to send to a troupe', type, hostEventTypes);
  }
  const [issue] = checked.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw argumentsError(
    `This event cannot be sent to a troupe${field === '' ? '' : ` (field "${field}")`}: ${issue?.message ?? 'unknown event'}. See the list of host events in the documentation.`,
  );
}

/** @throws TroupeError `INVALID_ARGUMENTS` for a listener that would never be called. */
export function checkListener(name: string, listener: unknown): void {
  checkName('name of the event', name);
  if (!(troupeEventNames as readonly string[]).includes(name)) {
    throw unknownEvent('event to listen to', name, troupeEventNames);
  }
  if (typeof listener === 'function') return;
  throw argumentsError(`The listener of "${name}" must be a function.`);
}

function unknownEvent(what: string, name: string, known: readonly string[]): TroupeError {
  const closest = closestName(name, known);
  const hint =
    closest === undefined ? `There are: ${known.join(', ')}.` : `Did you mean "${closest}"?`;
  const shown = printableLine(name, shownLength);
  return argumentsError(`There is no ${what} "${shown}". ${hint}`);
}

/** Returns whether the event requests another attempt. */
export function isAnotherTry({ type }: HostEvent): boolean {
  return type === 'server.start' || type === 'server.restart' || type === 'server.reconnect';
}
