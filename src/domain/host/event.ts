/** Events a host may send to a troupe, and events it may listen to. */

import type { Step } from '../plan.ts';
import type { Question, QuestionEnd, RootFolder } from '../question.ts';
import type { ServerLogLine } from '../server-log.ts';
import type { Problem } from '../settings.ts';
import type { ServerStatus } from './status.ts';

/**
 * What a host may send. Checked at the boundary: anything else is refused with
 * `INVALID_ARGUMENTS`, and names that begin with `xstate.` always.
 */
export type HostEvent =
  /** Replaces what the host itself contributes: an object in the form of a settings file. */
  | { readonly type: 'settings.changed'; readonly settings: Readonly<Record<string, unknown>> }
  /** Reads all settings files again. */
  | { readonly type: 'settings.reload' }
  | { readonly type: 'server.start'; readonly server: string }
  | { readonly type: 'server.stop'; readonly server: string }
  | { readonly type: 'server.restart'; readonly server: string }
  | { readonly type: 'server.reconnect'; readonly server: string }
  /** Without a fingerprint the decision is about the present one. */
  | { readonly type: 'approval.grant'; readonly server: string; readonly fingerprint?: string }
  | { readonly type: 'approval.reject'; readonly server: string; readonly fingerprint?: string }
  | { readonly type: 'approval.revoke'; readonly server: string; readonly fingerprint?: string }
  | { readonly type: 'trust.changed'; readonly trusted: boolean }
  /** Changes the host's allow-list within the launch bound; null = no list. */
  | { readonly type: 'allow.changed'; readonly allowed: readonly string[] | null }
  | { readonly type: 'auth.completed'; readonly server: string }
  /** The folders that the work is about: paths or `file:` addresses. Servers that were told of roots hear of it. */
  | { readonly type: 'roots.changed'; readonly roots: readonly (string | RootFolder)[] }
  | { readonly type: 'system.woke' }
  | { readonly type: 'troupe.stop' }
  /** For a person who insists: everything is gone within 600 ms. */
  | { readonly type: 'troupe.kill' };

/** What a host may listen to, by name. */
export interface TroupeEvents {
  'status.changed': { readonly status: ServerStatus };
  'tools.changed': { readonly servers: readonly string[] };
  /** The list of a server's resources or templates. */
  'resources.changed': { readonly server: string };
  /** A resource that is watched changed, or may have changed while nobody listened. */
  'resource.updated': { readonly server: string; readonly uri: string };
  'prompts.changed': { readonly server: string };
  'approval.needed': { readonly server: string; readonly fingerprint: string };
  'auth.needed': { readonly server: string };
  /** A question waits for its answer. One that the caller it belongs to answers itself is not told of. */
  'question.asked': { readonly question: Question };
  /** It waits no longer. What was answered is between the two. */
  'question.settled': { readonly id: string; readonly server: string; readonly end: QuestionEnd };
  reconciled: { readonly plan: readonly Step[]; readonly durationMs: number };
  'settings.invalid': { readonly problems: readonly Problem[] };
  'server.log': { readonly server: string } & ServerLogLine;
  /** A server sent a line of its log, `notifications/message`: level, logger and data as it sent them. */
  notification: {
    readonly server: string;
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  };
}
export type TroupeEventName = keyof TroupeEvents;

const isEvent: Readonly<Record<TroupeEventName, true>> = {
  'status.changed': true,
  'tools.changed': true,
  'resources.changed': true,
  'resource.updated': true,
  'prompts.changed': true,
  'approval.needed': true,
  'auth.needed': true,
  'question.asked': true,
  'question.settled': true,
  reconciled: true,
  'settings.invalid': true,
  'server.log': true,
  notification: true,
};

/** Every event that a host may listen to. */
export const troupeEventNames = Object.keys(isEvent) as readonly TroupeEventName[];
