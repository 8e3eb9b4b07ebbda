import type { AnyActorRef } from 'xstate';
import type { Clock } from '../domain/clock.ts';
import type { Inspection, LoginFacts } from '../domain/host/inspection.ts';
import type { TroupeSnapshot } from '../domain/host/status.ts';
import { serverNamed } from '../policies/admission/server-place.ts';
import { GroupedMap } from '../policies/grouped-map.ts';
import { JournalWriter } from '../recorder/journal.ts';
import { Recorder } from '../recorder/recorder.ts';
import type { Listeners } from './listeners.ts';
import type { RootRef, RootSnapshot } from './status/board.ts';
import type { InspectOptions, TroupeOptions } from './troupe.ts';

export interface InspectionPorts {
  readonly clock: Clock;
  readonly report: (message: string, error: unknown) => void;
  readonly listeners: Listeners;
  readonly root: RootRef;
  readonly snapshot: () => TroupeSnapshot;
}

/** Records the charts for the host. Until `start`, recording costs nothing. */
export class RecordedInspection extends Recorder implements Inspection {
  readonly #ports: InspectionPorts;
  readonly #options: InspectOptions;
  #journal: JournalWriter | undefined;
  #isRecording = false;
  readonly #logins = new Map<AnyActorRef, LoginFacts>();

  /** Starts immediately when the host's options enable recording. */
  constructor({ inspect = false }: TroupeOptions, ports: InspectionPorts) {
    const options = typeof inspect === 'object' ? inspect : {};
    super({ ...ports, ...options });
    this.#ports = ports;
    this.#options = options;
    if (inspect !== false) this.start();
  }

  get isRecording(): boolean {
    return this.#isRecording;
  }

  start(): void {
    if (this.#isRecording) return;
    this.#isRecording = true;
    const { listeners, report, root, snapshot } = this.#ports;
    this.attach(root, snapshot(), this.#logins);
    listeners.on('status.changed', ({ status }) => this.noteStatus(status));
    listeners.on('reconciled', ({ plan, durationMs }) =>
      this.noteReconciled(plan, durationMs, snapshot().troupe),
    );
    root.subscribe({ next: goneServers(this), error: () => {} });
    const { journal: file } = this.#options;
    if (file !== undefined) this.#journal = new JournalWriter(this, { file, report });
  }

  /** Records a login, or that other servers share it; called before its actor starts. */
  override noteLogin(ref: AnyActorRef, login: LoginFacts): void {
    this.#logins.set(ref, login);
    if (this.#isRecording) super.noteLogin(ref, login);
  }

  /** Resolves once the journal's last line is on disk. */
  async close(): Promise<void> {
    await this.#journal?.close();
  }
}

/** Reports which servers exist. The recorder gets each snapshot after the status board does. */
function goneServers(recorder: Recorder): (snapshot: RootSnapshot) => void {
  let live: RootSnapshot['context']['live'] | undefined;
  let settings: RootSnapshot['context']['settings'] | undefined;
  return ({ context }) => {
    if (context.live === live && context.settings === settings) return;
    const isPresent = (name: string): boolean =>
      context.live.has(name) || serverNamed(context.settings, name) !== undefined;
    const changed = context.live.changesSince(live ?? GroupedMap.of());
    const mayBeOthers = context.settings !== settings || !changed.every(isPresent);
    live = context.live;
    settings = context.settings;
    if (mayBeOthers) recorder.notePresent(isPresent);
  };
}
