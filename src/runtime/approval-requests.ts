import type { ServerSpec } from '../domain/server-spec.ts';
import type { Settings } from '../domain/settings.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import type { ApprovalDecision } from '../policies/admit.ts';
import { approvalFingerprint } from '../policies/fingerprint.ts';
import type { ApprovalRequest } from './troupe.ts';

/** What a person must see of every gated server before deciding. Values of secrets are left out. */
export function approvalRequestsOf(
  settings: Settings | null,
  decisions: readonly ApprovalDecision[],
  specOf: (generation: string) => ServerSpec | undefined,
): readonly ApprovalRequest[] {
  const gated = (settings?.servers ?? []).filter((server) => server.gated && !server.invalid);
  return gated.map((desired) => {
    const fingerprint = approvalFingerprint(desired);
    const made = decisions.findLast(
      (decision) => decision.server === desired.name && decision.fingerprint === fingerprint,
    );
    return {
      server: desired.name,
      fingerprint,
      decision: made?.decision ?? 'pending',
      source: desired.source,
      ...shown(specOf(desired.generation)),
    };
  });
}

function shown(spec: ServerSpec | undefined): Partial<ApprovalRequest> {
  if (spec === undefined) return {};
  if (spec.type === 'memory') return {};
  if (spec.type !== 'stdio') return { url: spec.url, headerNames: Object.keys(spec.headers) };
  const { command, args, cwd, env } = spec;
  return { command, args, cwd, envNames: Object.keys(env) };
}

/** The error of a decision about settings that are no longer those in force. */
export function outdatedDecision(server: string): TroupeError {
  return new TroupeError(
    'PENDING_APPROVAL',
    `The settings of ${server} changed since they were shown, so nothing was decided. Look again and decide about the present ones.`,
    { server },
  );
}
