/**
 * Creates and connects all parts of a troupe. This is the only place that joins charts and actors. I/O
 * is passed in, so tests run the same services with scripted sessions and virtual time.
 */

import {
  createGenerationSets,
  type SessionOwner,
  type SessionTarget,
} from '../../../actors/session/ports.ts';
import { createSettingsReader } from '../../../actors/settings/last-good-settings.ts';
import type { TroupeInput } from '../../../machines/troupe/troupe.ts';
import { defined } from '../../domain/data/defined.ts';
import type { PluginSource, TroupeEvents } from '../../domain/host/event.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { PolicyChoice } from '../../domain/policy.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { mergeSettings } from '../../settings/merge-settings.ts';
import { CallDispatcher } from '../calls/dispatcher.ts';
import { Catalogs } from '../catalog/catalogs.ts';
import { Clients } from '../clients/clients.ts';
import { DesiredBook } from '../desired/book.ts';
import { unknownServer } from '../errors/refused.ts';
import { Listeners } from '../listeners.ts';
import { lazyLogins } from '../logins/logins.ts';
import { AddedServers } from '../options/added-servers.ts';
import { checkOptions } from '../options/check.ts';
import { embeddingReader } from '../options/embedded-servers.ts';
import {
  broughtBy,
  hostPolicy,
  settingsPortsOf,
  valueSourceOf,
} from '../options/settings-ports.ts';
import { createRoot, type TroupeParts } from '../root-actor.ts';
import { ServerRecords } from '../server-records.ts';
import { SessionRegistry } from '../session-registry.ts';
import type { SharedPorts } from '../shared-ports.ts';
import { type RootRef, StatusBoard } from '../status/board.ts';
import { stepForInput } from '../status/next-step.ts';
import { BudgetWatch, ProblemList } from '../status/problems.ts';
import type { Troupe, TroupeOptions } from '../troupe.ts';
import { Approvals } from '../user/approvals.ts';
import { Questions } from '../user/open-questions.ts';
import { Permissions } from '../user/permissions.ts';
import { TroupeProgress } from '../waits/troupe-progress.ts';

export type Services = ReturnType<typeof createServices>;

/** Creates the root without starting it. Services reach those created later through functions. */
export function createServices(options: TroupeOptions, parts: TroupeParts, create: Create) {
  const { clock, report } = parts;
  const startedAt = clock.now();
  checkOptions(options);
  const listeners = new Listeners((name, error) => report(`A listener of "${name}" threw.`, error));
  const problems = new ProblemList((list) =>
    listeners.emit('settings.invalid', { problems: list }),
  );
  const book = new DesiredBook();
  const budget = new BudgetWatch((list) => problems.set('budget', list));
  const records = new ServerRecords(parts, listeners);
  const policy = hostPolicy(options.policy);
  const processes =
    parts.client?.processes ?? parts.keepProcesses?.((list) => problems.set('processes', list));
  const settingsPorts = { ...settingsPortsOf(options, parts, () => processes), policy };
  const { projectRoot, docker } = settingsPorts;
  const late = { book, root: () => root, board: () => board };
  const progress = new TroupeProgress(clock, startedAt, late);
  const shared: SharedPorts = { parts, projectRoot, problems, listeners, records, ...late };
  const approvals: Approvals = new Approvals({ ...shared, catalogs: () => catalogs });
  const plainReader = embeddingReader(createSettingsReader(settingsPorts), options.servers ?? {});
  const reader = approvals.lookedUpBy(plainReader);
  const values = valuesOf(options, { parts, processes, ...late });
  const questions = new Questions(options, shared);
  const clients = clientsOf(options, create, { ...shared, processes, questions });
  const sessions = new SessionRegistry();
  const catalogs: Catalogs = new Catalogs({ ...shared, sessions, approvals });
  const found = createGenerationSets();
  const logins = lazyLogins(shared);
  const root: RootRef = createRoot({
    parts,
    observe: records.observe,
    input: inputOf(options, parts, policy, startedAt),
    settings: { ...settingsPorts, reader: catalogs.lookedUpBy(reader) },
    book,
    session: {
      registry: sessions,
      ...catalogs.session,
      specOf: (owner) => targetOf(owner, book, approvals),
      onExecutableMoved: () => root.send({ type: 'settings.reload' }),
      lease: clients.leases.lease,
      processes,
      values,
      ...found,
      embedded: new Map(Object.entries(options.servers ?? {})),
      questions: questions.session,
      authenticatorFor: logins.authenticatorFor,
      log: records.noteLine,
    },
  });
  const board: StatusBoard = new StatusBoard({
    root,
    clock,
    book,
    offerOf: (desired, generation) => catalogs.tools.offerOf(desired, generation),
    isOverSse: (generation) => found.overSse.has(generation),
    stepFor: ({ name, state }) =>
      questions.stepFor(name) ?? stepForInput(state, values.inputAskedFor(name)),
    onSnapshot: records.noteSnapshot,
    onToolsMayDiffer: () => catalogs.invalidate(),
    onChange: (status) => {
      const before = records.noteStatus(status, board.view(status.name)?.session ?? 0);
      listeners.emit('status.changed', { status });
      noteDemand({ listeners, book, logins }, before, status);
      budget.note(status);
      progress.checkReady();
    },
  });
  const absentError = (server: string): TroupeError =>
    unknownServer(server, board.statuses(), root.getSnapshot().context.removed, problems.all());
  const permissions = new Permissions(options, shared);
  const callPorts = { ...parts, ...shared, ...logins.forCalls, ...clients.forCalls };
  const ofCalls = { ...callPorts, board, sessions, approvals, permissions, processes, records };
  const calls = new CallDispatcher(options, { ...ofCalls, tools: catalogs.tools, absentError });
  const setPlugins = (plugins: readonly PluginSource[]): void =>
    reader.setPlugins(broughtBy(plugins, options, projectRoot));
  const more = { added: new AddedServers(reader), setPlugins, records, clients };
  const kept = { ...shared, approvals, questions, catalogs, values, processes, logins };
  return { ...kept, ...more, root, board, calls, reader, docker, progress, budget, absentError };
}

interface ClientsSetup extends Pick<SharedPorts, 'parts' | 'projectRoot' | 'root'> {
  readonly processes: ReturnType<NonNullable<TroupeParts['keepProcesses']>>;
  readonly questions: Questions;
}

type Create = (options: TroupeOptions, parts: TroupeParts) => Troupe;

function clientsOf(
  options: TroupeOptions,
  create: Create,
  { parts, processes, projectRoot, questions, root }: ClientsSetup,
): Clients {
  const { clock, client, forClient } = parts;
  return new Clients({
    ...{ options, clock, client, processes, projectRoot, asked: questions.asked },
    startAgain: (server) => root().send({ type: 'server.restart', server }),
    roots: () => questions.roots.folders,
    create: (its, opened) => create(its, { ...(forClient?.(its) ?? parts), client: opened }),
  });
}

function valuesOf(
  options: TroupeOptions,
  { parts, processes, book, root, board }: ValuePorts,
): ReturnType<typeof valueSourceOf> {
  return valueSourceOf(options, parts, {
    processes,
    inputEvents: {
      onGiven: (servers) => root().send({ type: 'inputs.answered', servers }),
      onAsking: (server) => board().refresh(server),
    },
    // A server that has just been removed is of no scope that a host trusts.
    scopeOf: (server) => book.of(server)?.source.scope ?? 'project',
  });
}

interface ValuePorts extends Pick<SharedPorts, 'parts' | 'book' | 'root' | 'board'> {
  readonly processes: ReturnType<NonNullable<TroupeParts['keepProcesses']>>;
}

function inputOf(
  { trusted = true, allow }: TroupeOptions,
  { seed, coreCount }: TroupeParts,
  policy: PolicyChoice,
  startedAt: number,
): TroupeInput {
  // The host's policy applies until the files are read.
  const { slots, startupGateMs } = mergeSettings([], undefined, policy).settings;
  return { seed, startedAt, trusted, launchBound: allow ?? null, slots, coreCount, startupGateMs };
}

/**
 * Returns the target that a server's session opens; undefined if the server was removed from the
 * settings.
 */
function targetOf(
  { server, generation }: SessionOwner,
  book: DesiredBook,
  approvals: Approvals,
): SessionTarget | undefined {
  const spec = book.specOf(generation);
  const desired = book.of(server);
  if (spec === undefined || desired === undefined) return undefined;
  return { spec, policy: desired.policy, ...approvals.boundTo(desired) };
}

/** Reports a server that has just begun to require a login. */
function noteDemand(
  { listeners, book, logins }: DemandPorts,
  before: ServerStatus | undefined,
  status: ServerStatus,
): void {
  if (!isLogInNew(before, status)) return;
  const { name, generation } = status;
  const need = loginNeedOf(name, book.specOf(generation), logins.scopesFor(name));
  listeners.emit('auth.needed', need);
}

interface DemandPorts extends Pick<SharedPorts, 'listeners' | 'book'> {
  readonly logins: ReturnType<typeof lazyLogins>;
}

function isLogInNew(
  before: ServerStatus | undefined,
  { state, generation }: ServerStatus,
): boolean {
  if (state !== 'authRequired') return false;
  return before?.state !== 'authRequired' || before.generation !== generation;
}

/** @param asked - the scopes that the server's refusal named */
function loginNeedOf(
  server: string,
  spec: ServerSpec | undefined,
  asked: readonly string[] = [],
): TroupeEvents['auth.needed'] {
  const { url, account } = spec !== undefined && 'url' in spec ? spec : {};
  return {
    server,
    ...defined({
      url: url === undefined ? undefined : shownUrl(url),
      scopes: asked.length === 0 ? undefined : asked,
      // A value in it is for the session only.
      account: account?.includes('${') === true ? undefined : account,
    }),
  };
}

/** The address as the settings write it. Queries and values of variables may be secret. */
function shownUrl(text: string): string | undefined {
  if (text.includes('${') || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}
