/** What a person must see of every gated server before deciding. Values of secrets are left out. */

import type {
  ApprovalReason,
  ApprovalRecord,
  ApprovalRequest,
  ToolChange,
} from '../domain/approval.ts';
import type { ServerSpec } from '../domain/server-spec.ts';
import type { DesiredServer } from '../domain/settings.ts';
import { lastAgreed, recordOf } from '../policies/approval-records.ts';
import { approvalFingerprint, digestOf } from '../policies/fingerprint.ts';
import { redactWords } from '../policies/redact-words.ts';
import { compareFacts, specFactsOf } from '../policies/spec-facts.ts';
import { unpinnedPackages } from '../policies/unpinned-package.ts';

/** One gated server and what is known of it. */
export interface ApprovalCase {
  readonly desired: DesiredServer;
  readonly spec: ServerSpec | undefined;
  readonly records: readonly ApprovalRecord[];
  /** Tools that are not what was approved with it. */
  readonly toolChanges: readonly ToolChange[];
  /** Whether somebody looked for what its command leads to. */
  readonly isLookedUp: boolean;
}

/** What a decision binds to that is made by looking at the request. */
export function shownFingerprint({ desired, toolChanges }: ApprovalCase): string {
  const fingerprint = approvalFingerprint(desired);
  return toolChanges.length === 0 ? fingerprint : digestOf({ fingerprint, toolChanges });
}

export function approvalRequestOf(asked: ApprovalCase): ApprovalRequest {
  const { desired, spec, toolChanges } = asked;
  const { name, source, executable } = desired;
  const warnings = spec === undefined ? [] : warningsOf(spec, asked);
  return {
    server: name,
    fingerprint: shownFingerprint(asked),
    source,
    ...stateOf(asked),
    ...(spec === undefined ? {} : shown(spec)),
    ...(executable === undefined ? {} : { executable }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(toolChanges.length === 0 ? {} : { toolChanges: toolChanges.map(shownChange) }),
  };
}

/** What a tool is announced with are words of its server. */
function shownChange({ tool, diff }: ToolChange): ToolChange {
  return { tool, diff: diff.map((line) => redactWords(line)) };
}

type State = Pick<ApprovalRequest, 'decision' | 'because' | 'changes'>;

function stateOf({ desired, spec, records, toolChanges }: ApprovalCase): State {
  const fingerprint = approvalFingerprint(desired);
  const record = recordOf(records, { server: desired.name, fingerprint });
  if (record?.decision === 'granted') {
    return toolChanges.length === 0
      ? { decision: 'granted' }
      : { decision: 'pending', because: 'toolsChanged' };
  }
  const agreed = lastAgreed(records, desired.name);
  const facts = spec === undefined ? [] : specFactsOf(spec, desired.executable);
  const changes = agreed === undefined ? [] : compareFacts(agreed.facts, facts);
  const more = changes.length === 0 ? {} : { changes };
  if (record?.decision === 'rejected') return { decision: 'rejected', ...more };
  if (record !== undefined) return { decision: 'pending', because: 'revoked', ...more };
  const because = agreed === undefined ? 'new' : reasonFor(changes);
  return { decision: 'pending', because, ...more };
}

function reasonFor(changes: NonNullable<State['changes']>): ApprovalReason {
  const isMove = changes.length > 0 && changes.every(({ field }) => field === 'executable');
  return isMove ? 'executableMoved' : 'changed';
}

function shown(spec: ServerSpec): Partial<ApprovalRequest> {
  if (spec.type === 'memory') return {};
  if (spec.type !== 'stdio') return { url: spec.url, headerNames: Object.keys(spec.headers) };
  const { command, args, cwd, env, values } = spec;
  const envFile = values?.envFile === undefined ? {} : { envFile: values.envFile.path };
  return { command, args, cwd, envNames: Object.keys(env), ...envFile };
}

// What makes a program load or find other code than its command line says.
const loadsCode =
  /^(?:LD_|DYLD_)|^(?:PATH|NODE_OPTIONS|NODE_PATH|PYTHONPATH|PYTHONSTARTUP|BASH_ENV|ENV|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|GIT_SSH_COMMAND)$/u;

function warningsOf(
  spec: ServerSpec,
  { desired, isLookedUp }: Pick<ApprovalCase, 'desired' | 'isLookedUp'>,
): readonly string[] {
  if (spec.type !== 'stdio') return [];
  const isMissing = isLookedUp && desired.executable === undefined;
  return [
    ...(isMissing ? ['the command is not found at present; when it is, this is asked again'] : []),
    ...unpinnedPackages(spec.command, spec.args),
    ...Object.keys(spec.env)
      .filter((name) => loadsCode.test(name))
      .map((name) => `${name} decides what code is loaded; see its value in the settings`),
  ];
}
