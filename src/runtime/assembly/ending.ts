/** Follows a troupe from its start to its end, and reports how its servers ended. */

import type { ServerState } from '../../domain/server-state.ts';
import type { Problem, Settings } from '../../domain/settings.ts';
import { equalData } from '../../policies/equal-data.ts';
import type { CallDispatcher } from '../calls/dispatcher.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { Clients } from '../clients/clients.ts';
import type { RecordedInspection } from '../inspection.ts';
import { brokenActor } from '../root-actor.ts';
import type { ServerRecords } from '../server-records.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { RootRef, RootSnapshot, StatusBoard } from '../status/board.ts';
import type { BudgetWatch } from '../status/problems.ts';
import type { StopReport } from '../troupe.ts';
import type { Approvals } from '../user/approvals.ts';
import type { Questions } from '../user/open-questions.ts';
import type { TroupeProgress } from '../waits/troupe-progress.ts';

/** What the end of a troupe follows and closes. */
interface EndPorts extends Pick<SharedPorts, 'parts' | 'book' | 'problems' | 'listeners'> {
  readonly root: RootRef;
  readonly board: StatusBoard;
  readonly records: ServerRecords;
  readonly progress: TroupeProgress;
  readonly budget: BudgetWatch;
  readonly calls: Pick<CallDispatcher, 'close' | 'noteSettings' | 'settled'>;
  readonly questions: Pick<Questions, 'close'>;
  readonly approvals: Pick<Approvals, 'follow' | 'close'>;
  readonly catalogs: Pick<Catalogs, 'close'>;
  readonly clients: Closable & Pick<Clients, 'stop'>;
  readonly values: Closable;
  readonly logins: Closable & Pick<StatusBoard, 'retain'>;
  readonly processes: (Closable & { reap(): unknown }) | undefined;
}

interface Closable {
  close(): unknown;
}

/** The states in which a server has a session, which the end of the troupe has to close. */
const sessionStates: ReadonlySet<ServerState> = new Set([
  'connecting',
  'loadingTools',
  'ready',
  'degraded',
  'stopping',
]);

export class TroupeEnd {
  /** Resolves once everything is closed. */
  readonly report: Promise<StopReport>;
  readonly #services: EndPorts;
  /** Servers that had a session when the end began; undefined until then. */
  #sessions: readonly string[] | undefined;
  /** Servers whose calls were cut off, or that were ended by force. */
  readonly #forced = new Set<string>();
  /** Problems that were known when the end began. */
  #known: readonly Problem[] = [];
  /** The settings in force. */
  #settings: Settings | undefined;
  readonly #faults: string[] = [];

  /** Must be created before the root is started. */
  constructor(services: EndPorts, inspection: RecordedInspection) {
    this.#services = services;
    this.report = new Promise((resolve) => {
      this.#follow(() => {
        void close(services, inspection).then(() => resolve(this.#result()));
      });
    });
  }

  get hasBegun(): boolean {
    return this.#sessions !== undefined;
  }

  /** Ends pending calls and open questions, and refuses new ones. */
  begin(isForced = false): void {
    const { board, calls, clients, problems, questions } = this.#services;
    if (this.#sessions === undefined) {
      const open = board.statuses().filter(({ state }) => sessionStates.has(state));
      this.#sessions = open.map(({ name }) => name);
      this.#known = problems.all();
    }
    void clients.stop(isForced ? { force: true } : {});
    for (const name of calls.close()) this.#forced.add(name);
    questions.close();
  }

  #follow(onEnded: () => void): void {
    const { parts, root, board, progress, records, approvals } = this.#services;
    if (parts.client === undefined) this.#services.processes?.reap();
    const endWatch = parts.watchSleep?.(() => root.send({ type: 'system.woke' }));
    root.on('reconciled', (event) => {
      const durationMs = progress.noteReconciled(event);
      const { plan, changeCount } = event;
      if (changeCount > 0) this.#services.listeners.emit('reconciled', { plan, durationMs });
    });
    approvals.follow();
    root.on('actor.broke', ({ actorId, message }) => {
      if (this.hasBegun) this.#faults.push(`${brokenActor(actorId)} ${message}`);
      parts.report(brokenActor(actorId), message);
    });
    const end = (): void => {
      endWatch?.();
      progress.noteEnd();
      this.begin();
      // What is left did not close before the deadline, or was given no time.
      const { live } = root.getSnapshot().context;
      for (const name of this.#sessions ?? []) if (live.has(name)) this.#forced.add(name);
      board.close();
      records.close();
      onEnded();
    };
    root.subscribe({
      next: (snapshot) => {
        this.#retain(snapshot);
        progress.noteSnapshot(snapshot);
        if (progress.state === 'stopping') this.begin();
        const { context } = snapshot;
        if (context.settings !== null) this.#noteSettings(context.settings);
        this.#services.budget.update(context);
        progress.checkReady();
      },
      error: (error) => {
        parts.report('The root of the troupe broke; everything was stopped.', error);
        this.#faults.push('The root of the troupe broke.');
        end();
      },
      complete: end,
    });
  }

  #noteSettings(settings: Settings): void {
    const { problems, calls, listeners } = this.#services;
    const before = this.#settings;
    this.#settings = settings;
    problems.setOfSettings(settings.problems);
    calls.noteSettings(settings);
    const { views = [] } = settings;
    if (before === undefined || before === settings) return;
    if (equalData(before.views ?? [], views) && before.isPartial === settings.isPartial) return;
    listeners.emit('views.changed', { views: views.map(({ name }) => name) });
  }

  /** Forgets what is kept of servers that the root has forgotten. */
  #retain({ context }: RootSnapshot): void {
    const { records, logins, book, board } = this.#services;
    const isPresent = records.forgetWithRoot(context);
    if (isPresent === undefined) return;
    for (const kept of [logins, book, board]) kept.retain(isPresent, context);
  }

  #result(): StopReport {
    const sessions = this.#sessions ?? [];
    const known = new Set(this.#known.map(textOf));
    const problems = this.#services.problems.all().map(textOf);
    return {
      drained: sessions.filter((name) => !this.#forced.has(name)),
      forced: sessions.filter((name) => this.#forced.has(name)),
      errors: [...this.#faults, ...problems.filter((text) => !known.has(text))],
    };
  }
}

function textOf({ file, message }: Problem): string {
  return `${file}: ${message}`;
}

/** Closes the stores first and the guardian last, because it watches all other processes. */
async function close(
  { parts, catalogs, approvals, values, processes, logins, clients, calls }: EndPorts,
  inspection: RecordedInspection,
): Promise<void> {
  await Promise.all([catalogs.close(), approvals.close(), values.close(), logins.close()]);
  await clients.close();
  // A client's are those of its troupe.
  const own = parts.client === undefined ? processes : undefined;
  await Promise.all([own?.close(), inspection.close(), calls.settled()]);
}
