/**
 * The inspector's data: records of the charts' transitions, the picture they add up
 * to, and the messages between its page and its server. Everything
 * here is redacted plain data; whole contexts and inputs are never
 * included.
 *
 * A journal is a sequence of records, one JSON document per line, that begins with a `journal`
 * line. The same records are sent to the page as server-sent events, whose id is `n`.
 */

import type { Step } from '../plan.ts';
import type { ServerStatus, TroupeStatus } from './status.ts';

/** The recorded charts. Actors without a chart, such as a session's I/O, have no key. */
export type MachineKey =
  | 'troupe'
  | 'server'
  | 'session'
  | 'refresh'
  | 'handover'
  | 'slots'
  | 'authorization';

/** An actor's XState session id, for example `x:7`; unique within a run. */
export type ActorKey = string;

/** The state of an actor's life. `error`: its chart threw. */
export type ActorLife = 'active' | 'done' | 'error' | 'stopped';

/** An event's allow-listed values, redacted; strings are cut at 200 characters. */
export type EventFacts = Readonly<Record<string, string | number | boolean | null>>;

/** What every record has. */
export interface RecordOf<Kind extends string> {
  /** Tells the kinds of records apart. */
  readonly kind: Kind;
  /** Sequence number, counted from 1, without gaps within a run. */
  readonly n: number;
  /** Milliseconds since the journal's `startedAt`, by the charts' clock. */
  readonly t: number;
}

/** An actor was created. */
export interface ActorRecord extends RecordOf<'actor'> {
  /** The new actor. */
  readonly actor: ActorKey;
  /** The actor's id below its parent, for example `memory.0`, `session`, `slots`. */
  readonly id: string;
  /** The actor that created it; absent for a root. */
  readonly parent?: ActorKey;
  /** Its chart; absent for an actor without one. */
  readonly machine?: MachineKey;
  /** The server that the actor works for. */
  readonly server?: string;
}

/** An event was delivered. */
export interface EventRecord extends RecordOf<'event'> {
  /** The receiver. */
  readonly to: ActorKey;
  /** The sender; absent for the host or I/O. The same as `to` for timers and raised events. */
  readonly from?: ActorKey;
  /** The event's type, for example `server.stop`. */
  readonly type: string;
  /** Absent if the event has no listed values. */
  readonly facts?: EventFacts;
}

/** A chart took transitions: one microstep. */
export interface StepRecord extends RecordOf<'step'> {
  /** The chart that took them. */
  readonly actor: ActorKey;
  /** Type of the event that caused the step; empty for an eventless transition. */
  readonly type: string;
  /** `<id of the state>#<index in the state>`, as in the pictures' `data-transitions`. */
  readonly edges: readonly string[];
}

/**
 * The state of an actor after all steps caused by one event; omitted if nothing changed. Unless
 * `life` is `active`, it is this actor's last record, and its timers are over.
 */
export interface StateRecord extends RecordOf<'state'> {
  /** The actor whose state it is. */
  readonly actor: ActorKey;
  /** The state of the actor's life. */
  readonly life: ActorLife;
  /**
   * Paths of the active leaves below the machine, as in the pictures' `data-state`, for example
   * `connection.engaged.connecting`.
   */
  readonly leaves: readonly string[];
  /**
   * Context values that differ from this actor's last record, or all of them in its first one;
   * allow-listed and redacted.
   */
  readonly changed?: Readonly<Record<string, unknown>>;
}

/** An event that no state accepted. */
export interface IgnoredRecord extends RecordOf<'ignored'> {
  /** The actor that got the event. */
  readonly actor: ActorKey;
  /** The event's type, for example `server.stop`. */
  readonly type: string;
}

/** A timer was armed. It ends with a `timerEnd` record of the same actor and id. */
export interface TimerRecord extends RecordOf<'timer'> {
  /** The chart that armed it. */
  readonly actor: ActorKey;
  /** XState's send id, for example `xstate.after.reconnectBackoff.server.connection.backoff`. */
  readonly id: string;
  /** The delay as the chart names it, if it has a name. */
  readonly delay?: string;
  /** The timer's duration, in milliseconds. */
  readonly ms: number;
}

/** A timer fired, or was cancelled. */
export interface TimerEndRecord extends RecordOf<'timerEnd'> {
  /** The chart that armed it. */
  readonly actor: ActorKey;
  /** The timer's id, as in its `TimerRecord`. */
  readonly id: string;
  /** False if it was cancelled. */
  readonly fired: boolean;
}

/** A server's public status changed. */
export interface StatusRecord extends RecordOf<'status'> {
  /** The new status. */
  readonly status: ServerStatus;
}

/** What a login's actor works for. */
export interface LoginFacts {
  /** The scheme, host and port of the servers; a path could contain a secret. */
  readonly origin: string;
  /** The account in the settings; absent for the only one. */
  readonly account?: string;
  /** The servers that share the login, sorted. */
  readonly servers: readonly string[];
}

/** A login began, or other servers share it now. */
export interface LoginRecord extends RecordOf<'login'> {
  /** The login's actor. */
  readonly actor: ActorKey;
  /** What the login is for. */
  readonly login: LoginFacts;
}

/** A server was removed from the settings and has ended. */
export interface GoneRecord extends RecordOf<'gone'> {
  /** The server's name in the settings. */
  readonly server: string;
}

/** The root compared the desired servers with the live ones. */
export interface ReconciledRecord extends RecordOf<'reconciled'> {
  /** The steps of the pass, sorted by server. */
  readonly plan: readonly Step[];
  /** How long the pass took. */
  readonly durationMs: number;
  /** The troupe's status after it. */
  readonly troupe: TroupeStatus;
}

/** Records that were dropped, because the ring or the disk had no room. */
export interface GapRecord extends RecordOf<'gap'> {
  /** How many records are missing. */
  readonly count: number;
}

/** Any record of a journal. `kind` tells them apart. */
export type InspectionRecord =
  | ActorRecord
  | EventRecord
  | StepRecord
  | StateRecord
  | IgnoredRecord
  | TimerRecord
  | TimerEndRecord
  | StatusRecord
  | LoginRecord
  | GoneRecord
  | ReconciledRecord
  | GapRecord;

/** First line of each journal file, so that the file is readable without the rotated ones. */
export interface JournalHead {
  /** Tells this line from a record. */
  readonly kind: 'journal';
  /** Version of this format. */
  readonly format: 1;
  /** Version of mcp-troupe. */
  readonly version: string;
  /** ISO 8601 time from which every record's `t` counts. */
  readonly startedAt: string;
  /** The charts' clock at that time, in milliseconds; times in contexts use it. */
  readonly clockStart: number;
  /** Hash of each machine's definition, to detect whether a reader's charts are the recorded ones. */
  readonly machines: Readonly<Record<MachineKey, string>>;
  /** The state before this file's first record. */
  readonly picture: InspectionPicture;
  /** The contexts at that time, by actor; allow-listed and redacted like `changed`. */
  readonly contexts: Readonly<Record<ActorKey, Readonly<Record<string, unknown>>>>;
}

/** An actor at one moment. */
export interface PicturedActor {
  /** Its key, unique within a run. */
  readonly actor: ActorKey;
  /** The actor's id below its parent, for example `memory.0`, `session`, `slots`. */
  readonly id: string;
  /** The actor that created it; absent for a root. */
  readonly parent?: ActorKey;
  /** Its chart; absent for an actor without one. */
  readonly machine?: MachineKey;
  /** The server that it works for. */
  readonly server?: string;
  /** The state of the actor's life. Ended actors are omitted, except for the root. */
  readonly life: ActorLife;
  /** The active states without substates, as paths. */
  readonly leaves: readonly string[];
  /** Running timers, in the order in which they were armed. `armedAt` counts like `t`. */
  readonly timers: readonly {
    readonly id: string;
    readonly delay?: string;
    readonly ms: number;
    readonly armedAt: number;
  }[];
  /** For the actor of a login. */
  readonly login?: LoginFacts;
}

/** The state after record `n`, without contexts. */
export interface InspectionPicture {
  /** The record after which it was taken. */
  readonly n: number;
  /** The time of that record, in milliseconds. */
  readonly t: number;
  /** The actors that live then, parents before their children. */
  readonly actors: readonly PicturedActor[];
  /** The servers' statuses, sorted by name. */
  readonly servers: readonly ServerStatus[];
  /** Absent before the first pass. */
  readonly troupe?: TroupeStatus;
  /** Number of calls of each server that had any, as of its last pause or first call. */
  readonly calls?: Readonly<Record<string, number>>;
}

/** Response of `GET api/session`. */
export interface InspectionSession {
  /** `replay` shows a journal; nothing runs, and nothing can be done. */
  readonly mode: 'live' | 'replay';
  readonly version: string;
  /** The project folder, or the name of the journal file. */
  readonly title: string;
  readonly startedAt: string;
  /** The records that are still available; `last` advances while it is live. */
  readonly first: number;
  readonly last: number;
  /** `t` of the first and the last record. */
  readonly firstT: number;
  readonly lastT: number;
  /** Whether this version's pictures match the recorded charts. */
  readonly sameCharts: boolean;
  /** Whether the journal is compared with another one. */
  readonly isCompared: boolean;
}

/**
 * A button: an event or command that a server's page may offer, and whether it would have an effect
 * now.
 */
export interface PossibleAct {
  /** A host event (such as `server.restart`) or a command (`login`, `approve`, `reject`, `revoke`). */
  readonly act: string;
  readonly accepted: boolean;
  /** The public name of the state it would lead to; absent where the chart does not say. */
  readonly to?: string;
  /** Why it is not accepted now. */
  readonly reason?: string;
}

/** A source of records: a running troupe or a journal. */
export interface InspectionSource {
  /** ISO 8601 time from which every record's `t` counts. */
  readonly startedAt: string;
  /** The charts' clock at that time, in milliseconds; times in contexts use it. */
  readonly clockStart: number;
  /** Version of the mcp-troupe that recorded it. */
  readonly version: string;
  /** Hashes of the recorded charts. */
  readonly machines: Readonly<Record<MachineKey, string>>;
  /** Number of the oldest available record; `last + 1` if there is none. */
  readonly first: number;
  /** Number of the newest record; 0 if there is none. */
  readonly last: number;
  /**
   * Returns the picture after record `at`, by default the last one. Undefined if it is not
   * available.
   */
  picture(at?: number): InspectionPicture | undefined;
  /** Returns the records from number `from` on, or from the oldest available one. */
  records(from: number, limit: number): readonly InspectionRecord[];
  /**
   * Returns an actor's context values after record `at`, by default the last one. Undefined if
   * there was no such actor.
   */
  context(actor: ActorKey, at?: number): Readonly<Record<string, unknown>> | undefined;
  /** Calls back when there are more records, once per batch. Returns the unsubscribe function. */
  follow(onMore: () => void): () => void;
}

/** The host's view of its charts; see the option `inspect`. */
export interface Inspection extends InspectionSource {
  /** Whether records are being kept. */
  readonly isRecording: boolean;
  /** Starts recording from the current state, unless recording is already on. */
  start(): void;
}

/** A fork: a server continued from one moment without I/O. */
export interface ForkView {
  readonly fork: string;
  /** The record after which the fork began. */
  readonly from: number;
  readonly actor: ActorKey;
  /** Virtual time; counts like a record's `t`. */
  readonly t: number;
  /** The fork's records; `n` counts from 1. */
  readonly records: readonly InspectionRecord[];
  /** The actor's state in the fork. */
  readonly state: PicturedActor;
  /** Events that the current state handles, each with an example payload. */
  readonly events: readonly {
    readonly type: string;
    readonly example: Readonly<Record<string, unknown>>;
  }[];
}

/** The shortest way that a search found from a recorded moment of a server to a state of its chart. */
export interface WayView {
  readonly actor: ActorKey;
  /** The record after which the way begins. */
  readonly from: number;
  /** Dotted path of the state. */
  readonly to: string;
  /** Undefined when no way was found. Empty: the state is active. */
  readonly steps?: readonly WayStep[];
  /** Number of states that the search distinguished and visited. */
  readonly visited: number;
  /** Whether the search stopped at its limit, so that there may be a way. */
  readonly isCut: boolean;
  /** A TypeScript test that walks the way, if there is one. */
  readonly test?: string;
  /** Events of the way for which the test has only a comment. */
  readonly unrepeatable: readonly string[];
}

export interface WayStep {
  /** An event, or the id of a timer that fires. */
  readonly type: string;
  readonly facts?: EventFacts;
  /** Milliseconds since the previous step. */
  readonly after: number;
  /** The transitions taken, in order. */
  readonly edges: readonly string[];
  /** The active states after the step. */
  readonly leaves: readonly string[];
}
