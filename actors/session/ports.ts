/**
 * What a session needs from the runtime. All functions are synchronous and must not throw; the
 * session calls them from its own code, never from a chart.
 */

import type { Authenticator } from '../../src/domain/authorization.ts';
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
import type { Era, ServerSpec } from '../../src/domain/server-spec.ts';
import type { EraVerdict, SessionHandle, SessionInput } from '../../src/domain/session.ts';
import type { FolderFile } from '../../src/domain/settings.ts';
import type { ListedTool } from '../../src/domain/tool.ts';
import type { ProcessKeeper } from '../processes/started-processes.ts';
import type { StdioLaunch } from '../processes/system.ts';
import type { ConnectionSetup } from '../transports/connection/connection.ts';
import type { RemoteEndpoint } from '../transports/http/proxy-and-tls.ts';
import type { LeasedConnection } from '../transports/shared/leased-connection.ts';
import type { FolderScope } from '../values/folder-files.ts';
import type { ValueSource } from '../values/source.ts';
import type { AskableThings } from './calls/question-reading.ts';

/** The settings that a session needs to open a server. */
export interface SessionTarget {
  readonly spec: ServerSpec;
  readonly policy: ServerPolicy;
  /** The approved program; null if none was found. If absent, no approval is needed. */
  readonly executable?: string | null;
  /**
   * The project folder, for a server that comes with it: the program is looked up only inside it.
   */
  readonly within?: string;
  /**
   * The approved variable names of the server's variables file, sorted; null if the file could not
   * be read. If absent, no approval is needed.
   */
  readonly envFileNames?: readonly string[] | null;
  /**
   * The approved files of the folder in which a package runner starts, and where they are looked for. If
   * absent, they need no approval.
   */
  readonly folder?: FolderScope & { readonly approved: readonly FolderFile[] };
}

/** Facts about a server other than its tools. */
export interface CatalogExtra {
  /** The server's instructions, printable, at most 16 KB. */
  readonly instructions?: string;
  /** Whether the server completes arguments of prompts and templates. */
  readonly completions?: true;
  /** Whether tools are missing from the list, which is then not stored for a later run. */
  readonly partial?: true;
  /** Values that must not reach the disk, in case the server copied them into its own data. */
  readonly secrets?: readonly string[];
}

/** The owner of a session. Two servers may share a generation, but not a policy or tools. */
export type SessionOwner = Pick<SessionInput, 'server' | 'generation'>;

// As many as the maximum number of servers.
const maxGenerations = 10_000;

/** Generations with a property that the next session needs. Drops the oldest when there are too many. */
class GenerationSet extends Set<string> {
  override add(generation: string): this {
    super.add(generation);
    const [oldest] = this;
    if (this.size > maxGenerations && oldest !== undefined) this.delete(oldest);
    return this;
  }
}

/** Creates what all sessions find out about generations. */
export function createGenerationSets() {
  return {
    overSse: new GenerationSet(),
    leftWhenAsked: new GenerationSet(),
    onlyLists: new GenerationSet(),
  };
}

/** Answers servers' questions. */
export interface QuestionPorts {
  /** The kinds of questions that sessions announce. */
  readonly kinds: readonly QuestionKind[];
  /** The roots to announce; undefined if none are announced. */
  roots(): readonly RootFolder[] | undefined;
  /** Calls back when the roots change, until the returned function is called. */
  onRootsChanged(callback: () => void): () => void;
  /**
   * Resolves with the answer; undefined if no one can answer or the signal is aborted. Never
   * rejects.
   */
  ask(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined>;
}

/** The process that a session needs, and the session's end of the connection to it. */
export interface WantedProcess {
  readonly server: string;
  readonly launch: StdioLaunch;
  readonly era: Era;
  /** What the client declares in the handshake. */
  readonly questions: AskableThings | undefined;
  readonly connection: ConnectionSetup;
}

export interface SessionPorts {
  /**
   * Returns the current settings; called again at each step, so that a new policy takes effect at
   * once.
   */
  specOf(owner: SessionOwner): SessionTarget | undefined;
  /** Variables with which `${VAR}` is resolved at connect time. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the project, which local servers get as a variable. Default: they get none. */
  readonly projectRoot?: string;
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
    /** Stores lists other than tools; each list replaces its predecessor. */
    putSide(owner: SessionOwner, lists: Partial<SideLists>): void;
  };
  readonly eras: {
    get(generation: string): EraVerdict | undefined;
    set(generation: string, verdict: EraVerdict): void;
    /** Called when the stored era was wrong: the next session probes again. */
    forget(generation: string): void;
  };
  readonly watched: {
    /** Returns the URIs of the server's resources that hosts watch. */
    of(server: string): readonly string[];
    /** Called with resources that changed, or may have changed unnoticed. */
    changed(server: string, uris: readonly string[]): void;
  };
  /**
   * Returns the lowest log level that hosts requested; undefined if none. If this function is
   * absent, no host ever requests one.
   */
  readonly logLevel?: () => LogLevel | undefined;
  /** Called with a server notification for hosts, on which the session does not act. */
  readonly notified?: (
    server: string,
    method: string,
    params: Readonly<Record<string, unknown>>,
  ) => void;
  /**
   * Leases the process of a local server, which other sessions may use too. If absent, each session
   * has a process of its own.
   */
  readonly lease?: (wanted: WantedProcess) => LeasedConnection;
  /** Registers the processes that sessions start. */
  readonly processes?: Pick<ProcessKeeper, 'expect'> | undefined;
  /**
   * Generations reached over SSE although their settings leave the transport open. If absent, there
   * are none.
   */
  readonly overSse?: Set<string>;
  /**
   * Generations whose process exited at the era probe and that have not opened since; they are not
   * probed again until they have responded to the old handshake. If absent, there are none.
   */
  readonly leftWhenAsked?: Set<string>;
  /**
   * Generations that left `ping` unanswered and answered a list instead, which is how their health
   * is checked. If absent, each session finds out by itself.
   */
  readonly onlyLists?: Set<string>;
  /**
   * Called when a command resolves to a program other than the approved one, its variables file sets
   * other names, or its folder has other files that decide what runs; nothing was started.
   */
  readonly onExecutableMoved?: () => void;
  /** Servers inside the host, by the name in their specs. */
  readonly embedded?: ReadonlyMap<string, EmbeddedServer>;
  /** Resolves references other than variables; if absent, only variables are resolved. */
  readonly values?: Pick<ValueSource, 'find' | 'isNeededFor'>;
  /** Returns what authorizes a remote session's requests. If absent, none is authorized. */
  readonly authenticatorFor?: (
    owner: SessionOwner,
    endpoint: RemoteEndpoint,
  ) => Promise<Authenticator | undefined>;
  /** Answers servers' questions; if absent, servers may not ask any. */
  readonly questions?: QuestionPorts;
  /** Logs one printable line without secrets: server output, or a remark about the server. */
  log(server: string, line: string, from: LogOrigin): void;
}
