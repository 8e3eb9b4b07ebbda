/**
 * Calls that a policy moved to the background, and two tools with which clients collect or cancel them. Each
 * call has an unguessable id. In a session, the id is valid only for that session's client; a client without a
 * session proves its access by the token, and its ownership of the call by the id.
 */

import { randomBytes } from 'node:crypto';
import { printableLine } from '../domain/data/printable.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { argumentsError } from '../domain/user-errors.ts';
import type { CallReport, Troupe } from '../runtime/troupe.ts';
import type { OnRevoked } from './held-calls.ts';

type Item = Readonly<Record<string, unknown>>;
type BackgroundTroupe = Pick<Troupe, 'backgroundCalls' | 'backgroundServers' | 'collect'>;

/** A call that continues without its client. */
interface Parked {
  /** The runtime's id. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly owner: object | string;
  readonly abort: () => void;
  endWatch: () => void;
}

/** A result for a client. */
interface BackgroundAnswer {
  readonly result: CallReport['result'];
  /** The server that produced the result; empty when the gateway did. */
  readonly server: string;
}

const collectName = 'collect_call';
const cancelName = 'cancel_call';
/** Owner of the calls of all clients without a session. */
export const sessionlessOwner = {};

// 128 bits: cannot be guessed.
const idBytes = 16;
// Shorter than the usual client time-out of a minute.
const usualWaitSeconds = 30;
const longestWaitSeconds = 300;
const backgroundKey = 'mcp-troupe/background';

const idProperty = {
  type: 'string',
  description: 'The id from the result of the call that was moved to the background.',
};

/** Listed while calls may be moved to the background. */
const items: readonly Item[] = [
  {
    name: cancelName,
    description: 'Cancels a call that runs in the background, and notifies its server.',
    inputSchema: { type: 'object', properties: { id: idProperty }, required: ['id'] },
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  {
    name: collectName,
    description:
      'Waits for a call that runs in the background and returns its result, once. If it is still running after the wait, collect it again.',
    inputSchema: {
      type: 'object',
      properties: {
        id: idProperty,
        waitSeconds: {
          type: 'number',
          minimum: 0,
          maximum: longestWaitSeconds,
          default: usualWaitSeconds,
          description: 'How long to wait, in seconds.',
        },
      },
      required: ['id'],
    },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
];

export class BackgroundTools {
  readonly #troupe: BackgroundTroupe;
  readonly #parked = new Map<string, Parked>();

  constructor(troupe: BackgroundTroupe) {
    this.#troupe = troupe;
  }

  /** Adds the two tools. A server's own tool of the same name, as with `--only`, takes precedence. */
  beside(listed: readonly Item[]): readonly Item[] {
    return [
      ...listed,
      ...items.filter(({ name }) => !listed.some((each) => each['name'] === name)),
    ];
  }

  /** Whether a name means one of the two tools. */
  has(exposed: string, listed: readonly Item[]): boolean {
    if (exposed !== collectName && exposed !== cancelName) return false;
    const isOffered = this.#parked.size > 0 || this.#troupe.backgroundServers().length > 0;
    return isOffered && !listed.some(({ name }) => name === exposed);
  }

  /**
   * Returns a call's result, or a receipt with an id when the call moved to the background. The call ends once its
   * client may no longer collect it.
   */
  receipt(
    { result, meta }: CallReport,
    owner: object | string,
    abort: () => void,
    onRevoked?: OnRevoked,
  ): CallReport['result'] {
    if (meta.background === undefined) return result;
    this.#forgetOld();
    const id = `background-${randomBytes(idBytes).toString('base64url')}`;
    const { server, tool } = meta;
    const parked: Parked = {
      ...{ id: meta.background, server, tool, owner, abort },
      endWatch: () => undefined,
    };
    this.#parked.set(id, parked);
    if (onRevoked !== undefined) parked.endWatch = onRevoked(() => this.#drop(id, parked));
    return textResult(
      `Tool ${tool} of ${server} is still running and continues in the background. Get its result with the tool ${collectName} and the id ${id}, or cancel it with ${cancelName}.`,
      id,
    );
  }

  /** The server name used as a metrics label; empty if unknown. */
  serverOf(id: unknown): string {
    return (typeof id === 'string' ? this.#parked.get(id)?.server : undefined) ?? '';
  }

  /** Runs one of the two tools. @throws TroupeError the call's own error, `INVALID_ARGUMENTS` or `CANCELLED` */
  async call(
    exposed: string,
    args: Item,
    owner: object | string,
    signal: AbortSignal,
  ): Promise<BackgroundAnswer> {
    const [id, parked] = this.#find(args['id'], owner);
    if (exposed === collectName) return this.#collect(id, parked, waitIn(args), signal);
    const isOver = this.#known().get(parked.id) !== 'running';
    if (isOver) return own(`This call has already ended. Get its result with ${collectName}.`, id);
    this.#forget(id, parked);
    parked.abort();
    // The outcome is reported here, so nothing is left to collect.
    const end = await this.#troupe.collect(parked.id).catch((error: unknown) => error);
    const what = end instanceof TroupeError ? `Outcome: ${end.outcome}.` : 'It had already ended.';
    return own(`The call of ${parked.tool} on ${parked.server} was cancelled. ${what}`);
  }

  /** Whether a call of this owner has not ended. */
  isRunningFor(owner: object | string): boolean {
    const parked = [...this.#parked.values()].filter((each) => each.owner === owner);
    if (parked.length === 0) return false;
    const known = this.#known();
    return parked.some(({ id }) => known.get(id) === 'running');
  }

  /** Cancels the calls of a client that is gone, because no other client can collect them. */
  leave(owner: object | string): void {
    for (const [id, parked] of [...this.#parked])
      if (parked.owner === owner) this.#drop(id, parked);
  }

  #drop(id: string, parked: Parked): void {
    this.#forget(id, parked);
    parked.abort();
    this.#troupe.collect(parked.id).catch(() => undefined);
  }

  #forget(id: string, { endWatch }: Parked): void {
    this.#parked.delete(id);
    endWatch();
  }

  async #collect(
    id: string,
    parked: Parked,
    seconds: number,
    signal: AbortSignal,
  ): Promise<BackgroundAnswer> {
    const running = own(
      `Tool ${parked.tool} of ${parked.server} is still running. Collect it again with the same id.`,
      id,
    );
    if (seconds === 0 && this.#known().get(parked.id) === 'running') return running;
    try {
      const timeoutMs = seconds * 1_000;
      const { result } = await this.#troupe.collect(parked.id, { timeoutMs, signal });
      return { result, server: parked.server };
    } catch (error) {
      if (this.#known().has(parked.id) && !signal.aborted) return running;
      throw error;
    } finally {
      // Known until it was collected or removed.
      this.#forgetOld();
    }
  }

  #find(id: unknown, owner: object | string): readonly [string, Parked] {
    this.#forgetOld();
    const parked = typeof id === 'string' ? this.#parked.get(id) : undefined;
    if (typeof id === 'string' && parked?.owner === owner) return [id, parked];
    const shown = typeof id === 'string' ? ` ${printableLine(id, 128)}` : '';
    throw argumentsError(
      `This client has no call${shown} in the background. It was collected, cancelled, or removed an hour after its end. Use the id from the result of the call.`,
    );
  }

  /** Forgets calls that the runtime has removed; it limits their number and age. */
  #forgetOld(): void {
    const known = this.#known();
    for (const [id, parked] of this.#parked) if (!known.has(parked.id)) this.#forget(id, parked);
  }

  #known(): ReadonlyMap<string, string> {
    return new Map(this.#troupe.backgroundCalls().map(({ id, state }) => [id, state]));
  }
}

function waitIn({ waitSeconds: wait = usualWaitSeconds }: Item): number {
  if (typeof wait === 'number' && wait >= 0 && wait <= longestWaitSeconds) return wait;
  throw argumentsError(`waitSeconds must be a number from 0 to ${longestWaitSeconds}.`);
}

function own(text: string, id?: string): BackgroundAnswer {
  return { result: textResult(text, id), server: '' };
}

function textResult(text: string, id?: string): CallReport['result'] {
  return {
    content: [{ type: 'text', text }],
    ...(id !== undefined && { _meta: { [backgroundKey]: id } }),
  };
}
