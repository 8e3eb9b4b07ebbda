/** Imports servers: finds the sources and the targets, plans, writes and reports. */

import path from 'node:path';
import { readSettingsFile } from '../../../actors/settings/file.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { isFolderScope, type Problem } from '../../domain/settings.ts';
import { settingsError, usageError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { isAgreed, isAtTerminal } from '../ask/confirm.ts';
import type { CliSession } from '../command.ts';
import { sourcesOf } from '../launch.ts';
import { isOfProject, replaceFile, textToEdit, writablePlace } from '../settings/target.ts';
import { discoverSources, nothingFound, placeFactsOf } from './discover.ts';
import { type ImportedServer, type ImportPlan, type ImportSource, planImport } from './plan.ts';
import { placesOf, programNames } from './program-places.ts';

export interface ImportFlags {
  /** Absent: the files of all programs. */
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

/** A file that servers are written to. */
export interface Target {
  /** The path as given. */
  readonly file: string;
  /** The real path to write. */
  readonly place: string;
  readonly before: string | undefined;
  readonly plan: ImportPlan;
}

/** Runs `troupe import`; resolves with 2 when a server or a file was skipped. */
export async function importServers(session: CliSession, choice: ImportFlags): Promise<number> {
  const { from, dryRun = false, yes = false } = choice;
  const isNamed = from !== undefined;
  const { sources, isWhole } = isNamed
    ? { sources: await readSources(session, from), isWhole: true }
    : await discoverSources(session);
  // Plan all targets before writing the first one.
  const targets: Target[] = [];
  for (const [file, itsSources] of await byTargetOf(session, sources, choice.to))
    targets.push(await planTarget(session, file, itsSources));
  // Without a name, the user has not seen yet what there is.
  const isPreview = dryRun || !(isNamed || yes);
  if (!isPreview) await writeAll(session, targets);
  report(session, targets, isPreview);
  if (sources.length === 0) session.output.lines([nothingFound]);
  if (isPreview && !dryRun) await offer(session, targets);
  const isComplete = targets.every(({ plan }) =>
    plan.servers.every(({ action }) => action === 'add' || action === 'same'),
  );
  return isWhole && isComplete ? 0 : 2;
}

async function writeAll(session: CliSession, targets: readonly Target[]): Promise<void> {
  for (const target of targets) await write(session, target);
}

/** Writes what was just shown after a yes. */
async function offer(session: CliSession, targets: readonly Target[]): Promise<void> {
  if (targets.every(({ plan }) => plan.text === undefined)) return;
  if (!isAtTerminal(session)) session.output.note('nothing is written; use --yes to write this');
  else if (await isAgreed(session, 'write this?')) await writeAll(session, targets);
}

/** The sources of each target, with the target's path as given. */
async function byTargetOf(
  { launch, host }: CliSession,
  sources: readonly ImportSource[],
  to: string | undefined,
): Promise<ReadonlyMap<string, readonly ImportSource[]>> {
  const chosen = to === undefined ? undefined : path.resolve(host.cwd, to);
  const byTarget = new Map<string, ImportSource[]>();
  for (const source of sources) {
    const isTheirs = await isOfProject(source.file, launch.projectRoot);
    const usual = isTheirs ? path.join(launch.projectRoot, '.mcp.json') : launch.userSettings;
    const target = chosen ?? usual;
    // One of the program's files may be the target itself.
    if (target !== source.file) byTarget.set(target, [...(byTarget.get(target) ?? []), source]);
    else if (sources.length === 1)
      throw usageError(`${target} is both source and target; set --to to another file`);
  }
  return byTarget;
}

export async function planTarget(
  { launch }: CliSession,
  file: string,
  given: readonly ImportSource[],
): Promise<Target> {
  const { projectRoot } = launch;
  // Those of the user's own files as if they stood in the target; the project's servers start in the project.
  const own = (await isOfProject(file, projectRoot)) ? projectRoot : path.dirname(file);
  const sources = await Promise.all(
    given.map(async (source) => ({
      ...source,
      folder: (await isOfProject(source.file, projectRoot)) ? projectRoot : own,
    })),
  );
  const scope = sourcesOf(launch).find((each) => each.file === file)?.scope;
  const isGated = scope !== undefined && isFolderScope(scope);
  const place = await writablePlace(file, launch);
  const before = await textToEdit(place, `cannot add to ${file}`);
  const target = defined({ file, text: before, isGated, folder: own });
  const plan = await planImport(sources, target, projectRoot);
  return { file, place, before, plan };
}

async function readSources(
  { launch, host }: CliSession,
  from: string,
): Promise<readonly ImportSource[]> {
  const isProgram = programNames.some((name) => name === from);
  const file = path.resolve(host.cwd, from);
  const named = isProgram ? [] : await readAll([{ file }]);
  if (named.length > 0) return named;
  // `claude` means both of its programs.
  const programs = programNames.filter((name) => name === from || name.startsWith(`${from}-`));
  const facts = placeFactsOf({ launch, host });
  const places = programs.flatMap((program) =>
    placesOf(program, facts).map((place) => ({ file: place, program })),
  );
  const found = await readAll(places);
  if (found.length > 0) return found;
  if (programs.length > 0)
    throw settingsError(
      `found no settings of ${programs.join(' or ')} in ${places.map((it) => it.file).join(', ')}; pass the file to --from`,
    );
  const closest = closestName(from, programNames);
  const next =
    closest === undefined
      ? `use a file or one of ${programNames.join(', ')}`
      : `did you mean "${closest}"?`;
  throw settingsError(`file ${file} does not exist; ${next}`);
}

async function readAll(
  places: readonly Omit<ImportSource, 'text'>[],
): Promise<readonly ImportSource[]> {
  const found: ImportSource[] = [];
  for (const place of places) {
    const reading = await readSettingsFile(place.file);
    if ('message' in reading) throw settingsError(`${place.file}: ${reading.message}`);
    if ('text' in reading) found.push({ ...place, text: reading.text });
  }
  return found;
}

export async function write(
  { output }: CliSession,
  { place, before, plan: { text } }: Target,
): Promise<void> {
  if (text === undefined) return;
  output.note(`writing to ${printableLine(place, 500)}`);
  await replaceFile(place, before, text, 'run the import again');
}

function report({ output }: CliSession, targets: readonly Target[], dryRun: boolean): void {
  output.document({
    dryRun,
    targets: targets.map(({ file, place, plan: { text, ...plan } }) => ({
      file,
      realPath: place,
      written: text !== undefined && !dryRun,
      ...plan,
    })),
  });
  for (const { place, plan } of targets) {
    const { servers, mcp, text } = plan;
    const added = servers.filter(({ action }) => action === 'add').length;
    const verb = dryRun ? 'would be written to' : 'written to';
    const done = text === undefined ? 'to write to' : verb;
    output.lines([
      `${added} of ${servers.length} servers ${done} ${printableLine(place, 500)}`,
      ...servers.flatMap((server) => serverLines(server, dryRun)),
      ...(mcp.length === 0
        ? []
        : [`  section mcp: ${mcp.map((key) => printableLine(key, 100)).join(', ')}`]),
      ...remarkLines(plan),
    ]);
  }
}

const verbs: Readonly<Record<ImportedServer['action'], string>> = {
  add: '+',
  same: '=',
  conflict: '!',
  invalid: '!',
};

export function serverLines(
  { name, action, from, entry, why }: ImportedServer,
  dryRun: boolean,
): readonly string[] {
  const place = `${from.file ?? ''}:${from.line ?? 1} ${from.key}`;
  const head = `  ${verbs[action]} ${name}  (${place})${why === undefined ? '' : `: ${why}`}`;
  const body =
    dryRun && action === 'add' ? [`      ${printableLine(JSON.stringify(entry), 2_000)}`] : [];
  return [printableLine(head, 1_000).trimEnd(), ...body];
}

/** What to check in what is written, and what is not written. */
export function remarkLines({ problems, warnings }: ImportPlan): readonly string[] {
  return [
    ...(warnings.length === 0 ? [] : ['check:', ...warnings.map(problemLine)]),
    ...(problems.length === 0 ? [] : ['skipped:', ...problems.map(problemLine)]),
  ];
}

function problemLine({ file, line, key, message }: Problem): string {
  return printableLine(`  ${file}:${line ?? 1} ${key ?? ''}: ${message}`, 1_000);
}
