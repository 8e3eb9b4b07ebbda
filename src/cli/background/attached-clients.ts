/**
 * The clients that other processes attach to this troupe: each gets a client of the troupe with its own
 * settings, environment and gateway, and shares the servers' processes with the others.
 */

import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import { questionKinds } from '../../domain/question.ts';
import { isUsable } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { version } from '../../domain/version.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { controlHandler } from '../control/commands.ts';
import type { ControlResults } from '../control/protocol.ts';
import { identityOf } from '../control/running-troupe.ts';
import type { ControlArgs, ControlCommand } from '../control/schemas.ts';
import type { ControlContext, ControlHandler } from '../control/server.ts';
import { requireServer } from '../control/settled-servers.ts';
import { type Launch, troupeOptionsOf } from '../launch.ts';
import { requireView } from '../run/gateway-notes.ts';
import type { HereHandler } from '../run/inspect-here.ts';

/** Commands that apply to a server for all clients, by the event for those clients. */
const ofEveryClient = { start: 'server.start', stop: 'server.stop' } as const;
/** Commands about a server as it runs. */
const ofOneClient: ReadonlySet<ControlCommand> = new Set([
  'explain',
  'logs',
  'refresh',
  'restart',
  'usage',
] as const);

interface AttachedClient {
  readonly end: () => Promise<void>;
  readonly run: HereHandler;
}

export class AttachedClients {
  readonly #troupe: Troupe;
  readonly #launch: Launch;
  readonly #inner: HereHandler;
  readonly #clients = new Map<Troupe, AttachedClient>();

  /** @param inner - runs all other commands */
  constructor(troupe: Troupe, launch: Launch, inner: HereHandler) {
    this.#troupe = troupe;
    this.#launch = launch;
    this.#inner = inner;
  }

  readonly handler: ControlHandler = async (command, args, context) => {
    if (command === 'attach') return this.#attach(args as ControlArgs['attach'], context);
    // A troupe that a user started ends when the user ends it.
    if (command === 'retire') return { ends: false };
    const { server } = args as { readonly server?: string };
    if (server !== undefined && command in ofEveryClient)
      for (const client of this.#clients.keys())
        if (client.status(server) !== undefined)
          client.send({ type: ofEveryClient[command as keyof typeof ofEveryClient], server });
    const run = ofOneClient.has(command) ? this.#handlerFor(server) : this.#inner;
    const result = await run(command, args, context);
    return command === 'status' ? this.#withUsers(result as TroupeSnapshot, server) : result;
  };

  /** Whether there are any. */
  get isUsed(): boolean {
    return this.#clients.size > 0;
  }

  /** Ends all, with the time that their requests get. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(({ end }) => end()));
  }

  async #attach(
    { name, config, bare, allow, trusted, roots, only, view, env }: ControlArgs['attach'],
    { handOver, signal }: ControlContext,
  ): Promise<ControlResults['attach']> {
    const { attachedGateway } = await import('./attached-gateway.ts');
    const { allow: _allow, trusted: _trusted, ...own } = this.#launch;
    const launch: Launch = {
      ...own,
      configFiles: config,
      bare,
      ...defined({ allow: allow ?? undefined, trusted: trusted === true ? trusted : undefined }),
    };
    const { stateDir: _stateDir, ...options } = troupeOptionsOf(
      launch,
      only === undefined ? undefined : [only],
    );
    const client = this.#troupe.openClient({
      ...options,
      ...defined({ roots }),
      // The troupe in the background starts servers on demand; a client starts them at once.
      policy: 'default',
      name,
      env,
      questions: questionKinds,
    });
    const gateway = attachedGateway(client, launch, defined({ only, view }));
    const end = async (): Promise<void> => {
      this.#clients.delete(client);
      gateway.close();
      await client.stop();
    };
    const run = controlHandler(client, identityOf(launch, version)) as HereHandler;
    this.#clients.set(client, { end, run });
    try {
      await client.ready();
      if (signal.aborted) throw new TroupeError('CANCELLED', 'the connection closed meanwhile');
      if (only !== undefined) requireServer(client, only);
      requireView(client, view);
    } catch (error) {
      await end();
      throw error;
    }
    handOver?.((socket) => {
      const leave = gateway.serve(socket, end);
      this.#clients.set(client, { run, end: leave });
    });
    return { pid: process.pid };
  }

  /** Runs commands for a client that has the server, if the troupe itself has not started it. */
  #handlerFor(server: string | undefined): HereHandler {
    const isUp = (troupe: Troupe): boolean => {
      const status = server === undefined ? undefined : troupe.status(server);
      return status !== undefined && isUsable(status.state);
    };
    if (isUp(this.#troupe)) return this.#inner;
    return [...this.#clients].find(([client]) => isUp(client))?.[1].run ?? this.#inner;
  }

  /** A server that only other clients have started has the status that it has for them. */
  #withUsers(snapshot: TroupeSnapshot, server: string | undefined): TroupeSnapshot {
    const clients = [...this.#clients.keys()];
    const statusOf = (status: ServerStatus): ServerStatus => {
      if (isUsable(status.state)) return status;
      const others = clients.flatMap((client) => client.status(status.name) ?? []);
      return others.find(({ state }) => isUsable(state)) ?? status;
    };
    const names = new Set(snapshot.servers.map(({ name }) => name));
    const further =
      server === undefined
        ? clients
            .flatMap((client) => client.snapshot().servers)
            .filter(({ name }) => !names.has(name) && names.add(name))
        : [];
    return { ...snapshot, servers: [...snapshot.servers.map(statusOf), ...further] };
  }
}
