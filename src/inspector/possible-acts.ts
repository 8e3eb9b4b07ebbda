/**
 * What a person may do with a server now, as its chart answers: where it says that an event
 * would lead elsewhere, the button is one; where not, the reason stands beside it.
 */

import type { ApprovalRequest } from '../domain/host/approval.ts';
import type { Explanation } from '../domain/host/explanation.ts';
import type { PossibleAct } from '../domain/host/inspection.ts';
import type { ServerStatus } from '../domain/host/status.ts';
import type { Troupe } from '../runtime/troupe.ts';

const events = [
  'server.start',
  'server.stop',
  'server.restart',
  'server.reconnect',
  'auth.completed',
] as const;

const decisions = { approve: 'granted', reject: 'rejected', revoke: 'pending' } as const;
const eventOf = {
  approve: 'approval.grant',
  reject: 'approval.reject',
  revoke: 'approval.revoke',
} as const;

/** Undefined when there is no such server. */
export function possibleActs(
  troupe: Pick<Troupe, 'status' | 'explain' | 'approvals'>,
  server: string,
): readonly PossibleAct[] | undefined {
  const status = troupe.status(server);
  const explanation = troupe.explain(server);
  if (status === undefined || explanation === undefined) return undefined;
  const approval = troupe.approvals().find((each) => each.server === server);
  return [
    ...events.map((act) => actOf(act, explanation, status)),
    ...(Object.keys(decisions) as (keyof typeof decisions)[]).map((act) =>
      decisionOf(act, explanation, approval),
    ),
  ];
}

function actOf(act: string, { movedBy }: Explanation, status: ServerStatus): PossibleAct {
  const to = leadsTo(act, movedBy);
  if (to !== undefined) return { act, accepted: true, to };
  const { name, state, reason } = status;
  const where = reason === undefined ? state : `${state} (${reason})`;
  const help = status.action === undefined ? '' : `; what helps: ${status.action}`;
  return {
    act,
    accepted: false,
    reason: `${name} is ${where}, and this would change nothing${help}`,
  };
}

function decisionOf(
  act: keyof typeof decisions,
  { movedBy }: Explanation,
  approval: ApprovalRequest | undefined,
): PossibleAct {
  if (approval === undefined)
    return {
      act,
      accepted: false,
      reason: 'your own settings name it, so nothing is decided about it',
    };
  const isDecidedSo = approval.decision === decisions[act] && approval.toolChanges === undefined;
  if (isDecidedSo) return { act, accepted: false, reason: `it is ${approval.decision} already` };
  const to = leadsTo(eventOf[act], movedBy);
  return { act, accepted: true, ...(to === undefined ? {} : { to }) };
}

function leadsTo(event: string, movers: Explanation['movedBy']): string | undefined {
  const mover = movers.find((each) => each.sentBy === 'host' && each.event === event);
  if (mover === undefined) return undefined;
  const { state, reason } = mover.to;
  return reason === undefined ? state : `${state}.${reason}`;
}
