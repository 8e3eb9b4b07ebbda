import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { TroupeEventName } from '../../domain/host/event.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { Troupe, TroupeOptions } from '../../runtime/troupe.ts';
import { isAtTerminal } from '../ask/confirm.ts';
import { createInputPrompt } from '../ask/input.ts';
import { AttachedClients } from '../background/attached-clients.ts';
import type { StopSignal } from '../cli-host.ts';
import {
  type CliSession,
  type CommandDefinition,
  flag,
  rootFlag,
  telemetryFlag,
} from '../command.ts';
import type { ControlEvent } from '../control/protocol.ts';
import { identityOf } from '../control/running-troupe.ts';
import type { ControlHandler } from '../control/server.ts';
import { whyNoServers } from '../control/settled-servers.ts';
import { controlSocketPath } from '../control/socket-path.ts';
import { removeDeadCallSockets } from '../control/stale-sockets.ts';
import { parsePort } from '../flag-values.ts';
import {
  hasSettings,
  launchHash,
  rootFolders,
  settingsInUse,
  troupeOptionsOf,
  unknownAllowed,
} from '../launch.ts';
import { type InspectHere, inspectHere, recordedAlways } from '../run/inspect-here.ts';
import { stopOrderly, untilStopped } from '../run/stop.ts';
import { createTroupeView, type TroupeView } from '../show/troupe-view.ts';

const shown: readonly TroupeEventName[] = ['status.changed', 'reconciled', 'settings.invalid'];

/** States in which a server has a process or a connection to end. */
const engaged: ReadonlySet<ServerState> = new Set([
  'connecting',
  'loadingTools',
  'ready',
  'degraded',
  'stopping',
]);

interface UpFlags {
  readonly inspect?: number;
  /** True: a file in the state folder. */
  readonly journal?: string | true;
  readonly root?: readonly string[];
  readonly telemetry?: true;
}

// The exit code of a process killed by SIGPIPE (128 + 13), so that a supervisor restarts `up`.
const unreadCode = 141;

/** `up`: runs the troupe in the foreground. */
export const upCommand: CommandDefinition<UpFlags> = {
  usage: 'up',
  aliases: ['run'],
  summary: 'run the servers in your settings in the foreground and show their state',
  details:
    "Without --config it reads your own troupe.json, and the project folder's troupe.json and .mcp.json. " +
    'Servers from a project folder need troupe approve. Edits to the files are applied at once.',
  example: 'troupe up',
  options: [
    rootFlag,
    telemetryFlag,
    {
      ...flag(
        '--inspect [port]',
        'print a link to the live charts in a browser; default: any free port',
      ),
      preset: '0',
      parse: parsePort,
    },
    flag(
      '--journal [file]',
      'record what the charts do, for troupe replay; default: a file in the state folder',
    ),
  ],
  async run(session, _args, flags) {
    const { host, launch } = session;
    const roots = rootFolders(flags.root, host.cwd);
    if (isAtTerminal(session) && !hasSettings(launch)) {
      const { offerSettings } = await import('../import/init.ts');
      await offerSettings(session);
    }
    const { joinBackground } = await import('../background/join.ts');
    const joined = await joinBackground(session, flags);
    if (joined !== undefined) return joined;
    const inspect = await inspectOf(session, flags);
    const createTroupe = await host.loadRuntime();
    // Loaded late: it needs Zod, which no other command should wait for.
    const { openControlServer } = await import('../control/server.ts');
    // The socket opens first: a second `up` must fail before it starts a server.
    let answer: ControlHandler | undefined;
    await removeDeadCallSockets(launch);
    const socket = await openControlServer(controlSocketPath(launch), async (...request) => {
      if (answer !== undefined) return answer(...request);
      throw new TroupeError('CONNECTING', 'the troupe is just starting; try again', {
        retryable: true,
      });
    });
    let view: TroupeView | undefined;
    let inspecting: InspectHere | undefined;
    let attached: AttachedClients | undefined;
    return untilStopped(
      host,
      async (ended, request) => {
        try {
          const hold = (): (() => void) => view?.hold() ?? (() => undefined);
          const troupe = createTroupe({
            ...troupeOptionsOf(launch),
            ...defined({
              inspect,
              roots,
              inputs: createInputPrompt(session, { hold }),
            }),
            // Keeps questions open, to be answered with `troupe answer`.
            onQuestion: () => undefined,
            telemetry: flags.telemetry ?? false,
          });
          inspecting = inspectHere(troupe, identityOf(launch, host.version), flags.inspect);
          attached = new AttachedClients(troupe, launch, inspecting.handler);
          answer = attached.handler;
          if (flags.inspect !== undefined) await showInspector(session, inspecting, troupe);
          const screen = createTroupeView(session, {
            snapshot: () => troupe.snapshot(),
            footer: footerOf(session, socket.path),
          });
          view = screen;
          host.onRemark?.((line) => screen.say(line));
          for (const type of shown) {
            troupe.on(type, (event) => screen.event({ type, ...event } as ControlEvent));
          }
          await Promise.race([ended, showStart(session, troupe, screen, socket.path)]);
          const end = await ended;
          // The table would push the lines about the stop out of the window.
          screen.end();
          showStop(troupe, screen, request.received());
          // The troupe that its clients start instead can open the socket at once.
          if (attached.isUsed) socket.stopAccepting();
          await attached.close();
          await stopOrderly(troupe, request, { force: end !== undefined });
          screen.say('stopped');
          return end;
        } finally {
          view?.end();
          inspecting?.close();
          socket.close();
        }
      },
      unreadCode,
    );
  },
};

/**
 * A link that is requested later shows what was recorded until then.
 * @throws TroupeError `USAGE` when the journal would replace another file
 */
async function inspectOf(
  { host, launch }: CliSession,
  { inspect, journal }: UpFlags,
): Promise<TroupeOptions['inspect']> {
  if (journal === undefined) return inspect === undefined ? recordedAlways : true;
  const own = path.join(launch.stateFolder, 'journal', `${launchHash(launch)}.ndjson`);
  const file = journal === true ? own : path.resolve(host.cwd, journal);
  // Loaded late: few runs have a journal.
  const { requireJournals } = await import('../../recorder/journal.ts');
  await requireJournals(file);
  return { journal: file };
}

async function showInspector(
  { output }: CliSession,
  inspecting: InspectHere,
  troupe: Troupe,
): Promise<void> {
  try {
    output.note(`live charts: ${await inspecting.address()}`);
    output.note('this link works once; troupe inspect prints another');
  } catch (error) {
    // The requested port is not available, so do not run without the inspector.
    await troupe.stop();
    throw error;
  }
}

async function showStart(
  { launch, output }: CliSession,
  troupe: Troupe,
  view: TroupeView,
  socket: string,
): Promise<void> {
  await troupe.ready();
  const snapshot = troupe.snapshot();
  output.document({ ...snapshot, socket });
  view.say(...unknownAllowed(launch, snapshot.servers));
  if (snapshot.servers.length === 0) {
    view.say(whyNoServers(launch, snapshot));
    return;
  }
  const waiting = snapshot.servers
    .filter(({ reason }) => reason === 'pendingApproval')
    .map(({ name }) => printableLine(name, 100));
  const which = waiting.length === 1 ? waiting[0] : '--all';
  const many = waiting.length === 1 ? '' : `${waiting.length} servers `;
  const next = waiting.length === 0 ? '' : `; ${many}need approval: troupe approve ${which}`;
  view.say(`servers: ${snapshot.servers.length}${next}`);
}

function showStop(troupe: Troupe, view: TroupeView, received: StopSignal | undefined): void {
  const waiting = troupe
    .snapshot()
    .servers.filter(({ state }) => engaged.has(state))
    .map(({ name }) => name);
  const why = received === undefined ? 'stopping' : `${received}: stopping`;
  view.say(
    waiting.length === 0
      ? why
      : `${why}, waiting up to 5 s for ${waiting.join(', ')}; press Ctrl-C again to stop at once`,
  );
}

function footerOf({ launch, output }: CliSession, socketPath: string): string[] {
  const stop = output.interactive ? 'stop with Ctrl-C' : `stop with kill ${process.pid}`;
  return [
    `troupe of ${launch.projectRoot} (pid ${process.pid}); ${stop}`,
    `settings ${settingsInUse(launch)}`,
    `socket ${socketPath}`,
  ];
}
