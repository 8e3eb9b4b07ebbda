import type { Failure, Missing } from '../../domain/failure.ts';
import type { AdmissionRule } from '../../domain/host/explanation.ts';
import { isOnItsWay, type ServerState, type StateReason } from '../../domain/server-state.ts';
import type { DesiredServer, Limit, Settings, SourceRef } from '../../domain/settings.ts';
import type { Gates } from '../../policies/admission/admit.ts';

/** Returns the next command or step for a server; undefined if none is needed. */
export function nextStepFor(
  desired: DesiredServer,
  condition: { readonly state: ServerState; readonly reason?: StateReason },
  lists: RefusingLists = { hostAllowed: null },
  tried: Tried = { lastError: null, hasServed: false, tries: { sameExits: 0 } },
): string | undefined {
  const { name, source, invalid } = desired;
  const place = placeOf(invalid?.file ?? source.file, invalid?.line ?? source.line);
  switch (condition.state) {
    case 'disabled':
      return stepToEnable(desired, place);
    case 'blocked':
      return condition.reason === 'excluded' || condition.reason === 'notAllowed'
        ? stepAgainst(condition.reason, desired, lists)
        : stepWhenBlocked(name, place, condition.reason, lists);
    case 'authRequired':
      return stepToAuthorize(desired, place);
    case 'suspended':
    case 'failed':
      return stepAfter(desired, tried);
    case 'backingOff':
      return failsAlike(desired, tried)
        ? stepAfter(desired, tried)
        : stepForSuspect(desired, tried, place);
    case 'stopped':
      return `troupe start ${name}`;
    case 'dormant':
    case 'queued':
    case 'connecting':
    case 'loadingTools':
    case 'ready':
    case 'degraded':
    case 'stopping':
      return undefined;
  }
}

/** The login, or what helps an entry that rules one out. */
function stepToAuthorize({ name, noLogin }: DesiredServer, place: string): string {
  if (noLogin === 'headers')
    return `renew the token in its headers (${place}), then troupe restart ${name}`;
  const login = `troupe login ${name}`;
  return noLogin === 'off' ? `remove "oauth": false in ${place}, then ${login}` : login;
}

/** The command, or the edit where the command cannot edit what disables the server. */
function stepToEnable(desired: DesiredServer, place: string): string {
  const { name, source, disabledBy } = desired;
  const { file, key } = source;
  const isOurs = file === undefined || key === `mcpServers.${name}`;
  if (isEditable(desired) && (disabledBy === undefined || disabledBy.file === file))
    return `troupe enable ${name}`;
  if (disabledBy !== undefined)
    return `remove ${name} from mcp.disabledServers in ${placeOf(disabledBy.file, disabledBy.line)}`;
  // Other programs have one key or the other.
  const words = isOurs ? '"enabled": true' : '"enabled": true or "disabled": false';
  return `set ${words} for ${name} in ${place}`;
}

/** Returns whether our commands can edit the entry: it is in a file of ours that users may change. */
export function isEditable({ name, source }: DesiredServer): boolean {
  const { file, scope, key } = source;
  return file !== undefined && scope !== 'managed' && key === `mcpServers.${name}`;
}

/** What the server's starts led to. */
export interface Tried {
  readonly lastError: Failure | null;
  /** Whether it has been ready since its last fresh start. */
  readonly hasServed: boolean;
  /** How many starts failed the same way in a row. */
  readonly tries: { readonly sameExits: number };
}

// A second answer may come from a server that is still being deployed.
const usualSameExits = 3;

/** The edit of the entry that a failed start suggests; the troupe starts the server again after it. */
function stepForSuspect(
  { name, source, policy }: DesiredServer,
  { lastError, hasServed, tries }: Tried,
  place: string,
): string | undefined {
  if (hasServed) return undefined;
  if (lastError?.suspect === 'era') {
    // The files of other programs have no such key.
    const isOurs = source.file === undefined || source.key === `mcpServers.${name}`;
    return isOurs
      ? `set "era": "legacy" in ${place}`
      : `troupe import --from ${source.file}, then set "era": "legacy" for ${name} in the new entry`;
  }
  const isAlike = tries.sameExits >= (policy.startup.sameExits ?? usualSameExits);
  return lastError?.suspect === 'url' && isAlike ? `check url in ${place}` : undefined;
}

/** Returns whether another start would fail as well: something is missing, or its process exits. */
function failsAlike({ transport }: DesiredServer, { lastError, hasServed }: Tried): boolean {
  if (lastError?.missing !== undefined) return true;
  return transport === 'stdio' && !hasServed && lastError?.exitCode !== undefined;
}

/** The restart of a server, preceded by what has to be fixed for it to help. */
function stepAfter(desired: DesiredServer, tried: Tried): string {
  const { name, source, transport } = desired;
  const { lastError } = tried;
  const place = placeOf(source.file, source.line);
  const restart = `troupe restart ${name}`;
  const suspected = stepForSuspect(desired, tried, place);
  if (suspected !== undefined) return suspected;
  if (lastError?.missing !== undefined) return stepToProvide(lastError.missing, place, restart);
  const isUnavailable = transport === 'stdio' && lastError?.kind === 'unavailable';
  if (!isUnavailable && !failsAlike(desired, tried)) return restart;
  return `${remedyFor(lastError ?? {})} ${place}, then ${restart}`;
}

// What Node and Python write about a program that was made for another version of theirs.
const unsuited =
  /\b(?:Syntax|Reference)Error\b|\bERR_(?:REQUIRE_ESM|UNKNOWN_BUILTIN_MODULE|UNSUPPORTED_\w+)|no such built-in module|does not provide an export named|unsupported engine|\brequires? (?:node|python)\b/iu;

/** What to do about a program that cannot be started, or ends at every start; a place follows. */
function remedyFor({ exitCode, explanation = '' }: Partial<Failure> = {}): string {
  if (unsuited.test(explanation))
    return 'the program does not run with this version of its runtime: choose another version of either in';
  if (exitCode === 0 && (explanation === '' || /^usage\b/iu.test(explanation)))
    return 'the program ends instead of serving: check "command" and "args" in';
  return 'provide what is missing or fix';
}

function stepToProvide({ what, name }: Missing, place: string, restart: string): string {
  switch (what) {
    case 'variable':
      return `set ${name} and start troupe again`;
    case 'command':
      return `${/[\\/]/u.test(name) ? 'create' : 'install'} ${name} or fix "command" in ${place}, then ${restart}`;
    case 'input':
      return `${restart} and enter the input "${name}", or replace it in ${place}`;
    case 'password':
      return `provide the password "${name}" or fix ${place}, then ${restart}`;
    case 'reference':
      return `replace ${name} in ${place}, then ${restart}`;
  }
}

/** Returns what a starting server waits for while the host is asked for an input. */
export function stepForInput(state: ServerState, input: string | undefined): string | undefined {
  const isWaiting = isOnItsWay(state) || state === 'backingOff';
  if (!isWaiting || input === undefined) return undefined;
  return `enter the input "${input}" where the troupe runs`;
}

/** Number of a server's definitions that are withheld because they changed. */
export interface HeldCount {
  readonly tools: number;
  readonly offers: number;
}

/** Returns the step that releases definitions that are withheld because they changed. */
export function stepForHeld(
  { name }: DesiredServer,
  { tools, offers }: HeldCount,
): string | undefined {
  const count = tools + offers;
  if (count === 0) return undefined;
  const kind = offers === 0 ? 'tool' : 'definition';
  const what = count === 1 ? `a ${kind} that changed is` : `${count} ${kind}s that changed are`;
  return `troupe approve ${name}: ${what} withheld`;
}

function stepWhenBlocked(
  name: string,
  place: string,
  reason: StateReason | undefined,
  { budget }: RefusingLists,
): string {
  switch (reason) {
    case 'pendingApproval':
    case 'rejected':
      return `troupe approve ${name}`;
    case 'untrusted':
      return `start with --trust to trust the folder of ${place}`;
    case 'overBudget':
      return `stop or disable another server, or raise admission.maxServers in mcp.policy${ofFile(budget?.source)}`;
    default:
      return `fix ${place}`;
  }
}

function ofFile(source: SourceRef | undefined): string {
  return source?.file === undefined ? '' : ` of ${source.file}`;
}

export function placeOf(file: string | undefined, line: number | undefined): string {
  if (file === undefined) return "the host's settings";
  return line === undefined ? file : `${file}:${line}`;
}

/** Every list that can exclude a server. */
export interface RefusingLists
  extends Pick<Gates, 'launchBound' | 'hostAllowed'>,
    Pick<Settings, 'limits' | 'budget'> {}

export interface RuleAndPlace {
  readonly rule: AdmissionRule;
  /** Where the rule is written; absent if it is in no file. */
  readonly source?: SourceRef;
}

/** Returns the rule that excludes a server, and its source. */
export function refusingRule(
  verdict: 'excluded' | 'notAllowed',
  desired: DesiredServer,
  lists: RefusingLists,
): RuleAndPlace {
  const { bar } = desired;
  // Lists without a file come first: no settings edit could lift them.
  if (verdict === 'notAllowed' && lacks(lists.launchBound, desired)) return { rule: 'launchBound' };
  if (verdict === 'notAllowed' && lacks(lists.hostAllowed, desired)) return { rule: 'hostAllowed' };
  if (bar?.verdict === verdict) return withSource(bar.rule, bar.source);
  const list = verdict === 'excluded' ? 'excluded' : 'allowed';
  const limit = lists.limits?.find((each) => each.list === list && refuses(each, desired));
  return withSource(`mcp.${list}`, limit?.source);
}

/** Returns the step that would lift the rule. */
function stepAgainst(
  verdict: 'excluded' | 'notAllowed',
  desired: DesiredServer,
  lists: RefusingLists,
): string {
  const { name, bar } = desired;
  const { rule, source } = refusingRule(verdict, desired, lists);
  if (rule === 'launchBound')
    return `start again with ${name} in the list given at launch (--allow, or the option "allow" of the host)`;
  if (rule === 'hostAllowed') return `add ${name} to the host's list (allow.changed)`;
  if (bar?.verdict === verdict) return bar.next;
  const [verb, to] = verdict === 'excluded' ? ['remove', 'from'] : ['add', 'to'];
  const change = `${verb} ${name} ${to} ${rule}`;
  if (source === undefined) return `${change} where the list is set`;
  if (source.file === undefined) return `${change} of the host's settings`;
  const place = placeOf(source.file, source.line);
  if (source.scope === 'managed') return `ask the administrator of ${place} to ${change}`;
  return `${change} in ${place}`;
}

function withSource(rule: AdmissionRule, source: SourceRef | undefined): RuleAndPlace {
  return source === undefined ? { rule } : { rule, source };
}

function lacks(names: readonly string[] | null | undefined, { name }: DesiredServer): boolean {
  return names !== null && names !== undefined && !setOf(names).has(name);
}

function refuses({ list, names }: Limit, { name }: DesiredServer): boolean {
  return setOf(names).has(name) === (list === 'excluded');
}

// Ten thousand servers may be looked up in one list of ten thousand names.
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(names: readonly string[]): ReadonlySet<string> {
  const known = sets.get(names) ?? new Set(names);
  sets.set(names, known);
  return known;
}
