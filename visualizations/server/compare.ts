/**
 * Finds the first difference between two journals. Compared is what each server, its sessions and the root did
 * in order; the order between servers is left to chance in every run. Times, pids, ports, ids and lengths of
 * waits are left out. A catalog that an earlier run stored is a start condition, not a difference. Both files are read side by side, so their size does not matter.
 */

import { printableLine } from '../../src/domain/data/printable.ts';
import type {
  ComparedSide,
  ComparedStep,
  ComparisonView,
  JournalDifference,
} from '../../src/domain/host/comparison.ts';
import type {
  InspectionRecord,
  InspectionSource,
  PicturedActor,
} from '../../src/domain/host/inspection.ts';
import { type JournalReading, readJournal } from './journal-reader.ts';

export interface JournalComparison {
  /** How many records of each journal were read. */
  readonly records: { readonly a: number; readonly b: number };
  /** Undefined when both are equal. */
  readonly difference?: JournalDifference;
}

// Servers start in any order, but hardly so far apart. Some 20 MB.
const usualWindow = 50_000;

interface Step extends ComparedStep {
  readonly lane: string;
  readonly server: string | undefined;
}

/** @throws TroupeError `USAGE` with the file, the line and the next step */
export async function compareJournals(
  fileA: string,
  fileB: string,
  window = usualWindow,
): Promise<JournalComparison> {
  const a = new StepReader(await readJournal(fileA));
  try {
    const b = new StepReader(await readJournal(fileB));
    try {
      const difference = await firstDifference(a, b, window);
      const records = { a: a.count, b: b.count };
      return difference === undefined ? { records } : { records, difference };
    } finally {
      await b.close();
    }
  } finally {
    await a.close();
  }
}

async function firstDifference(
  a: StepReader,
  b: StepReader,
  window: number,
): Promise<JournalDifference | undefined> {
  const lasts = new Map<string, ComparedStep>();
  /** What B did that A has not done yet, oldest first, by lane. */
  const ahead = new Map<string, Step[]>();
  let aheadCount = 0;
  for (let step = await a.next(); step !== undefined; step = await a.next()) {
    let other = ahead.get(step.lane)?.shift();
    if (other !== undefined) aheadCount -= 1;
    while (other === undefined && aheadCount < window) {
      const read = await b.next();
      if (read === undefined) break;
      if (read.lane === step.lane) other = read;
      else {
        const waiting = ahead.get(read.lane) ?? [];
        waiting.push(read);
        ahead.set(read.lane, waiting);
        aheadCount += 1;
      }
    }
    if (other === undefined || comparable(other.text) !== comparable(step.text)) {
      const isCut = other === undefined && aheadCount >= window;
      return differenceOf(step, step, other, lasts, isCut ? window : undefined);
    }
    lasts.set(step.lane, shownOf(step));
  }
  const left = [...ahead.values()].flatMap(([first]) => first ?? []);
  const further = left.toSorted((one, two) => one.n - two.n)[0] ?? (await b.next());
  return further && differenceOf(further, undefined, further, lasts, undefined);
}

function differenceOf(
  { lane, server }: Step,
  a: Step | undefined,
  b: Step | undefined,
  lasts: ReadonlyMap<string, ComparedStep>,
  within: number | undefined,
): JournalDifference {
  const before = lasts.get(lane);
  return {
    ...(server === undefined ? {} : { server }),
    actor: lane,
    ...(before === undefined ? {} : { before }),
    ...(a === undefined ? {} : { a: shownOf(a) }),
    ...(b === undefined ? {} : { b: shownOf(b) }),
    ...(within === undefined ? {} : { within }),
  };
}

/** With or without a stored catalog, a server starts alike. */
function comparable(text: string): string {
  return text.startsWith(enters)
    ? text.replace(/\bcatalog\.(?:none|deferred)\b/u, 'catalog')
    : text;
}

function shownOf({ n, t, text }: Step): ComparedStep {
  return { n, t, text };
}

/** Reads what the actors of a journal did. */
class StepReader {
  readonly #steps: AsyncGenerator<Step, void>;
  count = 0;

  readonly #journal: JournalReading;

  constructor(journal: JournalReading) {
    this.#journal = journal;
    this.#steps = this.#read();
  }

  async next(): Promise<Step | undefined> {
    const { value } = await this.#steps.next();
    return value ?? undefined;
  }

  async close(): Promise<void> {
    await this.#steps.return();
    await this.#journal.close();
  }

  async *#read(): AsyncGenerator<Step, void> {
    const { head, records } = this.#journal;
    const { n, t, actors } = head.picture;
    const lanes = new Lanes();
    for (const actor of actors) {
      for (const step of lanes.begin(actor)) yield { n, t, ...step };
    }
    for await (const record of records) {
      this.count += 1;
      for (const step of lanes.stepsOf(record)) yield { n: record.n, t: record.t, ...step };
    }
  }
}

export interface ComparedJournal {
  readonly title: string;
  readonly source: InspectionSource;
  readonly difference: JournalDifference;
}

// Enough to see what led to the difference, and what came of it.
const stepsBefore = 3;
const stepsAfter = 12;

/** Describes both journals at their difference; `a` is the one that is shown. */
export function comparisonOf(
  { difference, ...b }: ComparedJournal,
  a: Pick<ComparedJournal, 'title' | 'source'>,
): ComparisonView {
  return {
    difference,
    a: sideOf(a, difference, difference.a),
    b: sideOf(b, difference, difference.b),
  };
}

function sideOf(
  { title, source }: Pick<ComparedJournal, 'title' | 'source'>,
  { actor: lane, server }: JournalDifference,
  step: ComparedStep | undefined,
): ComparedSide {
  const steps = stepsIn(source, lane);
  const place = steps.findLastIndex((each) => each.n <= (step?.n ?? source.last));
  // The state that an event leads to is recorded after it.
  const state = steps
    .slice(place, place + 2)
    .find((each) => step !== undefined && each.text.startsWith(enters));
  const n = state?.n ?? step?.n ?? source.last;
  const actor = source
    .picture(n)
    ?.actors.find((each) =>
      server === undefined
        ? each.machine === 'troupe'
        : each.machine === 'server' && each.server === server,
    );
  // Without a step that differs, the last one is still before the difference.
  const from = Math.max(0, (step === undefined ? place + 1 : place) - stepsBefore);
  return {
    title: printableLine(title, 200),
    n,
    steps: steps.slice(from, place + 1 + (step === undefined ? 0 : stepsAfter)),
    ...(actor === undefined ? {} : { actor }),
  };
}

function stepsIn(source: InspectionSource, lane: string): readonly ComparedStep[] {
  const lanes = new Lanes();
  for (const actor of source.picture(source.first - 1)?.actors ?? []) lanes.begin(actor);
  const records = source.records(source.first, source.last - source.first + 1);
  return records.flatMap((record) =>
    lanes
      .stepsOf(record)
      .filter((step) => step.lane === lane)
      .map(({ text }) => ({ n: record.n, t: record.t, text })),
  );
}

interface Lane {
  readonly lane: string;
  readonly server: string | undefined;
}

const enters = 'enters ';

/** The actors of a journal, by names that are the same in every run. */
class Lanes {
  readonly #names = new Map<string, string>();
  readonly #servers = new Map<string, string>();
  readonly #leaves = new Map<string, readonly string[]>();

  /** Undefined for an actor whose steps depend on other servers: the start permits, for example. */
  #add({
    actor,
    id,
    parent,
    machine,
    server,
  }: Pick<PicturedActor, 'actor' | 'id' | 'parent' | 'machine' | 'server'>): Lane | undefined {
    const around = parent === undefined ? undefined : this.#names.get(parent);
    const isServer = machine === 'server' && server !== undefined;
    const name =
      machine === 'troupe' ? 'troupe' : isServer ? server : `${around ?? 'outside'}/${stable(id)}`;
    this.#names.set(actor, name);
    if (server !== undefined) this.#servers.set(actor, server);
    return this.#laneOf(actor);
  }

  stepsOf(record: InspectionRecord): readonly (Lane & { readonly text: string })[] {
    switch (record.kind) {
      case 'actor': {
        const lane = this.#add(record);
        return lane === undefined ? [] : [{ ...lane, text: 'begins' }];
      }
      case 'event': {
        const lane = this.#laneOf(record.to);
        // What the root hears is of many servers, in any order.
        if (lane === undefined || lane.lane === 'troupe') return [];
        const from = record.from === undefined ? 'outside' : this.#names.get(record.from);
        const facts = factsText(record.facts ?? {});
        return [
          { ...lane, text: `gets ${stable(record.type)}${facts} from ${from ?? 'an actor'}` },
        ];
      }
      case 'state':
        return this.#enters(record.actor, record.life, record.leaves);
      case 'ignored': {
        const lane = this.#laneOf(record.actor);
        return lane === undefined || lane.lane === 'troupe'
          ? []
          : [{ ...lane, text: `ignores ${stable(record.type)}` }];
      }
      case 'gone':
        return [{ lane: record.server, server: record.server, text: 'leaves the settings' }];
      case 'reconciled':
        return record.plan.map(({ server, step }) => ({
          lane: `${server}/plan`,
          server,
          text: `is planned: ${step}`,
        }));
      default:
        return [];
    }
  }

  /** An actor that exists at the start, in its states. */
  begin(actor: PicturedActor): readonly (Lane & { readonly text: string })[] {
    this.#add(actor);
    return this.#enters(actor.actor, actor.life, actor.leaves);
  }

  #enters(
    actor: string,
    life: string,
    leaves: readonly string[],
  ): readonly (Lane & { readonly text: string })[] {
    const lane = this.#laneOf(actor);
    const before = this.#leaves.get(actor) ?? [];
    this.#leaves.set(actor, leaves);
    const entered = leaves.filter((leaf) => !before.includes(leaf));
    if (lane === undefined || (life === 'active' && entered.length === 0)) return [];
    return [{ ...lane, text: life === 'active' ? `${enters}${entered.join(', ')}` : `is ${life}` }];
  }

  #laneOf(actor: string): Lane | undefined {
    const lane = this.#names.get(actor);
    const server = this.#servers.get(actor);
    return lane === undefined || (server === undefined && lane !== 'troupe')
      ? undefined
      : { lane, server };
  }
}

/** Differ between runs that do the same. */
const changing: ReadonlySet<string> = new Set([
  'at',
  'pid',
  'nowMs',
  'spreadMs',
  'delayMs',
  'seed',
]);

function factsText(facts: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(facts).flatMap(([key, value]) =>
    changing.has(key) ? [] : [`${key}=${stable(String(value))}`],
  );
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
}

/** A name or text without what differs in every run. */
function stable(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/gu, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z?/gu, '<time>')
    .replaceAll(/:\d{2,5}\b/gu, ':<port>')
    .replaceAll(/\bpid \d+/gu, 'pid <pid>')
    .replaceAll(/\bx:\d+\b/gu, '<actor>')
    .replaceAll(/(?<=\w)\.[01]\b/gu, '');
}
