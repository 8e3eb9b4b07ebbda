/**
 * The clients of commands that use this troupe from another environment than its own: the commands of one
 * environment share one, which lasts a minute longer than they do.
 */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { TroupeError } from '../../domain/troupe-error.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { retain } from '../../runtime/retention.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import type { ControlArgs, ControlCommand } from '../control/schemas.ts';
import type { ControlContext, ControlHandler } from '../control/server.ts';

/** As the troupe itself. */
const keptMs = 60_000;
// One for each environment of the last minute: a few terminals and scripts.
const mostClients = 16;
/** What shells change from one command to the next, and what no server gets unless it asks. */
const ofShells: ReadonlySet<string> = new Set(['_', 'OLDPWD', 'SHLVL']);

type Place = ControlArgs['join'];
/** A client, and what runs its commands. */
type Opened = readonly [client: Troupe, run: ControlHandler];

interface JoinedClient {
  readonly opened: Promise<Opened>;
  /** Notes a command that uses it; returns the note of its end. */
  readonly use: () => () => void;
}

/** Names the settings and the environment of a command. */
export function placeKey({ userSettings, env }: Place): string {
  const kept = Object.entries(env).filter(([name]) => !ofShells.has(name));
  const text = canonicalize({ userSettings, env: Object.fromEntries(kept) }) as string;
  return createHash('sha256').update(text).digest('hex');
}

export class JoinedClients {
  readonly #clients = new Map<string, JoinedClient>();
  readonly #open: (place: Place) => Promise<Opened>;
  readonly #close: (client: Troupe) => Promise<void>;

  constructor(open: (place: Place) => Promise<Opened>, close: (client: Troupe) => Promise<void>) {
    this.#open = open;
    this.#close = close;
  }

  /** Has the further commands of a connection run for the client of their place. */
  async join(place: Place, { signal, serveWith }: ControlContext): Promise<void> {
    const key = placeKey(place);
    if (!this.#clients.has(key) && this.#clients.size >= mostClients)
      throw new TroupeError('OVERLOADED', 'too many environments use this troupe; use --alone', {
        retryable: true,
      });
    const joined = this.#clients.get(key) ?? this.#add(key, place);
    const leave = joined.use();
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    const [client, run] = await joined.opened;
    serveWith?.((command, args, context) => {
      startForOffers(client, command, args);
      return run(command, args, context);
    });
  }

  #add(key: string, place: Place): JoinedClient {
    let users = 0;
    let leftAt = realClock.now();
    const use = () => ({ isInUse: users > 0, unusedMs: realClock.now() - leftAt, keptMs });
    const opened = this.#open(place);
    const forget = (): void => {
      this.#clients.delete(key);
      opened.then(([client]) => this.#close(client)).catch(() => undefined);
    };
    const { useChanged } = retain(realClock, use, forget);
    // The command reports it.
    opened.catch(forget);
    const joined: JoinedClient = {
      opened,
      use() {
        users += 1;
        useChanged();
        return () => {
          users -= 1;
          leftAt = realClock.now();
          useChanged();
        };
      },
    };
    this.#clients.set(key, joined);
    return joined;
  }
}

/** The lists of all servers, which have to run for them. */
const offers: ReadonlySet<ControlCommand> = new Set(['tools', 'resources', 'prompts'] as const);

/** Starts the servers that start on demand, for a command that lists what all offer. */
export function startForOffers(troupe: Troupe, command: ControlCommand, args: unknown): void {
  const { server } = args as { readonly server?: string };
  if (!offers.has(command) || server !== undefined) return;
  for (const { name, state } of troupe.snapshot().servers)
    if (state === 'dormant') troupe.send({ type: 'server.start', server: name });
}
