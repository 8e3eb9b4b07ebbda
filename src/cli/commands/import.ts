import { homedir } from 'node:os';
import path from 'node:path';
import { Option } from 'commander';
import type { FileReading } from '../../../actors/settings/file.ts';
import type { Problem } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { printableLine } from '../../policies/text/printable.ts';
import type { CliSession } from '../cli-session.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { once, parseText } from '../flag-values.ts';
import type { ImportedServer, ImportPlan, ImportSource } from '../import/plan.ts';
import { type ProgramName, placesOf, programNames } from '../import/program-places.ts';
import { isOfProject, writablePlace } from '../import/target.ts';

/** `import`: copies servers from the settings of another program. */
export const importCommand: CommandDefinition = {
  usage: 'import',
  summary: 'copy servers from the settings of another program',
  details: [
    `A program is one of ${programNames.join(', ')}; its user and project files are searched. A file may have any of their formats, which is recognized by its content.`,
    'Servers from the project folder go into its .mcp.json, where they need approval; all others go into your own settings. --to names one file for everything. An existing server is never overwritten; exit code 2 means that a server was skipped.',
  ].join('\n\n'),
  example: 'troupe import --from cursor --dry-run',
  options: (command) =>
    command
      .addOption(
        new Option('--from <file|program>', 'what to read')
          .argParser(once(parseText))
          .makeOptionMandatory(),
      )
      .addOption(new Option('--to <file>', 'where to write').argParser(once(parseText)))
      .option('--dry-run', 'show what would be written without writing it'),
  async run(session, _args, flags) {
    const dryRun = flags['dryRun'] === true;
    const { planImport } = await import('../import/plan.ts');
    const targets = await targetsOf(session, String(flags['from']), flags['to']);
    const plans: ImportPlan[] = [];
    for (const { file, before, sources } of targets) {
      const target = { file, ...(before === undefined ? {} : { text: before }) };
      plans.push(await planImport(sources, target, session.launch.projectRoot));
    }
    // Plan all targets before writing the first one.
    if (!dryRun) for (const plan of plans) await write(session, plan, targets);
    report(session, plans, targets, dryRun);
    const isWhole = plans.every(({ servers }) =>
      servers.every(({ action }) => action === 'add' || action === 'same'),
    );
    return isWhole ? 0 : 2;
  },
};

interface Target {
  /** The path as given. */
  readonly file: string;
  /** The real path to write. */
  readonly place: string;
  readonly before: string | undefined;
  readonly sources: readonly ImportSource[];
}

async function targetsOf(
  session: CliSession,
  from: string,
  to: unknown,
): Promise<readonly Target[]> {
  const { launch, host } = session;
  const byFile = new Map<string, ImportSource[]>();
  const chosen = typeof to === 'string' ? path.resolve(host.cwd, to) : undefined;
  const sources = await sourcesOf(session, from);
  for (const source of sources) {
    const project = path.join(launch.projectRoot, '.mcp.json');
    const isTheirs = await isOfProject(source.file, launch.projectRoot);
    const target = chosen ?? (isTheirs ? project : launch.userSettings);
    // One of the program's files may be the target itself.
    if (target === source.file && sources.length > 1) continue;
    if (target === source.file)
      throw new TroupeError(
        'USAGE',
        `${target} is both source and target; set --to to another file`,
      );
    byFile.set(target, [...(byFile.get(target) ?? []), source]);
  }
  const targets: Target[] = [];
  for (const [file, itsSources] of byFile) {
    const place = await writablePlace(file, launch);
    const reading = await read(place);
    if ('message' in reading)
      throw new TroupeError('INVALID_CONFIG', `cannot add to ${file}: ${reading.message}`);
    targets.push({
      file,
      place,
      before: 'text' in reading ? reading.text : undefined,
      sources: itsSources,
    });
  }
  return targets;
}

async function read(file: string): Promise<FileReading> {
  const { readSettingsFile } = await import('../../../actors/settings/file.ts');
  return readSettingsFile(file);
}

async function sourcesOf(
  { launch, host }: CliSession,
  from: string,
): Promise<readonly ImportSource[]> {
  const program = programNames.find((name) => name === from);
  const places =
    program === undefined ? [path.resolve(host.cwd, from)] : wellKnown(program, { launch, host });
  const found: ImportSource[] = [];
  for (const file of places) {
    const reading = await read(file);
    if ('text' in reading)
      found.push({ file, text: reading.text, ...(program === undefined ? {} : { program }) });
    else if ('message' in reading)
      throw new TroupeError('INVALID_CONFIG', `${file}: ${reading.message}`);
  }
  if (found.length > 0) return found;
  if (program !== undefined)
    throw new TroupeError(
      'INVALID_CONFIG',
      `found no settings of ${program} in ${places.join(', ')}; pass the file to --from`,
    );
  const closest = closestName(from, programNames);
  const next =
    closest === undefined
      ? `use a file or one of ${programNames.join(', ')}`
      : `did you mean "${closest}"?`;
  throw new TroupeError('INVALID_CONFIG', `file ${places.join('')} does not exist; ${next}`);
}

function wellKnown(
  program: ProgramName,
  { launch, host }: Pick<CliSession, 'launch' | 'host'>,
): readonly string[] {
  const home = host.env['HOME'] ?? host.env['USERPROFILE'] ?? homedir();
  const { projectRoot } = launch;
  return placesOf(program, { platform: process.platform, home, env: host.env, projectRoot });
}

async function write(
  { output }: CliSession,
  { target, text }: ImportPlan,
  targets: readonly Target[],
): Promise<void> {
  if (text === undefined) return;
  const { before, place = target } = targets.find(({ file }) => file === target) ?? {};
  output.note(`writing to ${printableLine(place, 500)}`);
  const { replaceFile } = await import('../import/replace-file.ts');
  if (await replaceFile(place, before, text)) return;
  throw new TroupeError(
    'INVALID_CONFIG',
    `${target} was edited meanwhile, so nothing was written; run the import again`,
  );
}

function report(
  { output }: CliSession,
  plans: readonly ImportPlan[],
  targets: readonly Target[],
  dryRun: boolean,
): void {
  const placeOf = (target: string): string =>
    targets.find(({ file }) => file === target)?.place ?? target;
  output.document({
    dryRun,
    targets: plans.map(({ target, servers, mcp, problems, warnings, text }) => ({
      file: target,
      realPath: placeOf(target),
      written: text !== undefined && !dryRun,
      servers,
      mcp,
      problems,
      warnings,
    })),
  });
  for (const { target, servers, mcp, problems, warnings, text } of plans) {
    const verb = dryRun ? 'would be written to' : 'written to';
    const added = servers.filter(({ action }) => action === 'add').length;
    output.lines([
      `${added} of ${servers.length} servers ${text === undefined ? 'to write to' : verb} ${printableLine(placeOf(target), 500)}`,
    ]);
    output.lines(servers.flatMap((server) => serverLines(server, dryRun)));
    if (mcp.length > 0)
      output.lines([`  section mcp: ${mcp.map((key) => printableLine(key, 100)).join(', ')}`]);
    if (warnings.length > 0) output.lines(['check:', ...warnings.map(problemLine)]);
    if (problems.length > 0) output.lines(['skipped:', ...problems.map(problemLine)]);
  }
}

const verbs: Readonly<Record<ImportedServer['action'], string>> = {
  add: '+',
  same: '=',
  conflict: '!',
  invalid: '!',
};

function serverLines(
  { name, action, from, entry, why }: ImportedServer,
  dryRun: boolean,
): readonly string[] {
  const place = `${from.file ?? ''}:${from.line ?? 1} ${from.key}`;
  const reason = action === 'same' ? 'exists already' : why;
  const head = `  ${verbs[action]} ${name}  (${place})${reason === undefined ? '' : `: ${reason}`}`;
  const body =
    dryRun && action === 'add' ? [`      ${printableLine(JSON.stringify(entry), 2_000)}`] : [];
  return [printableLine(head, 1_000).trimEnd(), ...body];
}

function problemLine({ file, line, key, message }: Problem): string {
  return printableLine(`  ${file}:${line ?? 1} ${key ?? ''}: ${message}`, 1_000);
}
