/** Finds the server and the tool that a command's words name, and waits for the tool's definition. */

import { defined } from '../../domain/data/defined.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { passesFilter } from '../../policies/tools/filter.ts';
import { changedTool, hiddenTool, unknownTool } from '../../runtime/errors/refused.ts';
import type { CliSession } from '../command.ts';
import { settleTimeoutMs } from '../control/protocol.ts';
import { findRunning } from '../control/running-troupe.ts';
import { type Launch, troupeOptionsOf } from '../launch.ts';
import { mayBeJoined, type ToolTarget, toolTarget } from '../tool-target.ts';
import {
  type AdHocFlags,
  type AdHocServer,
  adHocFlagsOf,
  adHocServerOf,
  isAdHocWord,
} from './ad-hoc.ts';
import type { UsedTroupe } from './used-troupe.ts';

/** The answer may take as long as the servers, plus a moment for the socket. */
const extraMs = 2_000;

/** How long the answer to a request may take that waits so long for a server. */
export function requestMs(timeoutMs: number): number {
  return timeoutMs + extraMs;
}

export interface UsedServer {
  /** Its name. */
  readonly server: string | undefined;
  /** For {@link withTroupe}. */
  readonly target: string | AdHocServer | undefined;
  /** How long its start may take. */
  readonly timeoutMs: number;
  /** The words that follow the server's. */
  readonly rest: readonly string[];
  /** The server as a word of a command line to copy. */
  readonly shown: string;
}

/** The server that `--stdio` or `--url` names, or else the first word; undefined without either. */
export function usedServer(
  session: CliSession,
  words: readonly string[],
  flags: AdHocFlags,
): UsedServer {
  const { launch } = session;
  const [server, ...rest] = words;
  const isNamed = flags.stdio === undefined && flags.url === undefined;
  if (isNamed && server !== undefined && isAdHocWord(server))
    return usedServer(session, rest, adHocFlagsOf(server, flags));
  const adHoc = adHocServerOf(launch, flags);
  const timeoutMs = launch.timeoutMs ?? settleTimeoutMs;
  if (adHoc !== undefined)
    return { server: adHoc.name, target: adHoc, timeoutMs, rest: words, shown: adHoc.words };
  return { server, target: server, timeoutMs, rest, shown: server ?? '' };
}

/** Returns the server and the tool that a command's words name, as `SERVER TOOL` or `SERVER.TOOL`. */
export async function usedTool(
  session: CliSession,
  words: readonly string[],
  flags: AdHocFlags,
): Promise<UsedServer & Pick<ToolTarget, 'tool'>> {
  const used = usedServer(session, words, flags);
  if (typeof used.target === 'object') {
    const [tool, ...rest] = used.rest;
    return { ...used, ...defined({ tool }), rest };
  }
  const first = words[0];
  if (first === undefined) return used;
  const names = mayBeJoined(first) ? await serverNames(session.launch) : [];
  const target = toolTarget(words, names);
  return { ...used, ...target, target: target.server, shown: target.server };
}

/** The servers of the running troupe; without one of the same flags, those in the settings. Starts nothing. */
export async function serverNames(launch: Launch): Promise<readonly string[]> {
  const running = await findRunning(launch);
  try {
    if (running !== undefined && running.differences.length === 0) {
      const { servers } = await running.client.request('status', {});
      return servers.map(({ name }) => name);
    }
  } finally {
    running?.client.close();
  }
  // Loaded late: a running troupe makes it unnecessary.
  const { previewPlan } = await import('../../runtime/previews/preview-plan.ts');
  const { steps } = await previewPlan(troupeOptionsOf(launch));
  return steps.map(({ server }) => server);
}

/** Lists the tools of a server, which is started if necessary, or of all. */
export async function listedTools(
  { request }: UsedTroupe,
  { server, timeoutMs }: Pick<UsedServer, 'server' | 'timeoutMs'>,
): Promise<readonly ExposedTool[]> {
  return (await request('tools', defined({ server, timeoutMs }), requestMs(timeoutMs))).tools;
}

/**
 * Returns a tool's definition.
 * @throws TroupeError `TOOL_UNKNOWN`, also for one that the settings hide, or `TOOL_CHANGED` for one that is withheld
 */
export async function listedTool(
  launch: Launch,
  troupe: UsedTroupe,
  { server, timeoutMs }: { readonly server: string; readonly timeoutMs: number },
  tool: string,
): Promise<ExposedTool> {
  const tools = await listedTools(troupe, { server, timeoutMs });
  const found = tools.find((each) => each.tool === tool);
  if (found !== undefined) return found;
  const { approvals } = await troupe.request('approvals', {});
  const approval = approvals.find((each) => each.server === server);
  // A tool that is withheld is not listed; the runtime refuses a call without arguments the same way.
  if (approval?.toolChanges?.some((change) => change.tool === tool) === true)
    throw changedTool(server, tool);
  // Loaded late, too: most tools are found.
  const { declarationInUse } = await import('../settings/declared-server.ts');
  const desired = await declarationInUse(launch, server);
  if (desired !== undefined) {
    const { exclude, overrides = [] } = desired.tools;
    // A name that is not in a list of included ones may as well be mistyped.
    if (!passesFilter({ exclude, overrides }, tool)) throw hiddenTool(desired, tool);
  }
  const known = tools.map((each) => ({ name: each.tool }));
  throw unknownTool(tool, known, server);
}
