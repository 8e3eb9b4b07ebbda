/** Reports every problem of the settings, as far as reading and looking up programs can tell. */

import { environmentOf } from '../../../actors/processes/environment.ts';
import { readSettings } from '../../../actors/settings/last-good-settings.ts';
import { readEnvFile } from '../../../actors/values/env-file.ts';
import { findExecutable, unexecutableFile } from '../../../actors/values/executable-path.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ServerSpec, StdioSpec } from '../../domain/server-spec.ts';
import {
  type DesiredServer,
  type Problem,
  problemOf,
  type SettingsReport,
} from '../../domain/settings.ts';
import { isCommandPlain } from '../../policies/approvals/command-place.ts';
import { expandVariables, referencesIn, type Variables } from '../../policies/expand-variables.ts';
import { specTexts } from '../../policies/spec-texts.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { settingsReportOf, withProblems } from '../../settings/settings-report.ts';
import { settingsPortsOf } from '../options/settings-ports.ts';
import { confinesOf } from '../settings-lookups.ts';
import type { TroupeOptions } from '../troupe.ts';
import { strayPathsIn } from './start-folders.ts';

const longestShown = 200;
const longestRemedy = 1_000;

/**
 * Reads the files that a troupe with these options would read. Starts nothing, runs no command and asks
 * no keychain. A variable that is not set, an `envFile` that cannot be read, or a command that is not
 * found, is a warning, because all three depend on the machine.
 */
export async function checkSettings(options: TroupeOptions): Promise<SettingsReport> {
  const { env = process.env } = options;
  const ports = settingsPortsOf(options);
  const { settings, specs, files } = await readSettings(ports);
  const strayPaths = strayPathsIn(files, ports);
  const found = settings.servers.map(async (desired) => {
    const spec = specs.get(desired.generation);
    if (!desired.enabled) return [];
    const strays = (await strayPaths(desired)).map(({ key, message }) =>
      warning(desired, key, message),
    );
    if (spec === undefined || desired.invalid !== undefined) return strays;
    const within = confinesOf(desired, ports.projectRoot);
    return [
      ...strays,
      ...unsetVariables(desired, spec, env),
      ...shellWords(desired, spec),
      ...(spec.type === 'stdio' ? await missingCommand(desired, spec, { env, within }) : []),
      ...(await unusableEnvFile(desired, spec, { env, projectRoot: ports.projectRoot })),
    ];
  });
  return withProblems(settingsReportOf(settings, files), (await Promise.all(found)).flat());
}

function unsetVariables(desired: DesiredServer, spec: ServerSpec, env: Variables): Problem[] {
  return textsOf(spec).flatMap(([key, text]) =>
    unsetIn(text, env).map((name) =>
      warning(
        desired,
        key,
        `the variable ${name} is not set; set it where the troupe starts, or write \${${name}:-default}`,
      ),
    ),
  );
}

/**
 * Arguments and variables that only a shell would expand. A pattern such as `*.json` is no mistake: many programs
 * match it themselves.
 */
function shellWords(desired: DesiredServer, spec: ServerSpec): Problem[] {
  if (spec.type !== 'stdio') return [];
  const { args, env } = spec;
  const texts = [
    // A shell that is itself the command expands what follows its -c.
    ...args.flatMap((arg, index) =>
      args[index - 1] === '-c' ? [] : [[`args.${index}`, arg] as const],
    ),
    ...Object.entries(env).map(([name, text]) => [`env.${name}`, text] as const),
  ];
  return texts.flatMap(([key, text]) => {
    const [, word = ''] = /^(?:--?[\w-]+=)?(~|\$[A-Za-z_]\w*)(?:[\\/]|$)/u.exec(text) ?? [];
    if (word === '') return [];
    const name = word === '~' ? 'HOME' : word.slice(1);
    return warning(
      desired,
      key,
      `no shell runs, so "${word}" stays as it is; write \${${name}} in its place`,
    );
  });
}

/** The strings in which references are replaced, each with its key. */
function textsOf(spec: ServerSpec): readonly (readonly [key: string, text: string])[] {
  if (spec.type === 'memory' || spec.values?.literal === true) return [];
  const ofCommands = new Set(spec.values?.commands?.map(({ key }) => key));
  return specTexts(spec)
    .filter(([key]) => !ofCommands.has(key))
    .map(([key, text]) => [key.replace(/\[(\d+)\]$/u, '.$1'), text]);
}

function unsetIn(text: string, env: Variables): readonly string[] {
  const names = referencesIn(text).flatMap((reference) =>
    reference.kind === 'variable' && reference.fallback === undefined ? reference.name : [],
  );
  return [...new Set(names)].filter((name) => env[name] === undefined);
}

/** A command that only a reference can tell is not looked up; before approval neither is one outside PATH. */
async function missingCommand(
  desired: DesiredServer,
  spec: StdioSpec,
  { env, within }: { readonly env: Variables; readonly within: string | undefined },
): Promise<readonly Problem[]> {
  const { command, cwd } = spec;
  const isOpen = [cwd, spec.env['PATH'] ?? ''].some((text) => referencesIn(text).length > 0);
  if (!isCommandPlain(spec) && (within !== undefined || isOpen || referencesIn(command).length > 0))
    return [];
  const own = within === undefined ? spec.env : {};
  const launch = { command, cwd, env: environmentOf(env, own, process.platform) };
  if ((await findExecutable(launch, within)) !== undefined) return [];
  const shown = printableLine(command, longestShown);
  const file = await unexecutableFile(launch);
  if (file !== undefined) {
    const remedy = printableLine(`chmod +x ${quotedFor('shell', file)}`, longestRemedy);
    return [warning(desired, 'command', `${shown} is not executable; run: ${remedy}`)];
  }
  const message = /[\\/]/u.test(command)
    ? `there is no program ${shown}; fix the path, or build what it names`
    : `the command "${shown}" was not found on PATH; install it, or write its path`;
  return [warning(desired, 'command', message)];
}

/** Reads the file as an approval does, so one from a project folder only within that folder. */
async function unusableEnvFile(
  desired: DesiredServer,
  spec: ServerSpec,
  { env, projectRoot }: { readonly env: Variables; readonly projectRoot: string },
): Promise<readonly Problem[]> {
  const values = spec.type === 'memory' ? undefined : spec.values;
  const rule = values?.envFile;
  if (rule === undefined) return [];
  const place = expandVariables(rule.path, env, { literal: values?.literal });
  if (!('value' in place)) return [];
  const reading = await readEnvFile({ ...rule, path: place.value }, projectRoot, env);
  if ('env' in reading) return [];
  const shown = printableLine(rule.path, longestShown);
  return [warning(desired, 'envFile', `the file ${shown} ${reading.failure}`)];
}

function warning({ source }: DesiredServer, key: string, message: string): Problem {
  return { ...problemOf({ ...source, key: `${source.key}.${key}` }, message), severity: 'warning' };
}
