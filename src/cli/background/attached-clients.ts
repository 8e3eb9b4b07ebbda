/**
 * The clients that other processes attach to this troupe: each gets a client of the troupe with its own
 * settings, environment and gateway, and shares the servers' processes with the others.
 */

import { defined } from '../../domain/data/defined.ts';
import type { Explanation } from '../../domain/host/explanation.ts';
import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import { type Question, questionKinds } from '../../domain/question.ts';
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
import { JoinedClients, placeKey } from './joined-clients.ts';

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

const processCommands = { attach: true, join: true, retire: true } as const;

interface AttachedClient {
  readonly name: string;
  readonly end: () => Promise<void>;
  readonly run: HereHandler;
  /** Whether it is for commands, rather than for a gateway. */
  readonly isJoined?: true;
}

export class AttachedClients {
  readonly #troupe: Troupe;
  readonly #launch: Launch;
  readonly #inner: HereHandler;
  readonly #clients = new Map<Troupe, AttachedClient>();
  readonly #joined = new JoinedClients(
    (place) => this.#openJoined(place),
    async (client) => this.#clients.get(client)?.end(),
  );
  readonly #ownPlace: string | undefined;

  /**
   * @param inner - runs all other commands
   * @param env - the troupe's environment, in which commands are its own. Default: in any
   */
  constructor(
    troupe: Troupe,
    launch: Launch,
    inner: HereHandler,
    env?: Readonly<Record<string, string | undefined>>,
  ) {
    this.#troupe = troupe;
    this.#launch = launch;
    this.#inner = inner;
    const { userSettings } = launch;
    this.#ownPlace = env && placeKey({ userSettings, env: defined(env) as Record<string, string> });
  }

  readonly handler: ControlHandler = async (command, args, context) => {
    switch (command) {
      case 'attach':
        return this.#attach(args as ControlArgs['attach'], context);
      case 'join':
        return this.#join(args as ControlArgs['join'], context);
      case 'retire':
        // A troupe that a user started ends when the user ends it.
        return { ends: false };
      case 'questions':
        return { questions: this.#questions() };
      case 'answer':
        return this.#handlerOf((args as ControlArgs['answer']).id)(command, args, context);
      default:
        return this.#aboutServers(command, args, context);
    }
  };

  /** Runs the commands that concern the servers of all clients. */
  async #aboutServers(...[command, args, context]: Parameters<HereHandler>): Promise<unknown> {
    const { server } = args as { readonly server?: string };
    if (server !== undefined && command in ofEveryClient)
      for (const client of this.#clients.keys())
        if (client.status(server) !== undefined)
          client.send({ type: ofEveryClient[command as keyof typeof ofEveryClient], server });
    const client = ofOneClient.has(command) ? this.#clientOf(server) : undefined;
    const result = await (client?.run ?? this.#inner)(command, args, context);
    if (command === 'status') return this.#withUsers(result as TroupeSnapshot, server);
    if (command !== 'explain' || client === undefined) return result;
    const { sharedWith = [], ...explanation } = result as Explanation;
    return { ...explanation, sharedWith: [client.name, ...sharedWith] };
  }

  /** Whether there are any. */
  get isUsed(): boolean {
    return this.#clients.size > 0;
  }

  /** Ends all, with the time that their requests get. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(({ end }) => end()));
  }

  async #attach(
    { name, config, bare, allow, trusted, ...more }: ControlArgs['attach'],
    { handOver, signal }: ControlContext,
  ): Promise<ControlResults['attach']> {
    const { roots, only, view, env, userSettings = this.#launch.userSettings } = more;
    const { attachedGateway } = await import('./attached-gateway.ts');
    const { allow: _allow, trusted: _trusted, ...own } = this.#launch;
    const launch: Launch = {
      ...own,
      configFiles: config,
      bare,
      userSettings,
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
    this.#clients.set(client, { name, end, run });
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
      this.#clients.set(client, { name, run, end: leave });
    });
    return { pid: process.pid };
  }

  async #join(
    place: ControlArgs['join'],
    context: ControlContext,
  ): Promise<ControlResults['join']> {
    const isOwn = this.#ownPlace === undefined || this.#ownPlace === placeKey(place);
    if (!isOwn) await this.#joined.join(place, context);
    return { pid: process.pid };
  }

  async #openJoined({ userSettings, env }: ControlArgs['join']) {
    const launch: Launch = { ...this.#launch, userSettings };
    const { stateDir: _stateDir, ...options } = troupeOptionsOf(launch);
    const name = 'commands with another environment';
    const client = this.#troupe.openClient({
      ...options,
      policy: { startup: { mode: 'lazy' } },
      name,
      env,
      // Keeps questions open, to be answered with `troupe answer`.
      onQuestion: () => undefined,
    });
    const commands = controlHandler(client, identityOf(launch, version), {
      onQuestion: () => undefined,
    });
    const run: ControlHandler = (command, args, context) =>
      command === 'inspect' || command in processCommands
        ? this.handler(command, args, context)
        : commands(command as Parameters<typeof commands>[0], args, context);
    const end = async (): Promise<void> => {
      this.#clients.delete(client);
      await client.stop();
    };
    this.#clients.set(client, { name, end, run, isJoined: true });
    await client.ready();
    return [client, run] as const;
  }

  /** Those that can be answered with a command. */
  #questions(): readonly Question[] {
    const joined = [...this.#clients].filter(([, { isJoined }]) => isJoined === true);
    return [this.#troupe, ...joined.map(([client]) => client)].flatMap((each) => each.questions());
  }

  /** The commands of the client that has the question. */
  #handlerOf(question: string): HereHandler {
    const asked = [...this.#clients].find(([client]) =>
      client.questions().some(({ id }) => id === question),
    );
    return asked?.[1].run ?? this.#inner;
  }

  /** A client that has the server, if the troupe itself has not started it. */
  #clientOf(server: string | undefined): AttachedClient | undefined {
    const isUp = (troupe: Troupe): boolean => {
      const status = server === undefined ? undefined : troupe.status(server);
      return status !== undefined && isUsable(status.state);
    };
    if (isUp(this.#troupe)) return undefined;
    return [...this.#clients].find(([client]) => isUp(client))?.[1];
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
