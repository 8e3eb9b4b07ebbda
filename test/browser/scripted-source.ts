/** Records that the test writes itself, as a troupe would have recorded them. */

import type {
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
} from '../../src/domain/host/inspection.ts';
import { machineHashes } from '../../src/recorder/chart-names.ts';
import { applyRecord, canvasOf, pictureOf } from '../../src/recorder/picture.ts';

type Unnumbered<Each> = Each extends InspectionRecord ? Omit<Each, 'n' | 't'> : never;

export class ScriptedSource implements InspectionSource {
  readonly startedAt = new Date().toISOString();
  readonly version = '0.0.0';
  readonly machines = machineHashes();
  readonly first = 1;
  readonly clockStart = 0;
  readonly #records: InspectionRecord[] = [];
  readonly #followers = new Set<() => void>();

  get last(): number {
    return this.#records.length;
  }

  /** Records something a millisecond after what was before. */
  push(record: Unnumbered<InspectionRecord>): void {
    const n = this.last + 1;
    this.#records.push({ ...record, n, t: n } as InspectionRecord);
    for (const follower of this.#followers) follower();
  }

  picture(at = this.last): InspectionPicture {
    const canvas = canvasOf({ n: 0, t: 0, actors: [], servers: [] });
    for (const record of this.#records.slice(0, at)) applyRecord(canvas, record);
    return pictureOf(canvas);
  }

  records(from: number, limit: number): readonly InspectionRecord[] {
    return this.#records.slice(from - 1, from - 1 + limit);
  }

  context(): Readonly<Record<string, unknown>> {
    return {};
  }

  follow(onMore: () => void): () => void {
    this.#followers.add(onMore);
    return () => this.#followers.delete(onMore);
  }
}
