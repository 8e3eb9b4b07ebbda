import type { ServerStatus } from '../../domain/host/status.ts';
import type { ServerState, StateReason } from '../../domain/server-state.ts';
import type { DesiredServer, SourceRef } from '../../domain/settings.ts';
import { type RefusingLists, stepAgainst } from './refusing-rule.ts';

/** The next command or step for a server; undefined when none is needed. */
export function nextStepFor(
  desired: DesiredServer,
  condition: { readonly state: ServerState; readonly reason?: StateReason },
  lists: RefusingLists = { hostAllowed: null },
): string | undefined {
  const { name, source, invalid, disabledBy } = desired;
  const place = placeOf(invalid?.file ?? source.file, invalid?.line ?? source.line);
  switch (condition.state) {
    case 'disabled':
      if (disabledBy !== undefined) {
        return `remove ${name} from mcp.disabledServers in ${placeOf(disabledBy.file, disabledBy.line)}`;
      }
      return `set "enabled": true for ${name} in ${place}`;
    case 'blocked':
      return condition.reason === 'excluded' || condition.reason === 'notAllowed'
        ? stepAgainst(condition.reason, desired, lists)
        : stepWhenBlocked(name, place, condition.reason, lists);
    case 'authRequired':
      return `log in to ${name}, then troupe restart ${name}`;
    case 'suspended':
    case 'failed':
      return `troupe restart ${name}`;
    case 'stopped':
      return `troupe start ${name}`;
    case 'dormant':
    case 'queued':
    case 'connecting':
    case 'loadingTools':
    case 'ready':
    case 'degraded':
    case 'backingOff':
    case 'stopping':
      return undefined;
  }
}

/** How many of a server's definitions are held back because they changed: tools and others. */
export interface HeldCount {
  readonly tools: number;
  readonly offers: number;
}

/** The step that releases definitions that are held back because they changed. */
export function stepForHeld(
  { name }: DesiredServer,
  { tools, offers }: HeldCount,
): string | undefined {
  const count = tools + offers;
  if (count === 0) return undefined;
  const kind = offers === 0 ? 'tool' : 'definition';
  const what = count === 1 ? `a ${kind} that changed is` : `${count} ${kind}s that changed are`;
  return `troupe approve ${name}: ${what} held back`;
}

/** The next step, with what must be fixed first: an unavailable command fails after a restart as well. */
export function nextStepAfter(
  { source }: DesiredServer,
  { state, action, transport, lastError }: ServerStatus,
): string | undefined {
  const isAtRest = state === 'failed' || state === 'suspended';
  if (!isAtRest || transport !== 'stdio' || lastError?.kind !== 'unavailable') return action;
  return `provide what is missing, or fix ${placeOf(source.file, source.line)}; then ${action}`;
}

function stepWhenBlocked(
  name: string,
  place: string,
  reason: StateReason | undefined,
  { budget }: RefusingLists,
): string {
  switch (reason) {
    case 'pendingApproval':
    case 'rejected':
      return `troupe approve ${name}`;
    case 'untrusted':
      return `trust the folder that brings it in ${place}: start with --trust`;
    case 'overBudget':
      return `stop or disable another server, or raise admission.maxServers in mcp.policy${ofFile(budget?.source)}`;
    default:
      return `fix ${place}`;
  }
}

function ofFile(source: SourceRef | undefined): string {
  return source?.file === undefined ? '' : ` of ${source.file}`;
}

function placeOf(file: string | undefined, line: number | undefined): string {
  if (file === undefined) return "the host's settings";
  return line === undefined ? file : `${file}:${line}`;
}
