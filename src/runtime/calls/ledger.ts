/** Records calls in the ledger, if the settings ask for it. A call never waits for its record. */

import type { Ledger } from '../../../actors/stores/ledger.ts';
import type { CallRecord } from '../../domain/call-record.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import { writeJson } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { asksForInput } from '../../domain/question.ts';
import type { LedgerSettings, Settings } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { digestOf } from '../../policies/fingerprint.ts';
import { methods } from '../../protocol/methods.ts';
import type { DesiredBook } from '../desired/book.ts';
import type { ReplaceableParts } from '../replaceable-parts.ts';
import type { ProblemList } from '../status/problems.ts';
import type { CallEntry, Caller } from './call.ts';
import type { Operation } from './operation.ts';

export interface CallLedgerPorts {
  readonly clock: Clock;
  readonly book: DesiredBook;
  readonly problems: ProblemList;
  readonly projectRoot: string;
  /** Absent without a state folder; nothing is recorded then. */
  readonly keepLedger?: ReplaceableParts['keepLedger'];
}

const noFolder = {
  file: 'settings',
  key: 'mcp.ledger',
  message: 'calls are not recorded without a state folder; set stateDir, or remove it',
} as const;
// Longer than the names of servers and tools usually are.
const nameLength = 256;

export class CallLedger {
  readonly #ports: CallLedgerPorts;
  readonly #ledger: Ledger | undefined;
  /** The settings that were noted last; only kept without a state folder. */
  #noted: Settings | undefined;

  constructor(ports: CallLedgerPorts) {
    this.#ports = ports;
    this.#ledger = ports.keepLedger?.((list) => ports.problems.set('ledger', list));
  }

  /** Begins the record of a call. Returns undefined if it is not recorded. */
  begin(
    operation: Operation<unknown>,
    caller: Caller,
    { view }: Pick<CallEntry, 'view'>,
  ): RecordedCall | undefined {
    const { book, clock, projectRoot: project } = this.#ports;
    const settings = book.settings?.ledger;
    const ledger = this.#ledger;
    if (settings === undefined || ledger === undefined) return undefined;
    const write = (record: CallRecord): void => ledger.append(writeJson(record), settings);
    const by = { ...caller, ...(view && { view: view.name }) };
    return new RecordedCall({ clock, project, by, operation, settings, write });
  }

  /** Reports whether the calls that these settings want recorded cannot be. */
  noteSettings(settings: Settings): void {
    if (this.#ledger !== undefined || settings === this.#noted) return;
    const wasWanted = this.#noted?.ledger !== undefined;
    this.#noted = settings;
    const isWanted = settings.ledger !== undefined;
    if (isWanted !== wasWanted) this.#ports.problems.set('ledger', isWanted ? [noFolder] : []);
  }

  /** Resolves after the last write. */
  async close(): Promise<void> {
    await this.#ledger?.close();
  }
}

interface RecordedCallParts {
  readonly clock: Clock;
  readonly project: string;
  readonly by: Pick<CallRecord, 'client' | 'user' | 'view'>;
  readonly operation: Operation<unknown>;
  readonly settings: LedgerSettings;
  readonly write: (record: CallRecord) => void;
}

/** A call from its beginning to its only record. */
class RecordedCall {
  readonly #parts: RecordedCallParts;
  readonly #startedAt: number;
  readonly #time: string;

  constructor(parts: RecordedCallParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
    this.#time = new Date(parts.clock.wallNow()).toISOString();
  }

  /** Records the call once it has ended. */
  follow(running: Promise<{ readonly result: unknown }>): void {
    running.then(
      ({ result }) => this.#answered(result),
      (error: unknown) => this.failed(error),
    );
  }

  failed(error: unknown): void {
    const { code, outcome } =
      error instanceof TroupeError ? error : ({ code: 'INTERNAL', outcome: 'unknown' } as const);
    this.#end({ outcome, code });
  }

  #answered(result: unknown): void {
    const isError = isRecord(result) && result['isError'] === true;
    this.#end({
      outcome: asksForInput(result) ? 'unknown' : 'executed',
      ...(isError && { isError }),
      resultBytes: Buffer.byteLength(jsonOf(result)),
    });
  }

  #end({ resultBytes, ...end }: CallEnd): void {
    const { clock, project, by, operation, settings, write } = this.#parts;
    const { server, kind, params, tool = operation.calledAs } = operation;
    const text = jsonOf(params);
    write({
      time: this.#time,
      project,
      ...by,
      server: printableLine(server, nameLength),
      method: methods[kind].name,
      ...(tool !== undefined && { tool: printableLine(tool, nameLength) }),
      ...end,
      durationMs: Math.round(clock.now() - this.#startedAt),
      argumentsBytes: Buffer.byteLength(text),
      ...(text !== '' && argumentsIn(params, settings)),
      ...defined({ resultBytes }),
    });
  }
}

type CallEnd = Pick<CallRecord, 'outcome' | 'code' | 'isError' | 'resultBytes'>;

function argumentsIn(params: unknown, settings: LedgerSettings): Partial<CallRecord> {
  return settings.arguments === 'full'
    ? { arguments: params }
    : { argumentsSha256: digestOf(params) };
}

/** Returns an empty text for what JSON cannot hold, with which a call fails. */
function jsonOf(value: unknown): string {
  try {
    return writeJson(value) ?? '';
  } catch {
    return '';
  }
}
