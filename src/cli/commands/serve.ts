import { hostname } from 'node:os';
import type { IssuerKeys } from '../../../actors/authorization/issuer-keys.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { questionKinds } from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { Gateway as GatewayType } from '../../gateway/gateway.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { AttachedClients } from '../background/attached-clients.ts';
import {
  type CliSession,
  type CommandDefinition,
  flag,
  rootFlag,
  telemetryFlag,
} from '../command.ts';
import { identityOf } from '../control/running-troupe.ts';
import type { ControlHandler, ControlServer } from '../control/server.ts';
import { requireServer } from '../control/settled-servers.ts';
import { controlSocketPath } from '../control/socket-path.ts';
import { removeDeadCallSockets } from '../control/stale-sockets.ts';
import { type ListenAddress, parseListenAddress, parseText } from '../flag-values.ts';
import { rootFolders, troupeOptionsOf } from '../launch.ts';
import { drainMs, logStates, longestNote, requireView, servedWhat } from '../run/gateway-notes.ts';
import { inspectHere, recordedAlways } from '../run/inspect-here.ts';
import {
  type AccessFlags,
  accessOptions,
  isOnlyForOwner,
  issuerKeys,
  loopbackHosts,
  refuseMisuse,
} from '../run/serve-access.ts';
import { stopOrderly, untilStopped } from '../run/stop.ts';

interface ServeFlags extends AccessFlags {
  readonly only?: string;
  readonly view?: string;
  readonly root?: readonly string[];
  readonly telemetry?: true;
}

/** `serve`: presents all servers as one MCP server. */
export const serveCommand: CommandDefinition<ServeFlags> = {
  usage: 'serve',
  summary: 'present all servers in your settings as one MCP server, over stdio or HTTP',
  details:
    'Without --http it speaks over stdin and stdout, like any server that a host starts. ' +
    'Tools are named SERVER__TOOL. Over HTTP, clients send a token; the file with it is printed at the start. With --auth oauth they log in at an authorization server.',
  example: 'troupe serve --http 8080',
  options: [
    flag(
      '--http <[host:]port>',
      'serve over Streamable HTTP at /mcp; default host 127.0.0.1',
      parseListenAddress,
    ),
    flag('--only <server>', 'pass one server through, under its own names', parseText),
    flag('--view <name>', 'show only a view of the settings (mcp.views)', parseText),
    ...accessOptions,
    rootFlag,
    telemetryFlag,
  ],
  async run(session, _args, flags) {
    refuseMisuse(flags);
    if (flags.http === undefined && flags.telemetry === undefined) {
      const { serveThin } = await import('../background/serve-thin.ts');
      const exitCode = await serveThin(session, flags);
      if (exitCode !== undefined) return exitCode;
    }
    const { host, launch, output } = session;
    const { only, view, telemetry = false } = flags;
    const roots = rootFolders(flags.root, host.cwd);
    const note = (line: string): void => output.note(printableLine(line, longestNote));
    // Before any server starts, because the issuer may be wrong.
    const { auth, issuer = '' } = flags;
    const keys = auth === 'oauth' ? await issuerKeys(issuer, realClock, host.env, note) : undefined;
    const createTroupe = await host.loadRuntime();
    // Loaded late: no other command needs it.
    const { Gateway } = await import('../../gateway/gateway.ts');
    return untilStopped(host, async (ended, request) => {
      const releaseConsole = keepConsoleOffStdout();
      // With `--only`, no other server may run.
      const options = troupeOptionsOf(launch, only === undefined ? undefined : [only]);
      const troupe = createTroupe({
        ...options,
        questions: questionKinds,
        inspect: recordedAlways,
        telemetry,
        ...defined({ roots }),
      });
      const gateway = new Gateway({
        troupe,
        clock: realClock,
        report: note,
        asksForLogins: isOnlyForOwner(flags),
        ...defined({ only, view }),
      });
      const inspecting = inspectHere(
        troupe,
        identityOf({ ...launch, ...defined({ allow: options.allow }) }, host.version),
      );
      const attached = new AttachedClients(troupe, launch, inspecting.handler);
      const control = await openControl(session, attached.handler);
      let isOrderly = false;
      let drainedForMs = 0;
      try {
        await troupe.ready();
        if (only !== undefined) requireServer(troupe, only);
        requireView(troupe, view);
        const frontEnd = await openFrontEnd(session, gateway, { ...flags, troupe }, keys);
        logStates(note, launch, troupe, only);
        const end = await Promise.race([ended, frontEnd.closed]);
        const drainsSince = performance.now();
        await frontEnd.close(end === undefined ? drainMs : 0);
        drainedForMs = performance.now() - drainsSince;
        isOrderly = end === undefined;
        return end;
      } finally {
        gateway.close();
        if (attached.isUsed) control?.stopAccepting();
        await attached.close();
        await stopOrderly(troupe, request, { force: !isOrderly, spentMs: drainedForMs });
        inspecting.close();
        keys?.close();
        control?.close();
        releaseConsole();
      }
    });
  },
};

/** Redirects the console to stderr, because stdout carries the protocol. Returns how to undo it. */
function keepConsoleOffStdout(): () => void {
  const { log, info, debug, dir, table } = console;
  const original = { log, info, debug, dir, table };
  for (const method of Object.keys(original) as (keyof typeof original)[]) {
    // oxlint-disable-next-line no-console
    console[method] = (...words: readonly unknown[]) => console.error(...words);
  }
  return () => void Object.assign(console, original);
}

/**
 * Opens the control socket for the other commands. Several hosts may start a gateway in one project;
 * only the first one answers on the socket.
 */
async function openControl(
  { launch, output }: CliSession,
  handler: ControlHandler,
): Promise<ControlServer | undefined> {
  const { openControlServer } = await import('../control/server.ts');
  await removeDeadCallSockets(launch);
  try {
    return await openControlServer(controlSocketPath(launch), handler);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    output.note(
      `other commands, such as troupe status, cannot reach this troupe: ${error.message}`,
    );
    return undefined;
  }
}

/** Starts to serve; `closed` resolves when the host is gone. */
async function openFrontEnd(
  session: CliSession,
  gateway: GatewayType,
  flags: ServeFlags & { readonly troupe: Troupe },
  keys: IssuerKeys | undefined,
) {
  const { http, troupe } = flags;
  const { host, launch, output } = session;
  const what = servedWhat(flags);
  if (http === undefined) {
    const { startStdioGateway } = await import('../../gateway/stdio-gateway.ts');
    output.note(`serving ${what} over stdin and stdout`);
    const { stdin, stdout, giveUpOutput } = host;
    return startStdioGateway(gateway, { stdin, stdout, ...defined({ onUnread: giveUpOutput }) });
  }
  const [{ startHttpGateway }, { accessToken }] = await Promise.all([
    import('../../gateway/http-gateway.ts'),
    import('../../gateway/access-token.ts'),
  ]);
  const { auth = 'token', audience, scope: scopes = [] } = flags;
  const access = auth === 'token' ? await accessToken(launch.stateFolder) : undefined;
  const served = await startHttpGateway(gateway, {
    ...http,
    isLoopback: loopbackHosts.has(http.host),
    hosts: hostsOf(http, audience),
    views: troupe,
    ...defined({
      token: access?.token,
      oauth: keys && { keys, scopes, ...defined({ audience }) },
    }),
  });
  output.document({
    url: served.url,
    pid: process.pid,
    ...defined({ tokenFile: access?.file, issuer: keys?.issuer }),
  });
  const who = {
    token: `clients send the token in ${access?.file}`,
    oauth: `clients send access tokens of ${keys?.issuer}`,
    none: 'every program on this machine is accepted',
  };
  output.lines([`serving ${what} at ${served.url}`, who[auth === false ? 'none' : auth]]);
  return {
    // HTTP clients come and go; only a signal ends this.
    closed: new Promise<never>(() => undefined),
    close: (limitMs: number) => served.close(limitMs),
  };
}

/** The names by which clients may address the gateway. */
function hostsOf(http: ListenAddress, audience: string | undefined): readonly string[] {
  const isWeb = audience !== undefined && /^https?:/i.test(audience) && URL.canParse(audience);
  const names = [http.host, hostname(), ...(isWeb ? [new URL(audience).hostname] : [])];
  return names.map((name) => name.toLowerCase());
}
