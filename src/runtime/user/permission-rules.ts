/** The settings' permission rules, and the errors of calls that were not allowed. */

import type {
  PermissionDenial,
  PermissionPattern,
  PermissionVerdict,
} from '../../domain/permission.ts';
import type { DesiredServer, SourceRef, ViewSettings } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import {
  type PermittedTool,
  patternBehind,
  strictestVerdict,
  verdictByRules,
} from '../../policies/calls/permission-decision.ts';
import { type ServerInName, serverInName } from '../../policies/tools/name.ts';
import type { ToolNames } from '../catalog/tool-names.ts';
import type { DesiredBook } from '../desired/book.ts';
import { toolChangedWhileAsked } from '../errors/refused.ts';

/** What rules are about: a tool, and the view through which it is called. */
export interface RuleSubject {
  readonly desired: DesiredServer;
  readonly shown: ExposedTool;
  /** Its rules can only narrow. */
  readonly view?: SubjectView | undefined;
}

interface SubjectView {
  readonly settings: ViewSettings | undefined;
  readonly tools: Pick<ToolNames, 'shownName'>;
}

export class PermissionRules {
  readonly #book: DesiredBook;
  #inNames: {
    readonly of: readonly DesiredServer[];
    readonly named: readonly ServerInName[];
  } = { of: [], named: [] };

  constructor(book: DesiredBook) {
    this.#book = book;
  }

  /** Returns whether no rule can apply to this server's tools. */
  isSilent({ tools }: DesiredServer): boolean {
    return tools.permissions === undefined && this.#book.settings?.permissions === undefined;
  }

  verdict({ desired, shown, view }: RuleSubject): PermissionVerdict | undefined {
    const { own = {}, narrowing = {} } = this.#book.settings?.permissions ?? {};
    const servers = this.#serversInNames();
    const ofServer = desired.tools.permissions ?? {};
    return strictestVerdict(
      verdictByRules(own, shown, servers),
      verdictByRules(narrowing, shown, servers),
      verdictByRules(ofServer, inEntry(shown)),
      verdictByRules(view?.settings?.permissions?.rules ?? {}, shown, servers),
    );
  }

  /** Returns whether one of the patterns means the tool, or may mean it. */
  mayMean(patterns: readonly PermissionPattern[], shown: ExposedTool): boolean {
    return verdictByRules({ deny: patterns }, shown, this.#serversInNames()) === 'deny';
  }

  /** Returns the rule behind a decision; undefined if no rule led to it. */
  behind(
    verdict: 'ask' | 'deny',
    { desired: { source, tools }, shown, view }: RuleSubject,
  ): DecidingRule | undefined {
    const inOwnEntry = patternBehind(tools.permissions ?? {}, inEntry(shown), verdict);
    if (inOwnEntry !== undefined) {
      const key = `tools.permissions.${verdict} of ${source.key}`;
      return { pattern: inOwnEntry, source: { ...source, key } };
    }
    const places = this.#book.settings?.permissions?.places ?? [];
    for (const placed of [...places, view?.settings?.permissions]) {
      if (placed === undefined) continue;
      const { rules, source: place } = placed;
      const pattern = patternBehind(rules, shown, verdict, this.#serversInNames());
      if (pattern !== undefined) return { pattern, source: place };
    }
    return undefined;
  }

  /** Returns the prefix of each server's tool names; computed once per settings. */
  #serversInNames(): readonly ServerInName[] {
    const servers = this.#book.settings?.servers ?? [];
    if (this.#inNames.of !== servers) {
      const named = servers.map(({ name, policy }) => serverInName(name, policy.naming));
      this.#inNames = { of: servers, named };
    }
    return this.#inNames.named;
  }
}

/** Returns the tool as the rules in a server's entry see it: by the server's own name for it. */
function inEntry({ server, tool }: Pick<ExposedTool, 'server' | 'tool'>): PermittedTool {
  return { server, tool, name: tool };
}

/** The rule that decided about a call, and where it is written. */
export interface DecidingRule {
  readonly pattern: PermissionPattern;
  readonly source: SourceRef;
}

const reasons: Readonly<
  Record<
    Exclude<PermissionDenial, 'toolChanged'>,
    (tool: ExposedTool, rule: DecidingRule | undefined) => string
  >
> = {
  rule: ({ name }, rule) =>
    `${inWords(rule)} denies it. Change it there, or do without; the exposed name is ${name}`,
  host: () => 'the host denies it. Do without it, or change the host',
  user: () => 'the user said no. Ask why before you call it again',
  noUser: ({ server, tool }, rule) =>
    `${rule === undefined ? 'the user must allow it' : `${inWords(rule)} requires the user to allow it`}, and no user could be asked. Run it at a terminal with troupe call, or allow it in settings of your own: { "mcp": { "permissions": { "allow": [${JSON.stringify({ server, tool })}] } } }`,
  late: () => 'no answer came in time. Call again when the user can answer',
  broken: () => 'the host failed while it decided. See its warnings and fix its callback',
  nonsense: () => 'the answer is none of allow, allowTool, allowServer and deny. Fix askPermission',
  hookNonsense: () => 'the host answered none of allow, ask and deny. Fix its permission hook',
};

// A retry may succeed only if the user can still allow it.
const retryable: ReadonlySet<PermissionDenial> = new Set(['noUser', 'late']);

/** Names the tool as its caller knows it, and as settings do where they are to be changed. */
export function denied(
  { shown, view }: Pick<RuleSubject, 'shown' | 'view'>,
  why: PermissionDenial,
  rule?: DecidingRule,
): TroupeError {
  const { server } = shown;
  const tool = view?.tools.shownName(server, shown.tool) ?? shown.tool;
  if (why === 'toolChanged') return toolChangedWhileAsked(server, tool);
  return new TroupeError(
    'PERMISSION_DENIED',
    `Tool ${tool} of ${server} was not called: ${reasons[why](shown, rule)}.`,
    { server, tool, retryable: retryable.has(why) },
  );
}

function inWords(rule: DecidingRule | undefined): string {
  if (rule === undefined) return 'a rule of the settings';
  const { pattern, source } = rule;
  const { file, key, line } = source;
  const place = file === undefined ? '' : ` of ${file}${line === undefined ? '' : `:${line}`}`;
  return `the rule ${JSON.stringify(pattern)} in ${key}${place}`;
}
