/** Removes, enables and disables servers and tools in the file that declares the server. */

import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { settingsError, usageError } from '../../domain/user-errors.ts';
import { nameHint } from '../../policies/text/closest-name.ts';
import { passesFilter } from '../../policies/tools/filter.ts';
import type { Change } from '../../settings/edit-settings.ts';
import { memberOf, type TreeNode, valueOf } from '../../settings/settings-tree.ts';
import type { CliSession } from '../command.ts';
import type { RunningTroupe } from '../control/running-troupe.ts';
import type { Launch } from '../launch.ts';
import { statusLine } from '../show/status-lines.ts';
import { type DeclaredServer, declaredServer, settingsOf } from './declared-server.ts';
import { applyEdit, type Edit, withEditedTroupe } from './running-edit.ts';
import { editedText, replaceSettings } from './settings-file.ts';

/** What an edit does, in the words of its report. */
interface Report {
  readonly action: 'removed' | 'enabled' | 'disabled';
  readonly server: string;
  readonly tool?: string;
  /** Whether there was something to do. */
  readonly changed: boolean;
}

export function removeServer(session: CliSession, name: string): Promise<number> {
  return withEditedTroupe(session.launch, async (seen, running) => {
    const declared = await declaredServer(seen, name);
    const text = editedText(declared.open, [{ path: ['mcpServers', name], value: undefined }]);
    const { file } = declared.desired.source;
    const next = await declarationIn(seen, declared, text);
    await finish(session, declared, running, {
      report: { action: 'removed', server: name, changed: true },
      text,
      async isApplied(troupe) {
        return (await troupe.statusOf(name))?.source.file !== file;
      },
    });
    if (next !== undefined)
      session.output.note(
        `${next.source.file ?? next.source.scope} also declares ${name}, and counts now`,
      );
    return 0;
  });
}

export function switchServer(session: CliSession, name: string, wish: boolean): Promise<number> {
  return withEditedTroupe(session.launch, async (seen, running) => {
    const declared = await declaredServer(seen, name);
    const { desired, open } = declared;
    const changed = desired.enabled !== wish;
    const text = changed
      ? editedText(open, switchChanges(declared, name, wish))
      : (open.before ?? '');
    const after = await declarationIn(seen, declared, text);
    if (after !== undefined && after.enabled !== wish) throw stillSwitched(after, wish);
    await finish(session, declared, running, {
      report: { action: wish ? 'enabled' : 'disabled', server: name, changed },
      text,
      async isApplied(troupe) {
        const status = await troupe.statusOf(name);
        return status !== undefined && (status.state !== 'disabled') === wish;
      },
    });
    return 0;
  });
}

/** The file's own list counts more than the entry. */
function switchChanges({ open }: DeclaredServer, name: string, wish: boolean): readonly Change[] {
  const entry = entryNode(open.root, name);
  const at = ['mcpServers', name];
  const changes: Change[] = [];
  // Other programs' word for it.
  if (memberOf(entry, 'disabled') !== undefined)
    changes.push({ path: [...at, 'disabled'], value: undefined });
  if (!wish) return [...changes, { path: [...at, 'enabled'], value: false }];
  if (memberOf(entry, 'enabled') !== undefined)
    changes.push({ path: [...at, 'enabled'], value: undefined });
  const mcp = memberOf(open.root, 'mcp')?.node;
  const list = mcp === undefined ? undefined : memberOf(mcp, 'disabledServers')?.node;
  const names = list === undefined ? [] : valueOf(list);
  const index = Array.isArray(names) ? names.indexOf(name) : -1;
  if (index !== -1) changes.push({ path: ['mcp', 'disabledServers', index], value: undefined });
  return changes;
}

function stillSwitched({ name, disabledBy }: DesiredServer, wish: boolean): TroupeError {
  const file = disabledBy?.file ?? 'a settings file';
  const line = disabledBy?.line === undefined ? '' : `:${disabledBy.line}`;
  const message = wish
    ? `${name} stays disabled; remove it from ${disabledBy?.key ?? 'mcp.disabledServers'} in ${file}${line}`
    : `${name} stays enabled; remove it from mcp.enabledServers in your settings`;
  return settingsError(message, name);
}

export function switchTool(
  session: CliSession,
  { server, tool }: { readonly server: string; readonly tool: string },
  wish: boolean,
): Promise<number> {
  if (tool === '') throw usageError('write a tool as SERVER/TOOL');
  return withEditedTroupe(session.launch, async (seen, running) => {
    const declared = await declaredServer(seen, server);
    const { desired, open } = declared;
    const changed = passesFilter(desired.tools, tool) !== wish;
    if (changed && !wish) await refuseUnknownTool(running, server, tool);
    const text = changed
      ? editedText(open, toolChanges(declared, tool, wish))
      : (open.before ?? '');
    const after = await declarationIn(seen, declared, text);
    if (after !== undefined && passesFilter(after.tools, tool) !== wish)
      throw settingsError(
        `${tool} stays ${wish ? 'hidden' : 'shown'} because of the patterns in "tools" of ${server} in ${open.file}; edit them`,
        server,
      );
    const isUsable = async (troupe: Parameters<Edit['isApplied']>[0]): Promise<boolean> =>
      ['ready', 'degraded'].includes((await troupe.statusOf(server))?.state ?? '');
    await finish(session, declared, running, {
      report: { action: wish ? 'enabled' : 'disabled', server, tool, changed },
      text,
      // Only a running server has the tool.
      isApplied: async (troupe) =>
        (await troupe.hasTool(server, tool)) === wish || !(await isUsable(troupe)),
    });
    return 0;
  });
}

function toolChanges(
  { open, desired: { name } }: DeclaredServer,
  tool: string,
  wish: boolean,
): readonly Change[] {
  const tools = memberOf(entryNode(open.root, name), 'tools')?.node;
  const at = ['mcpServers', name, 'tools'];
  if (tools?.kind === 'array')
    throw settingsError(`"tools" of ${name} in ${open.file} is a list; edit it there`, name);
  const override = [...at, 'overrides', tool];
  if (!wish) return [{ path: [...override, 'enabled'], value: false }];
  const content = tools === undefined ? undefined : valueOf(tools);
  const { overrides, exclude } = isRecord(content) ? content : {};
  const own = isRecord(overrides) ? overrides[tool] : undefined;
  const changes: Change[] = [];
  if (isRecord(own) && own['enabled'] === false) {
    // Nothing empty is left behind.
    const holders = [content, overrides, own].map((holder) => Object.keys(Object(holder)).length);
    const rests = holders.findLastIndex((size) => size > 1) + 1;
    const whole = [...override, 'enabled'];
    changes.push({ path: whole.slice(0, at.length + rests), value: undefined });
  }
  const index = Array.isArray(exclude) ? exclude.indexOf(tool) : -1;
  if (index !== -1) changes.push({ path: [...at, 'exclude', index], value: undefined });
  return changes;
}

async function refuseUnknownTool(
  running: RunningTroupe | undefined,
  server: string,
  tool: string,
): Promise<void> {
  if (running === undefined) return;
  const { tools } = await running.client.request('tools', { timeoutMs: 1 });
  const names = tools.filter((each) => each.server === server).map((each) => each.tool);
  if (names.length === 0 || names.includes(tool)) return;
  throw new TroupeError(
    'TOOL_UNKNOWN',
    `There is no tool ${printableLine(tool, 100)} on ${server}. ${nameHint(tool, names, `List its tools: troupe tools ${server}`)}`,
    { server },
  );
}

function entryNode(root: TreeNode, name: string): TreeNode {
  const servers = memberOf(root, 'mcpServers')?.node ?? root;
  return memberOf(servers, name)?.node ?? root;
}

/** How the settings declare the server after an edit; undefined when nothing does. */
async function declarationIn(
  seen: Launch,
  { desired }: DeclaredServer,
  text: string,
): Promise<DesiredServer | undefined> {
  const { file = '' } = desired.source;
  const { servers } = await settingsOf(seen, { file, text });
  return servers.find(({ name }) => name === desired.name);
}

async function finish(
  session: CliSession,
  { desired, open }: DeclaredServer,
  running: RunningTroupe | undefined,
  { report, text, isApplied }: { report: Report; text: string } & Pick<Edit, 'isApplied'>,
): Promise<void> {
  const { output } = session;
  const { action, server, tool, changed } = report;
  const write = (): Promise<void> => replaceSettings(open, text);
  const result = changed ? await applyEdit(session, running, server, { write, isApplied }) : {};
  const { scope } = desired.source;
  output.document({ ...report, file: open.file, scope, ...result });
  const subject = printableLine(tool === undefined ? server : `${server}/${tool}`, 300);
  const place = `${printableLine(open.place, 500)} (${scope})`;
  output.lines([
    changed
      ? `${action} ${subject} ${action === 'removed' ? 'from' : 'in'} ${place}`
      : `${subject} is already ${action}`,
    ...(result.status === undefined ? [] : [statusLine(result.status, Date.now())]),
  ]);
}
