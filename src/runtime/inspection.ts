/**
 * What hosts see of the charts. Nothing is recorded, and nothing is spent on it, until
 * somebody asks; from then on until the end.
 */

import type { Clock } from '../domain/clock.ts';
import type {
  ActorKey,
  Inspection,
  InspectionPicture,
  InspectionRecord,
} from '../domain/host/inspection.ts';
import { JournalWriter } from '../recorder/journal.ts';
import { Recorder } from '../recorder/recorder.ts';
import type { Listeners } from './listeners.ts';
import type { RootRef, RootSnapshot } from './status/board.ts';
import type { InspectOptions, Troupe, TroupeOptions } from './troupe.ts';

interface InspectionPorts {
  readonly clock: Clock;
  readonly report: (message: string, error: unknown) => void;
  readonly listeners: Listeners;
  readonly root: RootRef;
  readonly troupe: Pick<Troupe, 'snapshot'>;
}

/** Records at once when the options say so. */
export function inspectionOf(
  { inspect = false }: TroupeOptions,
  troupe: InspectionPorts['troupe'],
  root: RootRef,
  listeners: Listeners,
  { clock, report }: Pick<InspectionPorts, 'clock' | 'report'>,
): RecordedInspection {
  const options = typeof inspect === 'object' ? inspect : {};
  const inspection = new RecordedInspection({ clock, report, listeners, root, troupe }, options);
  if (inspect !== false) inspection.start();
  return inspection;
}

export class RecordedInspection implements Inspection {
  readonly #ports: InspectionPorts;
  readonly #options: InspectOptions;
  #journal: JournalWriter | undefined;
  #recorder: Recorder;
  #isRecording = false;

  constructor(ports: InspectionPorts, options: InspectOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#recorder = this.#createRecorder();
  }

  get isRecording(): boolean {
    return this.#isRecording;
  }

  get startedAt(): string {
    return this.#recorder.startedAt;
  }

  get clockStart(): number {
    return this.#recorder.clockStart;
  }

  get version(): string {
    return this.#recorder.version;
  }

  get machines(): Inspection['machines'] {
    return this.#recorder.machines;
  }

  get first(): number {
    return this.#recorder.first;
  }

  get last(): number {
    return this.#recorder.last;
  }

  start(): void {
    if (this.#isRecording) return;
    this.#isRecording = true;
    const { listeners, report, root, troupe } = this.#ports;
    // Times count from now.
    const recorder = this.#createRecorder();
    this.#recorder = recorder;
    recorder.attach(root, troupe.snapshot());
    listeners.on('status.changed', ({ status }) => recorder.noteStatus(status));
    listeners.on('reconciled', ({ plan, durationMs }) => {
      recorder.noteReconciled(plan, durationMs, troupe.snapshot().troupe);
    });
    root.subscribe({ next: goneServers(recorder), error: () => {} });
    const { journal: file } = this.#options;
    if (file !== undefined) this.#journal = new JournalWriter(recorder, { file, report });
  }

  /** Settles when the last of the journal is on disk. */
  async close(): Promise<void> {
    await this.#journal?.close();
  }

  picture(at?: number): InspectionPicture | undefined {
    return this.#recorder.picture(at);
  }

  records(from: number, limit: number): readonly InspectionRecord[] {
    return this.#recorder.records(from, limit);
  }

  context(actor: ActorKey, at?: number): Readonly<Record<string, unknown>> | undefined {
    return this.#recorder.context(actor, at);
  }

  follow(onMore: () => void): () => void {
    return this.#recorder.follow(onMore);
  }

  #createRecorder(): Recorder {
    const { clock, report } = this.#ports;
    const { records } = this.#options;
    return new Recorder({ clock, report, ...(records === undefined ? {} : { records }) });
  }
}

/** Hears of the root after whoever keeps the statuses, and tells which servers there are. */
function goneServers(recorder: Recorder): (snapshot: RootSnapshot) => void {
  let live: RootSnapshot['context']['live'] | undefined;
  let settings: RootSnapshot['context']['settings'] | undefined;
  return ({ context }) => {
    if (context.live === live && context.settings === settings) return;
    live = context.live;
    settings = context.settings;
    const desired = new Set(settings?.servers.map(({ name }) => name));
    recorder.notePresent((name) => context.live.has(name) || desired.has(name));
  };
}
