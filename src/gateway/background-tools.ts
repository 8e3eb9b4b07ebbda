/**
 * Calls of clients that a policy has put in the background, and the two tools by which their
 * clients get the answer or give it up. Each has a name that cannot be guessed, and that is good
 * for the session of its client alone; clients without sessions have proved by their token that
 * they are let in, and by the name that the call is theirs.
 */

import { randomBytes } from 'node:crypto';

import { TroupeError } from '../domain/troupe-error.ts';
import { printableLine } from '../policies/text/printable.ts';
import type { CallReport, Troupe } from '../runtime/troupe.ts';

type Item = Readonly<Record<string, unknown>>;

/** A call that goes on without its client. */
interface Parked {
  /** What the runtime calls it. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly owner: object;
  readonly abort: () => void;
}

/** A result for a client; of a call that has ended, with the server that answers for it. */
export interface Told {
  readonly result: CallReport['result'];
  /** Empty = the words are ours. */
  readonly server: string;
}

const collectName = 'collect_call';
const cancelName = 'cancel_call';
/** Whose connection does not tell whose call it is. */
export const anybody = {};

// 128 bits: nobody comes upon one by trying.
const idBytes = 16;
// Shorter than the patience of the usual client, which is a minute.
const usualWaitSeconds = 30;
const longestWaitSeconds = 300;
const backgroundKey = 'mcp-troupe/background';

const idProperty = {
  type: 'string',
  description: 'The id in the answer of the call that went to the background.',
};

/** What clients are shown while some call may go to the background. */
const items: readonly Item[] = [
  {
    name: cancelName,
    description: 'Gives up a call that goes on in the background. Its server is told.',
    inputSchema: { type: 'object', properties: { id: idProperty }, required: ['id'] },
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  {
    name: collectName,
    description:
      'Waits for a call that goes on in the background, and hands out its answer, once. When it still runs after the wait, collect it again.',
    inputSchema: {
      type: 'object',
      properties: {
        id: idProperty,
        waitSeconds: {
          type: 'number',
          minimum: 0,
          maximum: longestWaitSeconds,
          default: usualWaitSeconds,
          description: 'How long to wait for it.',
        },
      },
      required: ['id'],
    },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
];

export class BackgroundTools {
  readonly #troupe: Troupe;
  readonly #parked = new Map<string, Parked>();

  constructor(troupe: Troupe) {
    this.#troupe = troupe;
  }

  /** These tools and the two. A server that is passed through alone goes before us. */
  beside(listed: readonly Item[]): readonly Item[] {
    return [
      ...listed,
      ...items.filter(({ name }) => !listed.some((each) => each['name'] === name)),
    ];
  }

  /** Whether this is one of the two, for a client that may know of them. */
  has(exposed: string, listed: readonly Item[]): boolean {
    if (exposed !== collectName && exposed !== cancelName) return false;
    const isOffered = this.#parked.size > 0 || this.#troupe.backgroundServers().length > 0;
    return isOffered && !listed.some(({ name }) => name === exposed);
  }

  /** What a client is told of a call; one that went to the background is remembered for it. */
  receipt({ result, meta }: CallReport, owner: object, abort: () => void): CallReport['result'] {
    if (meta.background === undefined) return result;
    this.#forgetOld();
    const id = `background-${randomBytes(idBytes).toString('base64url')}`;
    const { server, tool } = meta;
    this.#parked.set(id, { id: meta.background, server, tool, owner, abort });
    return told(
      `Tool ${tool} of ${server} takes long and goes on in the background. Its answer is not here yet: collect it with the tool ${collectName} and the id ${id}, or give it up with ${cancelName}.`,
      id,
    );
  }

  /** The server of a call, for who counts; empty where there is none. */
  serverOf(id: unknown): string {
    return (typeof id === 'string' ? this.#parked.get(id)?.server : undefined) ?? '';
  }

  /** Runs one of the two. @throws TroupeError what the call failed with; `INVALID_ARGUMENTS`, `CANCELLED`. */
  async call(exposed: string, args: Item, owner: object, signal: AbortSignal): Promise<Told> {
    const [id, parked] = this.#find(args['id'], owner);
    if (exposed === collectName) return this.#collect(id, parked, waitIn(args), signal);
    const isOver = this.#known().get(parked.id) !== 'running';
    if (isOver) return ours(`This call has ended before. Its answer waits for ${collectName}.`, id);
    this.#parked.delete(id);
    parked.abort();
    // What became of it is the answer; nobody collects it otherwise.
    const end = await this.#troupe.collect(parked.id).catch((error: unknown) => error);
    const what = end instanceof TroupeError ? `Outcome: ${end.outcome}.` : 'It ended meanwhile.';
    return ours(`The call of ${parked.tool} on ${parked.server} was given up. ${what}`);
  }

  /** This client does not come back: nobody else can collect what it left. */
  leave(owner: object): void {
    for (const [id, parked] of this.#parked) {
      if (parked.owner !== owner) continue;
      this.#parked.delete(id);
      parked.abort();
      this.#troupe.collect(parked.id).catch(() => undefined);
    }
  }

  async #collect(id: string, parked: Parked, seconds: number, signal: AbortSignal): Promise<Told> {
    const running = ours(
      `Tool ${parked.tool} of ${parked.server} still runs. Collect it again with the same id.`,
      id,
    );
    if (seconds === 0 && this.#known().get(parked.id) === 'running') return running;
    try {
      const timeoutMs = seconds * 1_000;
      const { result } = await this.#troupe.collect(parked.id, { timeoutMs, signal });
      this.#parked.delete(id);
      return { result, server: parked.server };
    } catch (error) {
      if (this.#known().has(parked.id)) {
        if (signal.aborted) throw error;
        return running;
      }
      this.#parked.delete(id);
      throw error;
    }
  }

  #find(id: unknown, owner: object): readonly [string, Parked] {
    this.#forgetOld();
    const parked = typeof id === 'string' ? this.#parked.get(id) : undefined;
    if (typeof id === 'string' && parked?.owner === owner) return [id, parked];
    const shown = typeof id === 'string' ? ` ${printableLine(id, 128)}` : '';
    throw new TroupeError(
      'INVALID_ARGUMENTS',
      `This client has no call${shown} in the background: it was collected or given up, or forgotten an hour after its end. Take the id from the answer of the call.`,
    );
  }

  /** The runtime bounds number and age; what it has forgotten is forgotten here. */
  #forgetOld(): void {
    const known = this.#known();
    for (const [id, parked] of this.#parked) if (!known.has(parked.id)) this.#parked.delete(id);
  }

  #known(): ReadonlyMap<string, string> {
    return new Map(this.#troupe.backgroundCalls().map(({ id, state }) => [id, state]));
  }
}

function waitIn({ waitSeconds: wait = usualWaitSeconds }: Item): number {
  if (typeof wait === 'number' && wait >= 0 && wait <= longestWaitSeconds) return wait;
  throw new TroupeError(
    'INVALID_ARGUMENTS',
    `waitSeconds is a number from 0 to ${longestWaitSeconds}.`,
  );
}

function ours(text: string, id?: string): Told {
  return { result: told(text, id), server: '' };
}

function told(text: string, id?: string): CallReport['result'] {
  return {
    content: [{ type: 'text', text }],
    ...(id !== undefined && { _meta: { [backgroundKey]: id } }),
  };
}
