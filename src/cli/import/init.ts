/** Collects the servers that other programs have in one settings file of troupe. */

import { printableLine } from '../../domain/data/printable.ts';
import { isFolderScope } from '../../domain/settings.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { approveWritten } from '../../runtime/previews/approve-written.ts';
import { isAgreed } from '../ask/confirm.ts';
import type { CliSession } from '../command.ts';
import { flagsOf, type Launch, projectSettings, sourcesOf, troupeOptionsOf } from '../launch.ts';
import { isOfProject } from '../settings/target.ts';
import { counted } from '../show/counted.ts';
import { discoverSources, nothingFound } from './discover.ts';
import { planTarget, remarkLines, serverLines, type Target, write } from './import-servers.ts';

export interface InitFlags {
  readonly scope?: 'user' | 'project';
  readonly yes?: true;
}

/** Runs `troupe init`. */
export async function initSettings(
  session: CliSession,
  flags: InitFlags & { readonly isStarting?: true },
): Promise<number> {
  const { launch, output } = session;
  const { sources } = await discoverSources(session);
  const file = flags.scope === 'user' ? launch.userSettings : projectSettings(launch);
  const target = await planTarget(session, file, sources);
  const { servers, text, ...plan } = target.plan;
  const count = servers.filter(({ action }) => action === 'add').length;
  const lines = [
    ...sources.map(
      ({ program, file: found }) => `found ${program ?? ''}: ${printableLine(found, 500)}`,
    ),
    ...servers.flatMap((server) => serverLines(server, true)),
    ...remarkLines(target.plan),
  ];
  output.lines(lines);
  if (sources.length === 0) output.lines([nothingFound]);
  else if (text === undefined) output.lines([`${file} has all of these servers already`]);
  const question = `write ${counted(count, 'server')} to ${printableLine(target.place, 500)}?`;
  const isWanted =
    text !== undefined && (flags.yes === true || (await isAgreed(session, question)));
  if (isWanted) await writeAll(session, target);
  const document = { file, realPath: target.place, written: isWanted, servers, ...plan };
  output.document({ ...document, serve: serveWords(launch) });
  if (isWanted || (text === undefined && sources.length > 0))
    output.lines([
      '',
      ...(flags.isStarting === true ? [] : ['run the servers with: troupe up']),
      ...gatewayLines(launch),
    ]);
  return 0;
}

/** Offers what other programs have, if anything; for a first start without settings. */
export async function offerSettings(session: CliSession): Promise<void> {
  if ((await discoverSources(session)).sources.length === 0) return;
  session.output.lines([
    'there are no settings yet, but other programs on this machine have servers',
  ]);
  await initSettings(session, { isStarting: true });
}

/** Writes the file. The user has seen the servers, so those of the user's own programs are approved. */
async function writeAll(session: CliSession, target: Target): Promise<void> {
  const { launch, output } = session;
  const { file, plan } = target;
  await write(session, target);
  const added = plan.servers.filter(({ action }) => action === 'add');
  const source = sourcesOf(launch).find((each) => each.file === file);
  if (source?.scope === undefined || !isFolderScope(source.scope)) return;
  const own: string[] = [];
  const waiting: string[] = [];
  for (const { name, from } of added) {
    const isTheirs = await isOfProject(from.file ?? '', launch.projectRoot);
    (isTheirs ? waiting : own).push(name);
  }
  await approveWritten(troupeOptionsOf(launch), { file, text: plan.text ?? '' }, own);
  if (waiting.length > 0)
    output.lines([
      `these come from the project folder and need troupe approve: ${waiting.join(', ')}`,
    ]);
}

/** The command that serves these settings to a host. */
export function serveWords(launch: Launch): readonly string[] {
  return ['troupe', 'serve', '--project', launch.projectRoot, ...flagsOf(launch)];
}

function gatewayLines(launch: Launch): readonly string[] {
  const [command, ...args] = serveWords(launch);
  const line = serveWords(launch)
    .map((word) => quotedFor('shell', word))
    .join(' ');
  return [
    'let a program use them with troupe connect HOST (troupe help connect lists them), or add this yourself:',
    `  claude mcp add troupe -- ${line}`,
    `  { "mcpServers": { "troupe": ${JSON.stringify({ command, args })} } }`,
  ];
}
