/**
 * Obtains a call's permission before the call is sent: from the host, from the user's stored choices,
 * or from the user, in the order that the permission chart decides. By default no call needs one.
 *
 * A stored choice covers the tool or the server as it was then, not its replacement.
 */

import { type ActorRefFrom, createActor, fromPromise } from 'xstate';
import type { PermissionStore } from '../../../actors/stores/permissions.ts';
import {
  type AskedPermission,
  type KeptAnswer,
  permissionMachine,
} from '../../../machines/permission.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import {
  type AskPermission,
  type PermissionAnswer,
  type PermissionDenial,
  type PermissionHook,
  type PermissionPattern,
  type PermissionRequest,
  type PermissionVerdict,
  permissionAnswers,
  permissionVerdicts,
} from '../../domain/permission.ts';
import type { DesiredServer, Problem, ViewSettings } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { digestOfShown, isSameTool } from '../../policies/approvals/tool-pins.ts';
import { type ChoiceSubject, isRemembered } from '../../policies/calls/permission-decision.ts';
import { approvalFingerprint } from '../../policies/fingerprint.ts';
import type { TroupeParts } from '../root-actor.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { TroupeOptions } from '../troupe.ts';
import { denied, PermissionRules, type RuleSubject } from './permission-rules.ts';

/** One call that is about to go out. */
export interface PermissionCase extends RuleSubject {
  readonly args: Readonly<Record<string, unknown>>;
  /** Replaces the host's own callback for this call. */
  readonly ask: AskPermission | undefined;
  /** Time left until the caller's own deadline, in milliseconds; null if the caller set none. */
  readonly leftMs: number | null;
}

export class Permissions {
  readonly store: PermissionStore;
  readonly #clock: Clock;
  readonly #report: TroupeParts['report'];
  readonly #root: SharedPorts['root'];
  readonly #hook: PermissionHook | undefined;
  readonly #ask: AskPermission | undefined;
  readonly #rules: PermissionRules;
  readonly #chart: typeof permissionMachine;
  /** Open permission cases by permission id, kept until the call ends. */
  readonly #cases = new Map<string, PermissionCase>();
  #count = 0;

  constructor(
    { permission, askPermission }: Pick<TroupeOptions, 'permission' | 'askPermission'>,
    { parts, projectRoot, book, problems, root }: SharedPorts,
  ) {
    this.#root = root;
    this.#clock = parts.clock;
    this.#report = parts.report;
    this.#hook = permission;
    this.#ask = askPermission;
    this.#rules = new PermissionRules(book);
    const onProblems = (list: readonly Problem[]): void => problems.set('permissions', list);
    this.store = parts.keepPermissions({ projectRoot, onProblems });
    this.#chart = this.#provide();
  }

  /** Returns whether no hook, policy or rule can affect calls to this server. */
  isOpen(desired: DesiredServer, view: ViewSettings | undefined): boolean {
    const isFree = this.#hook === undefined && !desired.policy.approval.perCall;
    return isFree && view?.permissions === undefined && this.#rules.isSilent(desired);
  }

  /** Returns whether the user trusts a server. In a folder that is not trusted, no server is. */
  isTrusted({ trust }: DesiredServer): boolean {
    return trust && this.#root().getSnapshot().context.trusted;
  }

  /** Returns whether one of the patterns means the tool, or may mean it. */
  mayMean(patterns: readonly PermissionPattern[], shown: ExposedTool): boolean {
    return this.#rules.mayMean(patterns, shown);
  }

  /**
   * Creates the permission that a call needs, not started yet. Returns undefined if rules and
   * policy allow the call.
   *
   * @throws TroupeError `PERMISSION_DENIED` by a rule.
   */
  permissionFor(asked: PermissionCase): Permission | undefined {
    const { desired, leftMs } = asked;
    const byRules = this.#rules.verdict(asked) ?? null;
    if (byRules === 'deny') throw denied(asked, 'rule', this.#rules.behind('deny', asked));
    // A server that the user trusts needs no question.
    const isAsked = desired.policy.approval.perCall && !this.isTrusted(desired);
    const byPolicy = isAsked ? 'ask' : 'allow';
    if (this.#hook === undefined && (byRules ?? byPolicy) === 'allow') return undefined;
    this.#count += 1;
    const id = `p${this.#count}`;
    this.#cases.set(id, asked);
    const hasUser = (asked.ask ?? this.#ask) !== undefined;
    const hasHook = this.#hook !== undefined;
    const input = { id, byRules, byPolicy, hasHook, hasUser, leftMs } as const;
    const actor = createActor(this.#chart, { clock: this.#clock, input });
    const onBroken = (error: unknown): void =>
      this.#report('The chart of a permission broke, so its call was denied.', error);
    const onEnd = (): void => void this.#cases.delete(id);
    return new Permission({ actor, asked, rules: this.#rules, onBroken, onEnd });
  }

  #provide(): typeof permissionMachine {
    return permissionMachine.provide({
      actors: {
        askHost: fromPromise<PermissionVerdict | null, AskedPermission>(({ input, signal }) =>
          this.#answerOf(input, signal, permissionVerdicts, (request) =>
            this.#hook?.(request, { signal }),
          ),
        ),
        recall: fromPromise<boolean, AskedPermission>(async ({ input }) =>
          isRemembered(await this.store.choices(), subjectOf(this.#caseOf(input))),
        ),
        askUser: fromPromise<PermissionAnswer | null, AskedPermission>(({ input, signal }) => {
          const ask = this.#caseOf(input).ask ?? this.#ask;
          return this.#answerOf(input, signal, permissionAnswers, (request) =>
            ask?.(request, { signal }),
          );
        }),
        keep: fromPromise<void, KeptAnswer>(async ({ input }) => {
          const { server, fingerprint, tool, digest } = subjectOf(this.#caseOf(input));
          const choice = { server, fingerprint, decidedAt: this.#clock.wallNow() };
          await this.store.add(input.isForServer ? choice : { ...choice, tool, digest });
        }),
      },
    });
  }

  #caseOf({ id }: AskedPermission): PermissionCase {
    const asked = this.#cases.get(id);
    if (asked === undefined) throw new Error(`no call is asked about by the id ${id}`);
    return asked;
  }

  /** Calls a host callback. Resolves with null if it returned none of the known answers. */
  async #answerOf<Answer extends string>(
    input: AskedPermission,
    signal: AbortSignal,
    known: readonly Answer[],
    say: (request: PermissionRequest) => unknown,
  ): Promise<Answer | null> {
    try {
      const asked = this.#caseOf(input);
      const said = await say(requestOf(asked, this.isTrusted(asked.desired)));
      return known.find((answer) => answer === said) ?? null;
    } catch (error) {
      const message = "The host's permission callback failed, so its call was denied.";
      if (!signal.aborted) this.#report(message, error);
      throw error;
    }
  }
}

type PermissionActor = ActorRefFrom<typeof permissionMachine>;

interface PermissionParts {
  readonly actor: PermissionActor;
  readonly asked: PermissionCase;
  readonly rules: PermissionRules;
  readonly onBroken: (error: unknown) => void;
  readonly onEnd: () => void;
}

/** A call's permission: the open request, then its result. */
export class Permission {
  readonly #parts: PermissionParts;
  /** Settles when the permission is decided or withdrawn. */
  readonly answered: Promise<void>;

  constructor(parts: PermissionParts) {
    this.#parts = parts;
    const { actor, onBroken } = parts;
    this.answered = new Promise((resolve) => {
      actor.subscribe({
        next: () => {
          if (!this.isAsking) resolve();
        },
        error: (error) => {
          onBroken(error);
          resolve();
        },
        complete: resolve,
      });
    });
  }

  get isAsking(): boolean {
    const snapshot = this.#parts.actor.getSnapshot();
    return snapshot.status === 'active' && snapshot.matches('asking');
  }

  get isAllowed(): boolean {
    const snapshot = this.#parts.actor.getSnapshot();
    return snapshot.status === 'active' && snapshot.matches('allowed');
  }

  start(): void {
    this.#parts.actor.start();
  }

  /** Withdraws the open request. */
  withdraw(): void {
    if (this.isAsking) this.#parts.actor.send({ type: 'permission.withdrawn' });
  }

  /** @throws TroupeError `PERMISSION_DENIED`. */
  refuseDenied(): void {
    const { desired, shown } = this.#parts.asked;
    this.#refuseDenied(desired, shown);
  }

  /**
   * Compares the permission with the current settings and tool; a difference may end it.
   *
   * @throws TroupeError `TOOL_CHANGED` or `PERMISSION_DENIED`.
   */
  review(desired: DesiredServer, shown: ExposedTool): void {
    const { actor, asked, rules } = this.#parts;
    const before = asked.desired;
    actor.send({
      type: 'permission.reviewed',
      isSameServer:
        before === desired || approvalFingerprint(before) === approvalFingerprint(desired),
      isSameTool: isSameTool(asked.shown, shown),
      byRules: rules.verdict({ desired, shown, view: asked.view }) ?? null,
    });
    this.#refuseDenied(desired, shown);
  }

  /** Ends the permission with its call. */
  end(): void {
    this.#parts.actor.stop();
    this.#parts.onEnd();
  }

  get #denial(): PermissionDenial | null {
    const { status, context } = this.#parts.actor.getSnapshot();
    return status === 'error' ? 'broken' : context.denial;
  }

  #refuseDenied(desired: DesiredServer, shown: ExposedTool): void {
    const denial = this.#denial;
    if (denial === null) return;
    const { rules, asked } = this.#parts;
    const subject = { desired, shown, view: asked.view };
    const verdict = denial === 'rule' ? 'deny' : 'ask';
    const isByRule = denial === 'rule' || denial === 'noUser';
    throw denied(subject, denial, isByRule ? rules.behind(verdict, subject) : undefined);
  }
}

function subjectOf({ desired, shown }: PermissionCase): ChoiceSubject {
  return {
    server: shown.server,
    fingerprint: approvalFingerprint(desired),
    tool: shown.tool,
    digest: digestOfShown(shown),
  };
}

/** Describes a call to the host. */
export function requestOf(
  { shown, args }: Pick<PermissionCase, 'shown' | 'args'>,
  isTrusted: boolean,
): PermissionRequest {
  const { server, tool, name, title, description, annotations } = shown;
  return {
    server,
    tool,
    name,
    ...defined({ title, description, annotations }),
    arguments: args,
    isTrusted,
  };
}
