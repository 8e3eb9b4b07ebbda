/** Collects the facts about a server that needs approval, which the user needs for a decision. References stay unresolved. */

import { defined } from '../../domain/data/defined.ts';
import type { ApprovalReason, ApprovalRequest, ToolChange } from '../../domain/host/approval.ts';
import type { RemoteSpec, ServerSpec, StdioSpec } from '../../domain/server-spec.ts';
import { type DesiredServer, isFolderScope } from '../../domain/settings.ts';
import { isCommandPlain } from '../../policies/approvals/command-place.ts';
import { decidesWhatRuns } from '../../policies/approvals/decides-what-runs.ts';
import { type ApprovalRecords, lastAgreed, recordOf } from '../../policies/approvals/records.ts';
import { compareFacts, folderField, specFactsOf } from '../../policies/approvals/spec-facts.ts';
import { unpinnedPackages } from '../../policies/approvals/unpinned-package.ts';
import { approvalValuesOf, disguisedHost } from '../../policies/approvals/values.ts';
import { approvalFingerprint, digestOf } from '../../policies/fingerprint.ts';
import { proxySecrets } from '../../policies/proxy-variables.ts';
import { isPem } from '../../policies/text/pem.ts';
import { redact } from '../../policies/text/redact.ts';
import { redactWords } from '../../policies/text/redact-words.ts';

/** A gated server with its spec, its records and its changed tools. */
export interface ApprovalCase {
  readonly desired: DesiredServer;
  readonly spec: ServerSpec | undefined;
  readonly records: ApprovalRecords;
  /** Tools that differ from the approved ones. */
  readonly toolChanges: readonly ToolChange[];
  /** Whether the command's program was looked up. */
  readonly isLookedUp: boolean;
}

/** Returns the fingerprint that a decision about the shown request binds to. */
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
    ...(spec === undefined ? {} : shown(spec, desired)),
    ...defined({ executable }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(toolChanges.length === 0 ? {} : { toolChanges: toolChanges.map(shownChange) }),
  };
}

/** Redacts a diff, because it contains text from the server. */
function shownChange({ diff, ...change }: ToolChange): ToolChange {
  return { ...change, diff: diff.map((line) => redactWords(line)) };
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
  const facts = spec === undefined ? [] : specFactsOf(spec, desired);
  const changes = agreed === undefined ? [] : compareFacts(agreed.facts, facts);
  const more = changes.length === 0 ? {} : { changes };
  if (record?.decision === 'rejected') return { decision: 'rejected', ...more };
  if (record !== undefined) return { decision: 'pending', because: 'revoked', ...more };
  const because = agreed === undefined ? 'new' : reasonFor(changes);
  return { decision: 'pending', because, ...more };
}

function reasonFor(changes: NonNullable<State['changes']>): ApprovalReason {
  if (changes.length === 0) return 'changed';
  if (changes.every(({ field }) => field === 'executable')) return 'executableMoved';
  return changes.every(({ field }) => field.startsWith(folderField)) ? 'folderFiles' : 'changed';
}

function shown(
  spec: ServerSpec,
  { source, envFileNames, folderFiles }: DesiredServer,
): Partial<ApprovalRequest> {
  if (spec.type === 'memory') return {};
  const values = {
    ...defined({ folderFiles: folderFiles?.map(({ path }) => path) }),
    values: approvalValuesOf(spec, source.scope),
  };
  if (spec.type !== 'stdio') {
    const host = disguisedHost(spec.url)?.host;
    const leadsTo = host === undefined ? {} : { host };
    const logIn = spec.oauth === false ? {} : { account: spec.account ?? null };
    const headerNames = Object.keys(spec.headers);
    return { url: spec.url, ...leadsTo, headerNames, ...logIn, ...values };
  }
  const { command, args, cwd, env } = spec;
  const envFile = spec.values?.envFile?.path;
  return {
    command,
    args,
    cwd,
    envNames: Object.keys(env),
    ...defined({ envFile, envFileNames }),
    ...values,
  };
}

function warningsOf(
  spec: ServerSpec,
  { desired, isLookedUp }: Pick<ApprovalCase, 'desired' | 'isLookedUp'>,
): readonly string[] {
  if (spec.type === 'memory') return [];
  const ofOwn = desired.gated ? [] : [ownRunner(spec)];
  if (spec.type !== 'stdio') {
    const disguised = disguisedHost(spec.url);
    const ofHost =
      disguised === undefined
        ? []
        : [
            `the address reads "${disguised.written}" but leads to ${disguised.host}; approve only if that is the host you mean`,
          ];
    return [...ofOwn, ...ofHost, ...reachWarnings(spec)];
  }
  const isMissing = isLookedUp && desired.executable === undefined;
  const isUnread =
    isLookedUp && spec.values?.envFile !== undefined && desired.envFileNames === undefined;
  return [
    ...ofOwn,
    ...(isMissing ? [unknownProgram(spec, desired)] : []),
    ...(isUnread
      ? ['the variables file cannot be used at present; once it can, you need to approve again']
      : []),
    ...unpinnedPackages(spec.command, spec.args),
    ...Object.keys(spec.env)
      .filter((name) => decidesWhatRuns(name))
      .map(
        (name) =>
          `${name} can make programs load other code or configuration than the command line says; check its value`,
      ),
  ];
}

/** What an entry may read or pretend because of how it reaches its server. */
function reachWarnings({ proxy, tls, values }: RemoteSpec): readonly string[] {
  const keys = new Set(values?.commands?.map(({ key }) => key));
  const hasProxy = typeof proxy === 'string' || keys.has('proxy');
  const authority = tls?.ca ?? (keys.has('tls.ca') ? 'output of a command' : undefined);
  const certificate = tls?.cert ?? (keys.has('tls.cert') ? 'output of a command' : undefined);
  const placeOf = (text: string): string => (isPem(text) ? 'the text in the entry' : `"${text}"`);
  return [
    ...(hasProxy
      ? [
          `all its traffic goes through the proxy ${proxy ? shownProxy(proxy) : 'that a command names'}; a server at an http: address has no secrets from it`,
        ]
      : []),
    ...(proxy === false ? ['it does not use the proxy of your environment'] : []),
    ...(authority === undefined
      ? []
      : [
          `certificates of the authority in ${placeOf(authority)} are accepted; who holds its key can read and answer everything`,
        ]),
    ...(certificate === undefined
      ? []
      : [`the client certificate in ${placeOf(certificate)} is presented to it`]),
  ];
}

/** References stay visible: the user decides about what fills them. */
function shownProxy(proxy: string): string {
  return redact(
    proxy,
    proxySecrets(proxy).filter((secret) => !secret.includes('${')),
  );
}

/** Why a server of the user's own settings needs approval. */
function ownRunner(spec: RemoteSpec | StdioSpec): string {
  const own = 'it is a server of your own, but';
  return spec.type === 'stdio' && spec.values?.commands === undefined
    ? `${own} it starts in ${spec.cwd}, where the files that it reads decide what runs; if it needs nothing of this project, set its "cwd" to a folder of yours`
    : `${own} a command that gives one of its values runs in this project, or it starts here itself, and the files that are read here decide what runs; let such a command name an installed program instead of a package runner`;
}

function unknownProgram(spec: StdioSpec, { source }: DesiredServer): string {
  return isFolderScope(source.scope) && !isCommandPlain(spec)
    ? 'a variable or its own PATH decides which program this is; it is looked up only after approval'
    : 'the command is not found at present; once it is, you need to approve again';
}
