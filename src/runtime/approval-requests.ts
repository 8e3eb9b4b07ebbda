import type { ServerSpec } from '../domain/server-spec.ts';
import type { DesiredServer, Settings } from '../domain/settings.ts';
import type { ApprovalDecision } from '../policies/admit.ts';
import { approvalFingerprintOf } from '../policies/fingerprint.ts';
import type { ApprovalRequest } from './troupe.ts';

/** The fingerprint that a decision about this server binds to. */
export function approvalFingerprint({ generation, name, source }: DesiredServer): string {
  return approvalFingerprintOf({ generation, name, scope: source.scope });
}

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
  if (spec.type === 'http') return { url: spec.url, headerNames: Object.keys(spec.headers) };
  const { command, args, cwd, env } = spec;
  return { command, args, cwd, envNames: Object.keys(env) };
}
