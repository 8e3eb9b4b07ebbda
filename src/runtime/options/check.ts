import { z } from 'zod';
import { logLevels } from '../../domain/log-level.ts';
import { questionKinds } from '../../domain/question.ts';
import { serverStates } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { isServerName } from '../../policies/text/name-rule.ts';
import type { TroupeOptions } from '../troupe.ts';
import { checkEmbedded } from './embedded-servers.ts';
import { rootChoices } from './roots.ts';

const file = z.string().min(1);
const aFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function');

const fileScopes = ['managed', 'user', 'project', 'workspace', 'local', 'config'] as const;

// A few hundred megabytes, enough for an hour of a busy troupe.
const mostRecords = 1_000_000;

const optionsSchema = z.strictObject({
  sources: z
    .array(z.union([file, z.strictObject({ file, scope: z.enum(fileScopes).optional() })]))
    .optional(),
  plugins: z
    .array(
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
    )
    .optional(),
  rules: z.array(aFunction).optional(),
  bare: z.boolean().optional(),
  settings: z.record(z.string(), z.unknown()).optional(),
  servers: z
    .record(
      z.string().refine(isServerName, { error: 'a name of a server cannot be used' }),
      z.strictObject({
        connect: aFunction,
        settings: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .optional(),
  projectRoot: z.string().min(1).optional(),
  stateDir: z.string().min(1).optional(),
  allow: z.array(z.string()).optional(),
  trusted: z.boolean().optional(),
  // Checked by `hostPolicy`.
  policy: z.unknown().optional(),
  inspect: z
    .union([
      z.boolean(),
      z.strictObject({
        records: z.int().min(1).max(mostRecords).optional(),
        journal: file.optional(),
      }),
    ])
    .optional(),
  telemetry: z
    .union([
      z.boolean(),
      z.strictObject({
        tracerProvider: z.looseObject({ getTracer: aFunction }).optional(),
        meterProvider: z.looseObject({ getMeter: aFunction }).optional(),
        propagator: z.looseObject({ inject: aFunction, extract: aFunction }).optional(),
      }),
    ])
    .optional(),
  seed: z.number().int().optional(),
  clock: z
    .looseObject({
      now: aFunction,
      wallNow: aFunction,
      setTimeout: aFunction,
      clearTimeout: aFunction,
    })
    .optional(),
  inputs: aFunction.optional(),
  onQuestion: aFunction.optional(),
  questions: z.array(z.enum(questionKinds)).optional(),
  roots: rootChoices.optional(),
  permission: aFunction.optional(),
  askPermission: aFunction.optional(),
  env: z.record(z.string(), z.string().optional()).optional(),
});

/**
 * Refuses invalid options, so that a misspelt one is not ignored.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the option.
 */
export function checkOptions(options: TroupeOptions): void {
  // The environment of the process is an exotic object, and only read by name.
  const { env: _env, ...plain } = options;
  const checked = optionsSchema.safeParse(plain);
  if (checked.success) {
    checkEmbedded(options.settings, options.servers ?? {});
    return;
  }
  const [issue] = checked.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : undefined;
  const name = unknown ?? issue?.path.join('.') ?? '';
  throw new TroupeError(
    'INVALID_ARGUMENTS',
    unknown === undefined
      ? `The option "${name}" of createTroupe is wrong: ${issue?.message ?? 'unknown'}. See TroupeOptions.`
      : `createTroupe has no option ${unknown}. See TroupeOptions for those it has.`,
  );
}

/** @throws TroupeError `INVALID_ARGUMENTS` for anything but a nonempty string. */
export function checkName(what: string, name: unknown): void {
  if (typeof name === 'string' && name !== '') return;
  throw new TroupeError('INVALID_ARGUMENTS', `The ${what} must be a text that is not empty.`);
}

/** @throws TroupeError `INVALID_ARGUMENTS` for an unknown state, for which a wait would never end. */
export function checkState(state: string): void {
  if ((serverStates as readonly string[]).includes(state)) return;
  throw new TroupeError(
    'INVALID_ARGUMENTS',
    `There is no state "${state}". The states are: ${serverStates.join(', ')}.`,
  );
}

/** @throws TroupeError `INVALID_ARGUMENTS` for anything but a positive whole number. */
export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1) return;
  throw new TroupeError('INVALID_ARGUMENTS', 'The limit must be a whole number of at least 1.');
}

/** @throws TroupeError `INVALID_ARGUMENTS` for an unknown level. */
export function checkLogLevel(level: unknown): void {
  if (logLevels.some((known) => known === level)) return;
  throw new TroupeError('INVALID_ARGUMENTS', `The level must be one of ${logLevels.join(', ')}.`);
}
