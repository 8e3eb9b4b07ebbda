/**
 * Asks before a call goes out: the rules of settings, the host, and a person where one of them
 * says so. By default nobody is asked, and that costs nothing.
 *
 * A question never hangs a call: whoever does not answer in time, throws, or answers something
 * else has denied it. What a person allowed for longer holds for the tool or the server as it
 * was then, and for nothing that came in its place.
 */

import type { PermissionStore } from '../../../actors/stores/permissions.ts';
import type { Clock } from '../../domain/clock.ts';
import {
  type AskPermission,
  type PermissionAnswer,
  type PermissionHook,
  type PermissionRequest,
  type PermissionVerdict,
  permissionAnswers,
  permissionVerdicts,
} from '../../domain/permission.ts';
import type { DesiredServer, Problem, Settings } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { digestOfShown, isSameTool } from '../../policies/approvals/tool-pins.ts';
import {
  type ChoiceSubject,
  isRemembered,
  type PermittedTool,
  patternBehind,
  strictestVerdict,
  verdictByRules,
} from '../../policies/calls/permission-decision.ts';
import { approvalFingerprint } from '../../policies/fingerprint.ts';
import { type ServerInName, serverInName } from '../../policies/tools/name.ts';
import { toolChangedWhileAsked } from '../errors/call-refusal.ts';
import { type DecidingRule, type Denial, denied } from '../errors/permission-refusal.ts';
import type { TroupeParts } from '../root-actor.ts';
import type { TroupeOptions } from '../troupe.ts';

export interface PermissionDeskPorts {
  readonly projectRoot: string;
  /** As they are now. */
  readonly settings: () => Pick<Settings, 'permissions' | 'servers'> | null;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

/** One call that wants to go out. */
export interface PermissionCase {
  readonly desired: DesiredServer;
  readonly shown: ExposedTool;
  readonly args: Readonly<Record<string, unknown>>;
  /** In place of the host's own, for this call. */
  readonly ask: AskPermission | undefined;
  /** Ends the question: the call is over, or its server is. */
  readonly signal: AbortSignal;
}

/** What a call was allowed, and what for. */
export interface Permit extends Pick<PermissionCase, 'desired' | 'shown'> {
  /** A person said yes, to this call or before. */
  readonly isByPerson: boolean;
}

// A rule is looked up in milliseconds; ten seconds leave room for a service that is asked.
const hookMs = 10_000;
// As long as a person has for an input: long enough to read, short enough not to be forgotten.
const askMs = 120_000;

export class PermissionDesk {
  readonly store: PermissionStore;
  readonly #clock: Clock;
  readonly #report: TroupeParts['report'];
  readonly #hook: PermissionHook | undefined;
  readonly #ask: AskPermission | undefined;
  readonly #settings: PermissionDeskPorts['settings'];
  #inNames: {
    readonly of: readonly DesiredServer[];
    readonly named: readonly ServerInName[];
  } = { of: [], named: [] };

  constructor(
    { permission, askPermission }: Pick<TroupeOptions, 'permission' | 'askPermission'>,
    { clock, report, keepPermissions }: TroupeParts,
    { projectRoot, settings, onProblems }: PermissionDeskPorts,
  ) {
    this.#clock = clock;
    this.#report = report;
    this.#hook = permission;
    this.#ask = askPermission;
    this.#settings = settings;
    this.store = keepPermissions({ projectRoot, onProblems });
  }

  /** Whether calls to this server go out without a question. */
  isOpen({ policy, tools }: DesiredServer): boolean {
    return (
      this.#hook === undefined &&
      !policy.approval.perCall &&
      tools.permissions === undefined &&
      this.#settings()?.permissions === undefined
    );
  }

  /**
   * Means nothing when the signal ended the question.
   * @throws TroupeError `PERMISSION_DENIED`.
   */
  async decide(asked: PermissionCase): Promise<Permit> {
    const request = requestOf(asked);
    const byRules = this.refuseByRule(asked.desired, asked.shown);
    const byHost = await this.#askHost(request, asked);
    const { desired, shown } = asked;
    if (asked.signal.aborted) return { desired, shown, isByPerson: false };
    if (typeof byHost === 'object') throw denied(shown, byHost.denial);
    // Without a word of rules or host, the policy has the say; whom the user trusts needs no question.
    const { policy, trust } = desired;
    const byPolicy = policy.approval.perCall && !trust ? 'ask' : 'allow';
    const verdict = strictestVerdict(byRules, byHost) ?? byPolicy;
    if (verdict === 'deny') throw denied(shown, 'host');
    const isByPerson = verdict === 'ask';
    if (isByPerson) await this.#askPerson(request, asked, byRules);
    return { desired, shown, isByPerson };
  }

  /**
   * Whether a call may still go out: with the settings of its server for which it was allowed, and
   * without a person where no rule that came meanwhile wants one.
   *
   * @throws TroupeError `TOOL_CHANGED` or `PERMISSION_DENIED`.
   */
  stillHolds(
    permit: Permit | null,
    desired: DesiredServer,
    shown: ExposedTool | undefined,
  ): boolean {
    if (permit === null || shown === undefined) return true;
    const { desired: before } = permit;
    const isSameServer =
      before === desired || approvalFingerprint(before) === approvalFingerprint(desired);
    if (!isSameServer) return false;
    if (!isSameTool(permit.shown, shown)) throw toolChangedWhileAsked(shown);
    return this.refuseByRule(desired, shown) !== 'ask' || permit.isByPerson;
  }

  /**
   * What the rules say of a tool as they are now.
   * @throws TroupeError `PERMISSION_DENIED`.
   */
  refuseByRule(desired: DesiredServer, shown: ExposedTool): 'allow' | 'ask' | undefined {
    const { server, tool } = shown;
    const settings = this.#settings();
    const { own = {}, narrowing = {} } = settings?.permissions ?? {};
    const servers = this.#serversInNames();
    const ofServer = desired.tools.permissions ?? {};
    const verdict = strictestVerdict(
      verdictByRules(own, shown, servers),
      verdictByRules(narrowing, shown, servers),
      verdictByRules(ofServer, inEntry({ server, tool })),
    );
    if (verdict === 'deny') throw denied(shown, 'rule', this.#ruleBehind('deny', desired, shown));
    return verdict;
  }

  /** The rule that keeps a call back; undefined when it was no rule. */
  #ruleBehind(
    verdict: 'ask' | 'deny',
    { source, tools }: DesiredServer,
    shown: ExposedTool,
  ): DecidingRule | undefined {
    const inOwnEntry = patternBehind(tools.permissions ?? {}, inEntry(shown), verdict);
    if (inOwnEntry !== undefined) {
      const key = `tools.permissions.${verdict} of ${source.key}`;
      return { pattern: inOwnEntry, source: { ...source, key } };
    }
    for (const { rules, source: place } of this.#settings()?.permissions?.places ?? []) {
      const pattern = patternBehind(rules, shown, verdict, this.#serversInNames());
      if (pattern !== undefined) return { pattern, source: place };
    }
    return undefined;
  }

  /** How the names of each server's tools begin; made once for the settings as they are. */
  #serversInNames(): readonly ServerInName[] {
    const servers = this.#settings()?.servers ?? [];
    if (this.#inNames.of !== servers) {
      const named = servers.map(({ name, policy }) => serverInName(name, policy.naming));
      this.#inNames = { of: servers, named };
    }
    return this.#inNames.named;
  }

  async #askHost(
    request: PermissionRequest,
    { signal }: PermissionCase,
  ): Promise<PermissionVerdict | { readonly denial: Denial } | undefined> {
    const hook = this.#hook;
    if (hook === undefined) return undefined;
    const answer = await this.#inTime(hookMs, signal, (own) => hook(request, { signal: own }));
    if ('denial' in answer) return answer;
    const verdict = permissionVerdicts.find((known) => known === answer.said);
    return verdict ?? { denial: 'hookNonsense' };
  }

  async #askPerson(
    request: PermissionRequest,
    asked: PermissionCase,
    byRules: 'allow' | 'ask' | undefined,
  ): Promise<void> {
    const { desired, shown, signal } = asked;
    const subject: ChoiceSubject = {
      server: shown.server,
      fingerprint: approvalFingerprint(desired),
      tool: shown.tool,
      digest: digestOfShown(shown),
    };
    if (isRemembered(await this.store.choices(), subject) || signal.aborted) return;
    const ask = asked.ask ?? this.#ask;
    if (ask === undefined) {
      const rule = byRules === 'ask' ? this.#ruleBehind('ask', desired, shown) : undefined;
      throw denied(shown, 'nobody', rule);
    }
    const answer = await this.#inTime(askMs, signal, (own) => ask(request, { signal: own }));
    if (signal.aborted) return;
    if ('denial' in answer) throw denied(shown, answer.denial);
    const said: PermissionAnswer | undefined = permissionAnswers.find(
      (known) => known === answer.said,
    );
    if (said === undefined) throw denied(shown, 'nonsense');
    if (said === 'deny') throw denied(shown, 'person');
    if (said === 'allow') return;
    const { server, fingerprint, tool, digest } = subject;
    const choice = { server, fingerprint, decidedAt: this.#clock.wallNow() };
    await this.store.add(said === 'allowTool' ? { ...choice, tool, digest } : choice);
  }

  /** What a callback of the host said, or why that denies the call. */
  async #inTime(
    ms: number,
    outer: AbortSignal,
    say: (signal: AbortSignal) => unknown,
  ): Promise<{ readonly said: unknown } | { readonly denial: Denial }> {
    const clock = this.#clock;
    const controller = new AbortController();
    const end = (): void => controller.abort(outer.reason);
    let timer: unknown;
    const over = new Promise<{ readonly denial: Denial }>((resolve) => {
      controller.signal.addEventListener('abort', () => resolve({ denial: 'late' }));
      timer = clock.setTimeout(() => controller.abort(new Error('too late')), ms);
      outer.addEventListener('abort', end, { once: true });
    });
    try {
      const said = (async () => ({ said: await say(controller.signal) }))();
      // Whoever lost the race may still fail; nobody waits for it any more.
      said.catch(() => undefined);
      return await Promise.race([said, over]);
    } catch (error) {
      this.#report('The host could not say whether a call may go out, so it did not.', error);
      return { denial: 'broken' };
    } finally {
      clock.clearTimeout(timer);
      outer.removeEventListener('abort', end);
    }
  }
}

function requestOf({ desired, shown, args }: PermissionCase): PermissionRequest {
  const { server, tool, name, title, description, annotations } = shown;
  return {
    server,
    tool,
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: args,
    ...(annotations === undefined ? {} : { annotations }),
    isTrusted: desired.trust,
  };
}

/** In the entry of a server its own names are meant. */
function inEntry({ server, tool }: Pick<ExposedTool, 'server' | 'tool'>): PermittedTool {
  return { server, tool, name: tool };
}
