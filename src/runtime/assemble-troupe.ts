/**
 * Joins charts and actors into a running troupe: the only place that knows both.
 * What does I/O comes in as parts, so that a test runs the very same assembly
 * with scripted sessions and virtual time.
 */

import type { ProcessKeeper } from '../../actors/processes/keeper.ts';
import type { SessionOwner, SessionTarget } from '../../actors/session/ports.ts';
import { createGenerationSet } from '../../actors/session/ports.ts';
import type { DockerGateway } from '../../actors/settings/docker-gateway.ts';
import { createSettingsReader, type SettingsReader } from '../../actors/settings/reader.ts';
import { createSpecBook } from '../../actors/settings/spec-book.ts';
import type { ValueSource } from '../../actors/values/source.ts';
import { planOf } from '../../machines/troupe/troupe.ts';
import { mergeSettings } from '../config/merge-settings.ts';
import type { ApprovalRequest } from '../domain/host/approval.ts';
import type { HostEvent, TroupeEventName, TroupeEvents } from '../domain/host/event.ts';
import type { Explanation } from '../domain/host/explanation.ts';
import type { ServerStatus, TroupeSnapshot } from '../domain/host/status.ts';
import type { Stream } from '../domain/host/stream.ts';
import type { Step } from '../domain/plan.ts';
import type { ServerLogLine } from '../domain/server-log.ts';
import { isUsable, type ServerState } from '../domain/server-state.ts';
import type { DesiredServer } from '../domain/settings.ts';
import type { TroupeError } from '../domain/troupe-error.ts';
import { version } from '../domain/version.ts';
import { changesNothing } from '../policies/plan-changes.ts';
import { CallDispatcher } from './calls/dispatcher.ts';
import { Catalogs } from './catalog/catalogs.ts';
import { addressOf } from './catalog/tool-address.ts';
import type { ToolAddress } from './catalog/tool-finding.ts';
import { unknownServer } from './errors/unknown-name.ts';
import { inspectionOf, type RecordedInspection } from './inspection.ts';
import { Listeners } from './listeners.ts';
import { AddedServers } from './options/added-servers.ts';
import { checkOptions, checkState } from './options/check.ts';
import { checkHostEvent, checkListener, isAnotherTry } from './options/check-host-event.ts';
import { embeddingReader } from './options/embedded-servers.ts';
import { hostPolicy } from './options/host-policy.ts';
import { settingsPortsOf, valueSourceOf } from './options/settings-ports.ts';
import { brokenActor, createRoot, type TroupeParts } from './root-actor.ts';
import { ServerRecords } from './server-records.ts';
import { ServerRequests } from './server-requests.ts';
import { SessionRegistry } from './session-registry.ts';
import { type RootRef, type Sighting, StatusBoard } from './status/board.ts';
import { BudgetWatch } from './status/budget-watch.ts';
import { ProblemList } from './status/problem-list.ts';
import { countSessions } from './status/session-count.ts';
import { allStatuses, serverHandle, streamable } from './status/streams.ts';
import type { CallOptions, StartReport, Troupe, TroupeOptions, WaitOptions } from './troupe.ts';
import { startAnswered } from './user/answered-servers.ts';
import { Approvals, isApprovalOrder } from './user/approvals.ts';
import { Permissions } from './user/permissions.ts';
import { PersonNeeds } from './user/person-needs.ts';
import { Questions } from './user/questions.ts';
import { afterFirstPass } from './waits/first-pass.ts';
import { isReadyAgain, presentStatus, waitForStatus } from './waits/for-status.ts';
import { waitForRequired } from './waits/required-servers.ts';
import { TroupeProgress } from './waits/troupe-progress.ts';

export type { TroupeParts } from './root-actor.ts';

export function assembleTroupe(options: TroupeOptions, parts: TroupeParts): Troupe {
  return new RunningTroupe(options, parts);
}

class RunningTroupe extends ServerRequests implements Troupe {
  readonly #parts: TroupeParts;
  readonly #root: RootRef;
  readonly #board: StatusBoard;
  protected readonly calls: CallDispatcher;
  protected readonly catalogs: Catalogs;
  readonly #listeners: Listeners;
  readonly #specs = createSpecBook();
  readonly #approvals: Approvals;
  readonly #settings: SettingsReader;
  protected readonly added: AddedServers;
  readonly #ended: Promise<void>;
  readonly #progress: TroupeProgress;
  readonly #needs = new PersonNeeds();
  readonly #budget = new BudgetWatch((list) => this.#problems.setOfBudget(list));
  readonly #records: ServerRecords;
  readonly inspection: RecordedInspection;
  readonly #removed = (): readonly string[] => this.#root.getSnapshot().context.removed;
  readonly #processes: ProcessKeeper | undefined;
  readonly #docker: DockerGateway | undefined;
  readonly #values: ValueSource;
  readonly #onGiven = startAnswered(() => ({ root: this.#root, board: this.#board }));
  protected readonly asked: Questions;
  declare readonly [Symbol.observable]: () => Stream<readonly ServerStatus[]>;
  readonly #problems = new ProblemList((problems) => {
    this.#listeners.emit('settings.invalid', { problems });
  });

  constructor(options: TroupeOptions, parts: TroupeParts) {
    super();
    const startedAt = parts.clock.now();
    checkOptions(options);
    this.#parts = parts;
    this.#progress = new TroupeProgress(parts.clock, startedAt, () => this.#board);
    this.#listeners = new Listeners((name, error) => {
      parts.report(`A listener of "${name}" threw.`, error);
    });
    const chosen = hostPolicy(options.policy);
    const settings = { ...settingsPortsOf(options, parts, () => this.#processes), policy: chosen };
    // Until the files are read, what the host chose holds.
    const { slots, startupGateMs } = mergeSettings([], undefined, chosen).settings;
    this.#records = new ServerRecords(parts, this.#listeners);
    const embedded = options.servers ?? {};
    this.#approvals = this.#createApprovals(settings.projectRoot);
    const reader = embeddingReader(createSettingsReader(settings), embedded);
    this.#settings = this.#approvals.lookedUpBy(reader);
    this.added = new AddedServers(this.#settings);
    this.#docker = settings.docker;
    const overSse = createGenerationSet();
    this.#processes = parts.keepProcesses?.((list) => this.#problems.setOfProcesses(list));
    this.#values = valueSourceOf(options, parts, this.#processes, this.#onGiven);
    this.asked = this.#createQuestions(options, settings.projectRoot);
    const sessions = new SessionRegistry();
    this.catalogs = this.#createCatalogs(sessions);
    this.#root = createRoot({
      parts: this.#records.watching(parts),
      input: {
        seed: parts.seed,
        startedAt,
        trusted: options.trusted ?? true,
        launchBound: options.allow ?? null,
        slots,
        coreCount: parts.coreCount,
        startupGateMs,
      },
      settings: {
        ...settings,
        reader: this.catalogs.lookedUpBy(this.#settings),
      },
      specs: this.#specs,
      session: {
        registry: sessions,
        ...this.catalogs.session,
        specOf: (owner) => this.#targetOf(owner),
        onExecutableMoved: () => this.#root.send({ type: 'settings.reload' }),
        processes: this.#processes,
        values: this.#values,
        overSse,
        leftWhenAsked: createGenerationSet(),
        embedded: new Map(Object.entries(embedded)),
        questions: this.asked.session,
        log: this.#records.noteLine,
      },
    });
    this.#board = new StatusBoard({
      root: this.#root,
      clock: parts.clock,
      toolCountOf: (desired, generation) => this.catalogs.tools.countOf(desired, generation),
      heldCountOf: (desired) => this.#approvals.heldCount(desired),
      isOverSse: (generation) => overSse.has(generation),
      stepFor: (server) => this.asked.stepFor(server),
      onChange: (status) => this.#onStatus(status),
      onSnapshot: this.#records.noteSnapshot,
      onToolsMayDiffer: () => this.catalogs.invalidate(),
    });
    this.calls = new CallDispatcher({
      ...parts,
      permissions: this.#createPermissions(options, settings.projectRoot),
      board: this.#board,
      tools: this.catalogs.tools,
      heldOffers: (desired) => this.#approvals.heldOffers(desired),
      sessions,
      absentError: (server) => this.#absentError(server),
    });
    streamable(this, allStatuses(this.#board, parts.report));
    this.inspection = inspectionOf(options, this, this.#root, this.#listeners, parts);
    this.#ended = this.#follow();
    this.#root.start();
  }

  ready(): Promise<StartReport> {
    return this.#progress.ready;
  }

  async required(): Promise<void> {
    if (!this.hasLooked()) await this.afterFirstPass({});
    return waitForRequired({
      board: this.#board,
      clock: this.#parts.clock,
      servers: this.#root.getSnapshot().context.settings?.servers ?? [],
      since: this.#progress.firstPassAt(),
      isOver: () => this.isOver(),
    });
  }

  snapshot(): TroupeSnapshot {
    const servers = this.#board.statuses();
    return {
      troupe: {
        pid: process.pid,
        version,
        ...this.#progress.status(),
        sessions: countSessions(servers),
        ...(this.#budget.use === undefined ? {} : { budget: this.#budget.use }),
        problems: this.#problems.all(),
      },
      servers,
    };
  }

  status(server: string): ServerStatus | undefined {
    return this.#board.status(server);
  }

  readonly server: Troupe['server'] = (name) => serverHandle(name, this.#board, this.#parts.report);

  explain(server: string): Explanation | undefined {
    return this.#records.explain(server, this.#board, this.#root.getSnapshot());
  }

  logs(server: string): readonly ServerLogLine[] | undefined {
    return this.#records.logs(server) ?? (this.status(server) === undefined ? undefined : []);
  }

  async plan(): Promise<readonly Step[]> {
    await this.#docker?.settled();
    const { settings } = await this.#settings.read(this.#parts.clock.now());
    return planOf({ ...this.#root.getSnapshot().context, settings });
  }

  approvals(): readonly ApprovalRequest[] {
    return this.#approvals.requests();
  }

  approvalsSaved(): Promise<boolean> {
    return this.#approvals.saved();
  }

  /** What a session of this server opens. */
  #targetOf({ server, generation }: SessionOwner): SessionTarget | undefined {
    const spec = this.#specs.get(generation);
    const desired = this.#board.sighting(server)?.desired;
    if (spec === undefined || desired === undefined) return undefined;
    return { spec, policy: desired.policy, ...this.#approvals.boundTo(desired) };
  }

  #createApprovals(projectRoot: string): Approvals {
    return new Approvals({
      parts: this.#parts,
      projectRoot,
      onProblems: (list) => this.#problems.setOfApprovals(list),
      root: () => this.#root,
      specOf: (generation) => this.#specs.get(generation),
      catalogs: () => this.catalogs,
      onPinned: (server) => this.#board.refresh(server),
      listeners: this.#listeners,
      remark: this.#records.remark,
    });
  }

  #createQuestions(options: TroupeOptions, projectRoot: string): Questions {
    const ports = { ...this.#parts, projectRoot, remark: this.#records.remark };
    const board = (): StatusBoard => this.#board;
    return new Questions(options, { ...ports, listeners: this.#listeners, board });
  }

  #createPermissions(options: TroupeOptions, projectRoot: string): Permissions {
    const onProblems = this.#problems.setOfPermissions;
    const settings = () => this.#root.getSnapshot().context.settings;
    return new Permissions(options, this.#parts, { projectRoot, settings, onProblems });
  }

  #createCatalogs(sessions: SessionRegistry): Catalogs {
    return new Catalogs({
      clock: this.#parts.clock,
      keep: this.#parts.keepCatalogs,
      board: () => this.#board,
      sessions,
      listeners: this.#listeners,
      root: () => this.#root,
      onListed: ({ server, generation }) => this.#approvals.noteListed(server, generation),
      heldTools: (desired) => this.#approvals.heldTools(desired),
      heldOffers: (desired) => this.#approvals.heldOffers(desired),
      remark: this.#records.remark,
      onProblems: (list) => this.#problems.setOfCatalogs(list),
    });
  }

  protected addressOf(exposedName: string): ToolAddress {
    const missing = this.#problems.all().flatMap(({ server }) => server ?? []);
    const absent = [...this.#removed(), ...missing];
    return addressOf(exposedName, this.catalogs.tools, this.#board, absent);
  }

  protected refuseUnknown(server: string): void {
    if (this.hasLooked()) this.#desiredNamed(server);
  }

  on<Name extends TroupeEventName>(
    name: Name,
    listener: (event: TroupeEvents[Name]) => void,
  ): () => void {
    checkListener(name, listener);
    return this.#listeners.on(name, listener);
  }

  send(event: HostEvent): void {
    const checked = checkHostEvent(event);
    this.#refuseIdleTalk(checked);
    const isEnd = checked.type === 'troupe.stop' || checked.type === 'troupe.kill';
    if (!isEnd) this.refuseWhenOver();
    if (isEnd) this.closeRequests();
    if (isAnotherTry(checked)) this.#values.askAgain();
    // Nobody is left to obey.
    if (this.isOver()) return;
    this.#progress.during(() => this.#obey(checked));
  }

  #obey(event: HostEvent): void {
    if (event.type === 'roots.changed') return this.asked.roots.set(event.roots);
    if (!isApprovalOrder(event)) return this.#root.send(event);
    this.#approvals.decide(event, this.#desiredNamed(event.server), (it) => this.#root.send(it));
  }

  async waitFor(
    server: string,
    state: ServerState,
    options: WaitOptions = {},
  ): Promise<ServerStatus> {
    checkState(state);
    const isThere = (status: ServerStatus): boolean =>
      status.state === state || (state === 'ready' && isUsable(status.state));
    return this.#waitFor(server, state, options, (status) => isThere(status));
  }

  async restartAndWait(server: string, options: WaitOptions = {}): Promise<ServerStatus> {
    const before = this.#board.sighting(server);
    this.send({ type: 'server.restart', server });
    return this.#waitFor(server, 'ready again', options, (_, it) => isReadyAgain(it, before));
  }

  async stop(): Promise<void> {
    if (!this.isOver()) this.send({ type: 'troupe.stop' });
    return this.#ended;
  }

  readonly [Symbol.asyncDispose] = (): Promise<void> => this.stop();

  /** Follows the root from its start to its end. */
  #follow(): Promise<void> {
    this.#processes?.reap();
    const endWatch = this.#parts.watchSleep?.(() => this.#root.send({ type: 'system.woke' }));
    this.#root.on('reconciled', (event) => {
      const durationMs = this.#progress.noteReconciled(event);
      const { plan } = event;
      if (!changesNothing(plan)) this.#listeners.emit('reconciled', { plan, durationMs });
    });
    this.#approvals.follow();
    this.#root.on('actor.broke', ({ actorId, message }) => {
      this.#parts.report(brokenActor(actorId), message);
    });
    return new Promise((settle) => {
      const end = (): void => {
        endWatch?.();
        this.#progress.noteEnd();
        this.closeRequests();
        this.#board.close();
        this.#records.close();
        void this.#close().then(() => settle());
      };
      this.#root.subscribe({
        next: (snapshot) => {
          const { context } = snapshot;
          this.#records.forgetWithRoot(context);
          this.#progress.noteSnapshot(snapshot);
          if (this.#progress.state === 'stopping') this.closeRequests();
          if (context.settings !== null) this.#problems.setOfSettings(context.settings.problems);
          if (this.#budget.look(context)) this.#root.send({ type: 'troupe.lookAgain' });
          this.#progress.checkReady();
        },
        error: (error) => {
          this.#parts.report('The root of the troupe broke; everything was stopped.', error);
          end();
        },
        complete: end,
      });
    });
  }

  /** The guardian goes last: it looks after the processes of all others. */
  async #close(): Promise<void> {
    await Promise.all([this.catalogs.close(), this.#approvals.close(), this.#values.close()]);
    await Promise.all([this.#processes?.close(), this.inspection.close()]);
  }

  #onStatus(status: ServerStatus): void {
    this.#records.noteStatus(status, this.#board.sighting(status.name)?.session ?? 0);
    this.#listeners.emit('status.changed', { status });
    if (this.#needs.newly(status)) this.#listeners.emit('auth.needed', { server: status.name });
    // A place may be free for somebody who waits.
    if (this.#budget.note(status)) this.#root.send({ type: 'troupe.lookAgain' });
    this.#progress.checkReady();
  }

  protected hasLooked(): boolean {
    return this.#progress.hasLooked();
  }

  protected async afterFirstPass(options: CallOptions): Promise<CallOptions> {
    if (this.hasLooked()) return options;
    return afterFirstPass(this.#root, this.#parts.clock, () => this.hasLooked(), options);
  }

  /** @throws TroupeError as {@link unknownServer} makes it. */
  #desiredNamed(server: string): DesiredServer {
    const { settings } = this.#root.getSnapshot().context;
    const desired = settings?.servers.find(({ name }) => name === server);
    if (desired === undefined) throw this.#absentError(server);
    return desired;
  }

  #absentError(server: string): TroupeError {
    return unknownServer(server, this.#board.statuses(), this.#removed(), this.#problems.all());
  }

  /** An order about a server that does not exist is a mistake worth telling at once. */
  #refuseIdleTalk(event: HostEvent): void {
    if (!('server' in event)) return;
    const desired = this.#desiredNamed(event.server);
    if (isApprovalOrder(event)) this.#approvals.refuseOutdated(event, desired);
  }

  protected isOver(): boolean {
    return this.#progress.state === 'stopped';
  }

  #waitFor(
    server: string,
    wanted: string,
    options: WaitOptions,
    matches: (status: ServerStatus, sighting: Sighting) => boolean,
  ): Promise<ServerStatus> {
    return waitForStatus(
      {
        board: this.#board,
        clock: this.#parts.clock,
        server,
        wanted,
        isOver: () => this.isOver(),
        answer: (sighting) => presentStatus(sighting, matches),
      },
      options,
    );
  }
}
