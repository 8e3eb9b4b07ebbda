/**
 * Decides whose question it is when a server's question does not name its call, as over stdio, SSE
 * and WebSocket.
 *
 * Servers ask while they work on a call. So a question may belong to any call in flight, and to any
 * abandoned call without a response, because the server may still be working on it. It is attributed
 * to a client only if all these calls are of that client. Nothing in the question itself is
 * evidence: its progress token, for example, is the server's own.
 *
 * Between clients of one user, two kinds of calls do not count: an abandoned call once the server has
 * read that, because the protocol requires it to stop then, and, beside a call that has no open
 * question, one that waits for the answer to its own question.
 */

/** How long an abandoned call may still ask, because no call lasts longer. */
export const abandonedMs = 600_000;

/** The number of calls to remember. More than may be in flight, so only abandoned calls exceed it. */
export const maxRemembered = 256;

/** A call that a question may belong to. */
export interface AskingCall {
  /** Equal for all calls of one client; undefined if the caller is not known to make other calls. */
  readonly client: object | undefined;
  /** Equal for the clients of one user; undefined if the user is unknown. */
  readonly user: string | undefined;
  /** When the caller stopped waiting, in monotonic milliseconds; undefined while it waits. */
  readonly leftAt: number | undefined;
  /** Whether the server has certainly read that the caller stopped waiting. */
  readonly isStopped: boolean;
  /** Whether a question is open that certainly belongs to this call. */
  readonly isAsking: boolean;
}

/** Why a question belongs to no caller. */
export type Unattributed = 'noCall' | 'onlyAbandoned' | 'severalClients' | 'abandonedByOther';

export type QuestionOwner<Call> =
  /** The call is certain. */
  | { readonly type: 'call'; readonly call: Call }
  /** The client is certain, but not which of its calls in flight the question belongs to. */
  | { readonly type: 'client'; readonly calls: readonly Call[] }
  | { readonly type: 'nobody'; readonly why: Unattributed };

/** The calls of one session that its server may ask about. */
export class AskingCalls<Call extends AskingCall> {
  readonly #calls = new Map<number, Call>();
  /** Stands for abandoned calls beyond the limit; `client` and `user` are undefined for several. */
  #forgotten: (AskingCall & { readonly leftAt: number }) | undefined;
  /** The only client so far; null once there were several. */
  #onlyClient: object | null | undefined;

  /** Called when a call's request is sent. */
  sent(id: number, call: Call): void {
    if (this.#calls.size >= maxRemembered) this.#forgetOldest();
    this.#calls.set(id, call);
    const { client = null } = call;
    this.#onlyClient =
      this.#onlyClient === undefined || this.#onlyClient === client ? client : null;
  }

  /** Called when the server responds to a call, which may be late. */
  answered(id: number): void {
    this.#calls.delete(id);
  }

  get(id: number): Call | undefined {
    return this.#calls.get(id);
  }

  /** The calls whose callers wait, oldest first. */
  waiting(): readonly Call[] {
    return [...this.#calls.values()].filter(({ leftAt }) => leftAt === undefined);
  }

  /** The calls whose callers left, and which the server may not have stopped yet, oldest first. */
  abandonedAt(now: number): readonly Call[] {
    this.#forgetLongAbandoned(now);
    return [...this.#calls.values()].filter(
      ({ leftAt, isStopped }) => leftAt !== undefined && !isStopped,
    );
  }

  /** Whose question it is that arrives now among all other messages. */
  ownerAt(now: number): QuestionOwner<Call> {
    this.#forgetLongAbandoned(now);
    const waiting = this.waiting();
    const forgotten = this.#forgotten === undefined ? [] : [this.#forgotten];
    const all: readonly AskingCall[] = [...this.#calls.values(), ...forgotten];
    const first = waiting.find(({ isAsking }) => !isAsking) ?? waiting[0];
    if (first === undefined) return nobody(all.length > 0 ? 'onlyAbandoned' : 'noCall');
    const { client, user } = first;
    const isOther = (call: AskingCall): boolean =>
      call !== first && (client === undefined || call.client !== client);
    const isOver = (call: AskingCall): boolean =>
      user !== undefined &&
      call.user === user &&
      (call.leftAt === undefined ? call.isAsking && !first.isAsking : call.isStopped);
    const possible = all.filter((call) => !isOther(call) || !isOver(call));
    const others = possible.filter(isOther);
    if (others.length > 0)
      return nobody(
        others.some(({ leftAt }) => leftAt === undefined) ? 'severalClients' : 'abandonedByOther',
      );
    if (possible.length === 1) return { type: 'call', call: first };
    return { type: 'client', calls: waiting.filter((call) => !isOther(call)) };
  }

  /**
   * Whose question it is that arrives on a stream of its own, which may be about anything: it is
   * certain only if no other client ever used the session.
   */
  ownerOutsideCalls(): QuestionOwner<Call> {
    const calls = this.waiting();
    if (calls.length === 0) return nobody('noCall');
    return this.#onlyClient === null ? nobody('severalClients') : { type: 'client', calls };
  }

  #forgetOldest(): void {
    for (const [id, { client, user, leftAt, isStopped }] of this.#calls) {
      if (leftAt === undefined) continue;
      this.#calls.delete(id);
      const other = this.#forgotten ?? { client, user, leftAt, isStopped };
      this.#forgotten = {
        client: other.client === client ? client : undefined,
        user: other.user === user ? user : undefined,
        leftAt: Math.max(other.leftAt, leftAt),
        isStopped: other.isStopped && isStopped,
        isAsking: false,
      };
      return;
    }
  }

  #forgetLongAbandoned(now: number): void {
    const isOver = ({ leftAt = Infinity }: { readonly leftAt?: number | undefined }): boolean =>
      leftAt <= now - abandonedMs;
    for (const [id, call] of this.#calls) if (isOver(call)) this.#calls.delete(id);
    if (this.#forgotten !== undefined && isOver(this.#forgotten)) this.#forgotten = undefined;
  }
}

function nobody(why: Unattributed): { readonly type: 'nobody'; readonly why: Unattributed } {
  return { type: 'nobody', why };
}
