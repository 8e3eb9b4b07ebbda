/**
 * What a session borrows from the runtime. Everything in here is synchronous and
 * must not throw; the session calls it from its own code, never from a chart.
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

/** Which era a server was found to speak, as plain JSON; given back, it saves the probe. */
export type EraVerdict = PriorDiscovery;

/** What a session needs to know of its server when it opens. */
export interface SessionTarget {
  readonly spec: ServerSpec;
  readonly policy: ServerPolicy;
  /** What was approved as the program to run; null = nothing was found. Absent: no approval is needed. */
  readonly executable?: string | null;
  /** The project folder, for a server that it brings: the program is looked up only inside it. */
  readonly within?: string;
  /** The approved names of its variables file, sorted; null = the file could not be read. Absent: no approval is needed. */
  readonly envFileNames?: readonly string[] | null;
}

/** What a server said of itself besides its tools. */
export interface CatalogExtra {
  /** At most 16 KB, printable. */
  readonly instructions?: string;
  /** It completes arguments of prompts and templates. */
  readonly completions?: true;
  /** Tools are missing from the list: not fit to be stored for a later run. */
  readonly partial?: true;
  /** What must not be written to a disk, should a server have put it into its words. */
  readonly secrets?: readonly string[];
}

/** Whose session it is: two servers may share a generation, but neither policy nor tools. */
export type SessionOwner = Pick<SessionInput, 'server' | 'generation'>;

export interface GenerationSet {
  has(generation: string): boolean;
  add(generation: string): void;
  delete(generation: string): void;
}

/** Who answers what servers ask. */
export interface QuestionPorts {
  /** What sessions may announce that they answer. */
  readonly kinds: readonly QuestionKind[];
  /** Undefined = servers are not told of any. */
  roots(): readonly RootFolder[] | undefined;
  /** Calls back when they differ, until the function that is returned is called. */
  onRootsChanged(callback: () => void): () => void;
  /** Undefined = nobody can answer, or the signal said that nobody waits any more. Never rejects. */
  ask(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined>;
}

export interface SessionPorts {
  /** Looked up at `session.open` and again at each list and close, so that a new policy counts at once. */
  specOf(owner: SessionOwner): SessionTarget | undefined;
  /** Where `${VAR}` finds its value at connect time. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly registry: {
    /** Called before `session.opened` is sent. */
    opened(actorId: string, handle: SessionHandle): void;
    /** Called before `session.closed` is sent, and when an opened session is disposed of. */
    closed(actorId: string, session: number): void;
  };
  readonly catalogs: {
    /** Called before `session.listed` is sent. */
    put(owner: SessionOwner, tools: readonly ListedTool[], extra?: CatalogExtra): void;
    /** Lists that come after the tools, each in place of the one before. */
    putSide(owner: SessionOwner, lists: Partial<SideLists>): void;
  };
  readonly eras: {
    get(generation: string): EraVerdict | undefined;
    set(generation: string, verdict: EraVerdict): void;
    /** The verdict did not hold: the next opening asks again. */
    forget(generation: string): void;
  };
  readonly watched: {
    /** Addresses of the server's resources that hosts watch; the session follows them. */
    of(server: string): readonly string[];
    /** These changed, or may have changed while nobody listened. */
    changed(server: string, uris: readonly string[]): void;
  };
  /** From which level on hosts want the log of servers; undefined = they did not say. Absent = never. */
  readonly logLevel?: () => LogLevel | undefined;
  /** The server sent a notification that hosts may want, and that nothing here acts on. */
  readonly notified?: (
    server: string,
    method: string,
    params: Readonly<Record<string, unknown>>,
  ) => void;
  /** Keeps account of the processes that sessions start; absent = nobody does. */
  readonly processes?: Pick<ProcessKeeper, 'expect'> | undefined;
  /** Which generations were met with SSE although their settings leave the type open. Absent = never. */
  readonly overSse?: GenerationSet;
  /**
   * Which generations left when they were asked for their era and have not opened since: they
   * are not asked again until they have answered the old handshake. Absent = never.
   */
  readonly leftWhenAsked?: GenerationSet;
  /** A command leads to another program than the approved one, or its variables file sets other names; nothing was started. */
  readonly onExecutableMoved?: () => void;
  /** Servers inside the host, by the name in their specs. */
  readonly embedded?: ReadonlyMap<string, EmbeddedServer>;
  /** Finds what values refer to besides variables; absent = nothing but variables is understood. */
  readonly values?: Pick<ValueSource, 'find'>;
  /** Absent: servers may ask nothing. */
  readonly questions?: QuestionPorts;
  /** One printable line without secrets: words of the server, or a remark about it. */
  log(server: string, line: string, from: LogOrigin): void;
}
