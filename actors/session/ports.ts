/**
 * What a session needs from the runtime. Everything here is synchronous and must not throw;
 * the session calls it from its own code, never from a chart.
 */

import type { PriorDiscovery } from '@modelcontextprotocol/client';

import type { SideLists } from '../../src/domain/catalog.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { EmbeddedServer } from '../../src/domain/host/embedded.ts';
import type { LogLevel } from '../../src/domain/log-level.ts';
import type { ServerPolicy } from '../../src/domain/policy.ts';
import type {
  QuestionAnswer,
  QuestionBody,
  QuestionKind,
  QuestionParty,
  RootFolder,
} from '../../src/domain/question.ts';
import type { LogOrigin } from '../../src/domain/server-log.ts';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import type { SessionHandle, SessionInput } from '../../src/domain/session.ts';
import type { ListedTool } from '../../src/domain/tool.ts';
import type { ProcessKeeper } from '../processes/keeper.ts';
import type { ValueSource } from '../values/source.ts';

/** The era that a server was found to speak, as plain JSON; the next session then needs no probe. */
export type EraVerdict = PriorDiscovery;

/** The settings of a server that a session needs to open. */
export interface SessionTarget {
  readonly spec: ServerSpec;
  readonly policy: ServerPolicy;
  /** The approved program; null = none was found. Absent: no approval is needed. */
  readonly executable?: string | null;
  /** The project folder, for a server that it brings: the program is looked up only inside it. */
  readonly within?: string;
  /** The approved names of its variables file, sorted; null = the file could not be read. Absent: no approval is needed. */
  readonly envFileNames?: readonly string[] | null;
}

/** Facts about a server besides its tools. */
export interface CatalogExtra {
  /** At most 16 KB, printable. */
  readonly instructions?: string;
  /** It completes arguments of prompts and templates. */
  readonly completions?: true;
  /** Tools are missing from the list, which is not stored for a later run. */
  readonly partial?: true;
  /** Values that must not reach a disk, should the server have copied them into its text. */
  readonly secrets?: readonly string[];
}

/** The owner of a session: two servers may share a generation, but neither policy nor tools. */
export type SessionOwner = Pick<SessionInput, 'server' | 'generation'>;

// As many as there may be servers.
const maxGenerations = 10_000;

/** Generations with a property that the next session needs. Drops the oldest when it grows too large. */
export class GenerationSet extends Set<string> {
  override add(generation: string): this {
    super.add(generation);
    const [oldest] = this;
    if (this.size > maxGenerations && oldest !== undefined) this.delete(oldest);
    return this;
  }
}

/** Answers the questions of servers. */
export interface QuestionPorts {
  /** The kinds of questions that sessions announce. */
  readonly kinds: readonly QuestionKind[];
  /** Undefined = no roots are announced. */
  roots(): readonly RootFolder[] | undefined;
  /** Calls back when they differ, until the function that is returned is called. */
  onRootsChanged(callback: () => void): () => void;
  /** Undefined = no one can answer, or the signal was aborted. Never rejects. */
  ask(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined>;
}

export interface SessionPorts {
  /** Read again at each step, so that a new policy counts at once. */
  specOf(owner: SessionOwner): SessionTarget | undefined;
  /** Where `${VAR}` finds its value at connect time. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly registry: {
    /** Called before `session.opened` is sent. */
    opened(actorId: string, handle: SessionHandle): void;
    /** Called before the session ends, and when an opened session is disposed of. */
    closed(actorId: string, session: number): void;
  };
  readonly catalogs: {
    /** Called before `session.listed` is sent. */
    put(owner: SessionOwner, tools: readonly ListedTool[], extra?: CatalogExtra): void;
    /** Lists besides the tools; each replaces its predecessor. */
    putSide(owner: SessionOwner, lists: Partial<SideLists>): void;
  };
  readonly eras: {
    get(generation: string): EraVerdict | undefined;
    set(generation: string, verdict: EraVerdict): void;
    /** The verdict was wrong: the next session probes again. */
    forget(generation: string): void;
  };
  readonly watched: {
    /** URIs of the server's resources that hosts watch. */
    of(server: string): readonly string[];
    /** These changed, or may have changed unnoticed. */
    changed(server: string, uris: readonly string[]): void;
  };
  /** The lowest log level that hosts requested; undefined = none. Absent = never. */
  readonly logLevel?: () => LogLevel | undefined;
  /** The server sent a notification for hosts, on which the session does not act. */
  readonly notified?: (
    server: string,
    method: string,
    params: Readonly<Record<string, unknown>>,
  ) => void;
  /** Registers the processes that sessions start. */
  readonly processes?: Pick<ProcessKeeper, 'expect'> | undefined;
  /** Generations that are reached over SSE although their settings leave the type open. Absent = none. */
  readonly overSse?: Set<string>;
  /**
   * Generations whose process exited at the era probe and that have not opened since: they are not
   * probed again until they have answered the old handshake. Absent = none.
   */
  readonly leftWhenAsked?: Set<string>;
  /** A command resolves to another program than the approved one, or its variables file sets other names; nothing was started. */
  readonly onExecutableMoved?: () => void;
  /** Servers inside the host, by the name in their specs. */
  readonly embedded?: ReadonlyMap<string, EmbeddedServer>;
  /** Resolves references other than variables; absent = only variables are resolved. */
  readonly values?: Pick<ValueSource, 'find'>;
  /** Absent: servers may not ask questions. */
  readonly questions?: QuestionPorts;
  /** One printable line without secrets: output of the server, or a remark about it. */
  log(server: string, line: string, from: LogOrigin): void;
}
