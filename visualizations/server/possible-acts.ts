/**
 * Lists the actions for a server. An action is accepted when its event would change the server's state, by its
 * chart; any other action has a reason.
 */

import type { ApprovalRequest } from '../../src/domain/host/approval.ts';
import type { Explanation } from '../../src/domain/host/explanation.ts';
import type { PossibleAct } from '../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';

const events = [
  'server.start',
  'server.stop',
  'server.restart',
  'server.reconnect',
  'auth.completed',
] as const;

const decisions = [
  { act: 'approve', event: 'approval.grant', decision: 'granted' },
  { act: 'reject', event: 'approval.reject', decision: 'rejected' },
  { act: 'revoke', event: 'approval.revoke', decision: 'pending' },
] as const;

/** Undefined for an unknown server. */
export function possibleActs(
  troupe: Pick<Troupe, 'status' | 'explain' | 'approvals'>,
  server: string,
): readonly PossibleAct[] | undefined {
  const status = troupe.status(server);
  const explanation = troupe.explain(server);
  if (status === undefined || explanation === undefined) return undefined;
  const [approval] = troupe.approvals(server);
  return [
    ...(status.state === 'authRequired' ? [{ act: 'login', accepted: true, to: 'ready' }] : []),
    ...events.map((act) => actOf(act, explanation, status)),
    ...decisions.map((each) => decisionOf(each, explanation, approval)),
  ];
}

function actOf(act: string, { movedBy }: Explanation, status: ServerStatus): PossibleAct {
  const to = leadsTo(act, movedBy);
  if (to !== undefined) return { act, accepted: true, to };
  const { name, state, reason } = status;
  const where = reason === undefined ? state : `${state} (${reason})`;
  const help = status.action === undefined ? '' : `; try: ${status.action}`;
  return { act, accepted: false, reason: `${name} is ${where}, so this has no effect${help}` };
}

function decisionOf(
  { act, event, decision }: (typeof decisions)[number],
  { movedBy }: Explanation,
  approval: ApprovalRequest | undefined,
): PossibleAct {
  const refuse = (reason: string): PossibleAct => ({ act, accepted: false, reason });
  if (approval === undefined)
    return refuse('it comes from your own settings, so it needs no approval');
  if (approval.decision === decision && approval.toolChanges === undefined)
    return refuse(`it is already ${decision}`);
  const to = leadsTo(event, movedBy);
  return { act, accepted: true, ...(to === undefined ? {} : { to }) };
}

function leadsTo(event: string, movers: Explanation['movedBy']): string | undefined {
  const mover = movers.find((each) => each.sentBy === 'host' && each.event === event);
  if (mover === undefined) return undefined;
  const { state, reason } = mover.to;
  return reason === undefined ? state : `${state}.${reason}`;
}
