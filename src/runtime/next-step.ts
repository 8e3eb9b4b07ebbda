import type { ServerState, StateReason } from '../domain/server-state.ts';
import type { DesiredServer } from '../domain/settings.ts';
import type { ServerStatus } from '../domain/status.ts';

/** Says the one command or step that would help a server on; undefined when none is needed. */
export function nextStepFor(
  desired: DesiredServer,
  condition: { readonly state: ServerState; readonly reason?: StateReason },
): string | undefined {
  const { name, source, invalid, disabledBy, bar } = desired;
  const place = placeOf(invalid?.file ?? source.file, invalid?.line ?? source.line);
  switch (condition.state) {
    case 'disabled':
      if (disabledBy !== undefined) {
        return `remove ${name} from mcp.disabledServers in ${placeOf(disabledBy.file, disabledBy.line)}`;
      }
      return `set "enabled": true for ${name} in ${place}`;
    case 'blocked':
      return bar !== undefined && bar.verdict === condition.reason
        ? bar.next
        : stepWhenBlocked(name, place, condition.reason);
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

/** The same with what came before: a command that cannot be run fails after a restart as before it. */
export function nextStepAfter(
  { source }: DesiredServer,
  { state, action, transport, lastError }: ServerStatus,
): string | undefined {
  const isAtRest = state === 'failed' || state === 'suspended';
  if (!isAtRest || transport !== 'stdio' || lastError?.kind !== 'unavailable') return action;
  return `provide what is missing, or mend ${placeOf(source.file, source.line)}; then ${action}`;
}

function stepWhenBlocked(name: string, place: string, reason: StateReason | undefined): string {
  switch (reason) {
    case 'pendingApproval':
    case 'rejected':
      return `troupe approve ${name}`;
    case 'untrusted':
      return 'trust this folder: start with --trust';
    case 'excluded':
      return `remove ${name} from mcp.excluded`;
    case 'notAllowed':
      return `add ${name} to the list that leaves it out (--allow, or mcp.allowed where it is set)`;
    case 'overBudget':
      return 'disable another server, or raise admission.maxServers in mcp.policy';
    default:
      return `mend ${place}`;
  }
}

function placeOf(file: string | undefined, line: number | undefined): string {
  if (file === undefined) return "the host's settings";
  return line === undefined ? file : `${file}:${line}`;
}
