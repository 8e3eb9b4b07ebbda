/**
 * Joins the documents of all sources into one settings value.
 *
 * The same documents give the same settings, whatever the earlier ones were. A
 * folder's settings may only narrow: its `excluded` adds, its `allowed` intersects,
 * and its numbers do not count.
 */

import { z } from 'zod';
import { defined } from '../domain/data/defined.ts';
import { printableLine } from '../domain/data/printable.ts';
import type { HostRule, RuleAnswer } from '../domain/host/rule.ts';
import type { PolicyChoice, ServerPolicy } from '../domain/policy.ts';
import type { ServerSpec } from '../domain/server-spec.ts';
import type {
  Bar,
  CommandHook,
  CommandHooks,
  DesiredServer,
  LedgerSettings,
  Problem,
  ServerBudget,
  Settings,
  SourceRef,
} from '../domain/settings.ts';
import { defaultPolicy } from '../policies/presets/default-policy.ts';
import { type ParsedServer, withPolicy } from './entry/server-entry.ts';
import { layersOf, winnersOf } from './layers.ts';
import { type Limits, limitsOf, permissionsOf, placeOfKey } from './limits.ts';
import {
  allTurns,
  type ParsedDocument,
  type ParsedSettings,
  refuseCommands,
} from './parse-settings.ts';
import { chosenPolicy } from './policy-choice.ts';
import { distinctServers } from './same-servers.ts';
import { type StartupGate, startupGateOf } from './startup-gate.ts';
import { viewsIn } from './views.ts';

export interface MergedSettings {
  readonly settings: Settings;
  /** Specs by generation; kept out of the settings because they may hold secrets. */
  readonly specs: Specs;
  readonly startupGate: StartupGate;
}

export type MergedSources = MergedSettings & { readonly specs: ReadonlyMap<string, ServerSpec> };

export type Specs = Pick<ReadonlyMap<string, ServerSpec>, 'get' | 'size' | 'values'>;

// As many as there may be servers, so that no server ever waits.
const unlimitedSlots = 10_000;

/**
 * Merges sources in the order of their layers; a source without a document only
 * brings its problems. The overlay, when there is one, comes last. Pauses between steps that read all
 * servers.
 *
 * @param policy - the host's choice, which all policies start from
 * @param rules - the host's rules about servers
 */
export function* mergingSettings(
  sources: readonly ParsedSettings[],
  overlay?: ParsedSettings,
  policy: PolicyChoice = { overrides: {} },
  rules: readonly HostRule[] = [],
): Generator<void, MergedSources> {
  const all = overlay === undefined ? sources : [...sources, overlay];
  const written = layersOf(all.flatMap(({ document }) => document ?? []));
  const mayRunCommands = lastOf(written.own, ({ mcp }) => mcp.commandValues) ?? false;
  const layers = mayRunCommands ? written : layersOf(written.documents.map(refuseCommands));
  const { documents, own, managed } = layers;
  const base = own.reduce(
    (before, { mcp }) => (mcp.policy === undefined ? before : chosenPolicy(before, mcp.policy)),
    chosenPolicy(defaultPolicy, policy),
  );
  const { connect, catalog } = base;
  const startupGate = startupGateOf(base, own);
  const winners = winnersOf(documents);
  yield;
  const switchedByOwn = switchesOf(own, own);
  const treated = winners.servers.map((server) => {
    const desired = treatedUnder(base, server);
    const switched = switchedByOwn(desired);
    return switched === server.desired ? server : { ...server, desired: switched };
  });
  const ruled = applyHostRules(treated, rules);
  yield;
  // Only the user's own lists count here: a server that a folder disables must not make way for another.
  const ownLimits = limitsOf({ ...layers, narrowing: [] }, ruled);
  const { servers: distinct, problems } = distinctServers(ruled, mayRunUnder(ownLimits));
  yield;
  const { allowed, excluded, limits, bars } = limitsOf(layers, distinct);
  const switchedOff = switchesOf(layers.narrowing, []);
  const servers = distinct.map((server) => {
    const { desired } = server;
    const bar = desired.bar ?? bars.get(desired.name);
    const barred = bar === undefined ? desired : { ...desired, bar };
    const limited = switchedOff(barred);
    return limited === desired ? server : { ...server, desired: limited };
  });
  const budget = budgetOf(base, own, policy);
  const views = viewsIn(
    own.map((it) => ({ views: it.mcp.views, source: placeOfKey(it, 'views') })),
    // Beside managed settings only those have views; they keep a document even if they cannot be read.
    all.some((it) => it.isUnread === true && (managed === undefined || it.document !== undefined)),
  );
  yield;
  return {
    specs: specsOf(servers),
    startupGate,
    settings: {
      servers: servers.map(({ desired }) => desired),
      ...(allowed === undefined ? {} : { allowed }),
      excluded,
      ...(limits.length === 0 ? {} : { limits }),
      slots: {
        local: lastOf(own, ({ mcp }) => mcp.slots?.local) ?? connect.localSlots ?? unlimitedSlots,
        remote:
          lastOf(own, ({ mcp }) => mcp.slots?.remote) ?? connect.remoteSlots ?? unlimitedSlots,
      },
      ...(budget === undefined ? {} : { budget }),
      ...permissionsOf(layers),
      ...callRulesOf(own),
      ...views,
      ...(lastOf(own, ({ mcp }) => mcp.background) === false ? { background: false } : {}),
      startupGateMs: startupGate.ms,
      ...(catalog.maxEntries === null ? {} : { maxCatalogs: catalog.maxEntries }),
      problems: [
        ...all.flatMap((source) => source.problems),
        ...winners.problems,
        ...problems,
        ...idleBudget(base, own),
      ],
    },
  };
}

/** Merges sources without a pause. */
export function mergeSettings(...given: Parameters<typeof mergingSettings>): MergedSources {
  return allTurns(mergingSettings(...given));
}

function specsOf(servers: readonly ParsedServer[]): ReadonlyMap<string, ServerSpec> {
  const specs = new Map<string, ServerSpec>();
  for (const { desired, spec } of servers)
    if (spec !== undefined) specs.set(desired.generation, spec);
  return specs;
}

// A server that the last reading had keeps its object, so that nothing is recomputed from it.
const treatedServers = new WeakMap<
  ParsedServer,
  { readonly base: ServerPolicy; readonly desired: DesiredServer }
>();

/** Applies the troupe's policy to a server. */
function treatedUnder(base: ServerPolicy, server: ParsedServer): DesiredServer {
  const known = treatedServers.get(server);
  if (known?.base === base) return known.desired;
  const { source, policy } = server.desired;
  // A policy may gate more servers than those of folders, never fewer.
  const gated = server.desired.gated || base.approval.gatedScopes.includes(source.scope);
  const isAsParsed = gated === server.desired.gated && chosenPolicy(base, server.policy) === policy;
  if (isAsParsed) return server.desired;
  const desired = withPolicy(base, server.policy, { ...server.desired, gated });
  treatedServers.set(server, { base, desired });
  return desired;
}

/**
 * Applies `disabledServers` and `enabledServers`. A server in both is off; a server in
 * neither is unchanged.
 */
function switchesOf(
  mayDisable: readonly ParsedDocument[],
  mayEnable: readonly ParsedDocument[],
): (desired: DesiredServer) => DesiredServer {
  const offBy = new Map<string, ParsedDocument>();
  for (const document of mayDisable) {
    // The first list is the one that the status names.
    for (const name of document.mcp.disabledServers ?? [])
      if (!offBy.has(name)) offBy.set(name, document);
  }
  const on = new Set(mayEnable.flatMap(({ mcp }) => mcp.enabledServers ?? []));
  return (desired) => {
    const { name, disabledBy } = desired;
    const off = offBy.get(name);
    if (off !== undefined && disabledBy === undefined)
      return { ...desired, enabled: false, disabledBy: placeOfKey(off, 'disabledServers') };
    return on.has(name) ? { ...desired, enabled: true } : desired;
  };
}

/** Returns which servers may run under switches, rules and lists. */
function mayRunUnder({ allowed, excluded, bars }: Limits): (desired: DesiredServer) => boolean {
  const leftOut = new Set(excluded);
  const letIn = allowed === undefined ? undefined : new Set(allowed);
  return ({ name, enabled, bar }) =>
    enabled &&
    bar === undefined &&
    !bars.has(name) &&
    !leftOut.has(name) &&
    letIn?.has(name) !== false;
}

/** A number alone means `warn`. */
function budgetOf(
  { admission: { maxServers: max, budget } }: ServerPolicy,
  own: readonly ParsedDocument[],
  policy: PolicyChoice,
): ServerBudget | undefined {
  if (max === null) return undefined;
  const writer = own.findLast(
    ({ mcp }) => mcp.policy?.overrides.admission?.maxServers !== undefined,
  );
  const place = writer === undefined ? {} : { source: placeOfBudget(writer) };
  if (budget !== 'off') return { max, mode: budget, ...place };
  const choices = [policy, ...own.map(({ mcp }) => mcp.policy)];
  const isOff = choices.some((choice) => choice?.overrides.admission?.budget === 'off');
  return isOff ? undefined : { max, mode: 'warn', ...place };
}

function placeOfBudget({ file, scope }: ParsedDocument): SourceRef {
  const key = 'mcp.policy.admission.maxServers';
  return scope === 'api' ? { key, scope } : { file, key, scope };
}

/** Reports a budget without a number, which has no effect. */
function idleBudget(
  { admission }: ServerPolicy,
  own: readonly ParsedDocument[],
): readonly Problem[] {
  const asking = own.findLast(({ mcp }) => mcp.policy?.overrides.admission?.budget !== undefined);
  if (asking === undefined || admission.maxServers !== null || admission.budget === 'off')
    return [];
  const message = `"${admission.budget}" has no effect without a number; set admission.maxServers`;
  return [{ file: asking.file, key: 'mcp.policy.admission.budget', message, severity: 'warning' }];
}

// As for journals: some ten thousand calls a file.
const defaultLedger: LedgerSettings = { arguments: 'digest', maxBytes: 16_777_216, files: 4 };

/** What counts for calls to all servers. */
function callRulesOf(
  own: readonly ParsedDocument[],
): Pick<Settings, 'callLimits' | 'hooks' | 'ledger'> {
  const callLimits = lastOf(own, ({ mcp }) => mcp.limits);
  const written = lastOf(own, ({ mcp }) => mcp.ledger) ?? false;
  const given = written === true ? {} : written;
  const ledger = given === false ? undefined : { ...defaultLedger, ...defined(given) };
  const hooks = { before: hooksOf(own, 'before'), after: hooksOf(own, 'after') };
  const hasHooks = hooks.before.length + hooks.after.length > 0;
  return defined({ callLimits, hooks: hasHooks ? hooks : undefined, ledger });
}

/** A later file adds hooks to those of an earlier one, and cannot remove any. */
function hooksOf(own: readonly ParsedDocument[], when: keyof CommandHooks): readonly CommandHook[] {
  return own.flatMap((document) => {
    const source = placeOfKey(document, 'hooks');
    return (document.mcp.hooks?.[when] ?? []).map((hook) => ({ ...hook, source }));
  });
}

function lastOf<Value>(
  documents: readonly ParsedDocument[],
  pick: (document: ParsedDocument) => Value | undefined,
): Value | undefined {
  return documents.map(pick).findLast((value) => value !== undefined);
}

// The maximum length of a line in the status.
const longestReason = 200;

const names = z.array(z.string()).optional();
const answerSchema = z.union([
  z.undefined(),
  z.strictObject({ leaveOut: z.string().min(1) }),
  z.strictObject({
    change: z.strictObject({
      trust: z.boolean().optional(),
      tools: z.strictObject({ include: names, exclude: names }).optional(),
    }),
  }),
]);

/** Applies the rules in order, each to the previous rule's result. */
function applyHostRules(
  servers: readonly ParsedServer[],
  rules: readonly HostRule[],
): readonly ParsedServer[] {
  return rules.length === 0 ? servers : servers.map((server) => rules.reduce(applyRule, server));
}

function applyRule(server: ParsedServer, rule: HostRule): ParsedServer {
  const { spec, desired } = server;
  if (spec === undefined || desired.bar !== undefined) return server;
  const { name, source, enabled, trust, tools } = desired;
  let answer: RuleAnswer;
  try {
    // Validated, because a promise or a misspelt key would let the server run.
    answer = answerSchema.parse(rule({ name, source, spec, enabled, trust, tools })) as RuleAnswer;
  } catch {
    return barredByHost(
      server,
      "fix the host's server rule, which threw or returned an invalid result",
    );
  }
  if (answer === undefined) return server;
  if ('leaveOut' in answer) {
    const why = printableLine(answer.leaveOut, longestReason);
    return barredByHost(server, `use what the host has instead; it leaves this server out: ${why}`);
  }
  const { change } = answer;
  const { include = tools.include, exclude = tools.exclude } = change.tools ?? {};
  return {
    ...server,
    desired: { ...desired, trust: change.trust ?? trust, tools: { ...tools, include, exclude } },
  };
}

function barredByHost(server: ParsedServer, next: string): ParsedServer {
  const bar: Bar = { verdict: 'excluded', rule: 'hostRule', next };
  return { ...server, desired: { ...server.desired, bar } };
}
