/**
 * Runs the inspector for the troupe of this process. Listening starts with the first request for a link.
 * Commands from the page are handled like commands from the socket.
 */

import type { InspectorServer } from '../../../visualizations/server/inspector-server.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type { HostEvent } from '../../domain/host/event.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { controlHandler } from '../control/commands.ts';
import type { Identity } from '../control/protocol.ts';
import type { ControlArgs, ControlCommand } from '../control/schemas.ts';
import type { ControlHandler } from '../control/server.ts';
import { writeAddressFile } from './address-file.ts';
import { PageLogins } from './page-logins.ts';

/**
 * What is recorded from the start without any flag, so that a link that is requested after a failure
 * shows it: at most 2 MB, some minutes of a busy troupe.
 */
export const recordedAlways = { maxBytes: 2_000_000 } as const;

export type InspectHere = ReturnType<typeof inspectHere>;

/** @param port - where to listen; 0 = any free port */
export function inspectHere(troupe: Troupe, identity: Identity, port = 0) {
  let starting: Promise<InspectorServer> | undefined;
  let isOver = false;
  const running = async (): Promise<InspectorServer> => {
    if (isOver) throw new TroupeError('SHUTTING_DOWN', 'the troupe is stopping');
    starting ??= start(troupe, handler, identity.projectRoot, port).catch((error: unknown) => {
      // The next attempt may succeed.
      starting = undefined;
      throw error;
    });
    return starting;
  };
  // All calls are the same user's, who answers at any terminal or on the page.
  const runCommand = controlHandler(troupe, identity, { onQuestion: () => undefined });
  const handler: ControlHandler = async (command, args, context) => {
    if (command !== 'inspect') return runCommand(command, args, context);
    const { open = false } = args as ControlArgs['inspect'];
    const inspector = await running();
    const url = inspector.newAddress();
    if (!open) return { url };
    return { url, file: await writeAddressFile(inspector, url, identity.stateFolder) };
  };
  return {
    /** Handles socket commands, including `inspect`. */
    handler,
    /** Returns a link that works once, in one browser. */
    address: async (): Promise<string> => (await running()).newAddress(),
    close(): void {
      isOver = true;
      void starting?.then(
        (inspector) => inspector.close(),
        () => undefined,
      );
    },
  };
}

async function start(
  troupe: Troupe,
  handler: ControlHandler,
  title: string,
  port: number,
): Promise<InspectorServer> {
  // Loaded late: most troupes are never inspected.
  const [{ startInspector }, { possibleActs }] = await Promise.all([
    import('../../../visualizations/server/inspector-server.ts'),
    import('../../../visualizations/server/possible-acts.ts'),
  ]);
  troupe.inspection.start();
  const logins = new PageLogins(troupe);
  return startInspector(
    {
      source: troupe.inspection,
      mode: 'live',
      title,
      acts: (server) => possibleActs(troupe, server),
      command: async (name, args, signal) => {
        if (name === 'send') return send(troupe, args);
        if (name === 'cancelLogin') {
          const server = serverIn(args);
          logins.cancel(server);
          return { server };
        }
        if (name === 'login') return logins.begin(serverIn(args), signal);
        return run(handler, name, args, signal);
      },
    },
    { port },
  );
}

/** Commands that a page may send. A page must not change settings, because that could run programs. */
const allowedCommands: ReadonlySet<string> = new Set<ControlCommand>([
  'status',
  'usage',
  'explain',
  'logs',
  'tools',
  'call',
  'questions',
  'answer',
  'plan',
  'approvals',
  'approve',
  'reject',
  'revoke',
  'start',
  'stop',
  'restart',
  'refresh',
  'reload',
  'finishLogin',
  'logout',
]);

/** Commands of the page that the socket lacks or answers later. */
const ownCommands = ['send', 'login', 'cancelLogin'];

/** Host events that are not commands. */
const sendable: ReadonlySet<unknown> = new Set<HostEvent['type']>([
  'server.reconnect',
  'auth.completed',
  'trust.changed',
  'system.woke',
]);

async function run(
  handler: ControlHandler,
  name: string,
  args: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  if (!allowedCommands.has(name)) {
    const known = [...allowedCommands, ...ownCommands].join(', ');
    throw argumentsError(`a page cannot send this command; use one of ${known}`);
  }
  // Loaded late: it needs Zod.
  const { checkedCommand } = await import('../control/schemas.ts');
  const checked = checkedCommand(name, args);
  return handler(checked.command, checked.args, { signal, emit: () => undefined });
}

function serverIn(args: unknown): string {
  const server = isRecord(args) ? args['server'] : undefined;
  if (typeof server === 'string' && server !== '') return server;
  throw argumentsError('args.server must be the name of a server');
}

async function send(troupe: Troupe, args: unknown): Promise<{ readonly sent: string }> {
  const event = isRecord(args) ? args['event'] : undefined;
  if (!isRecord(event) || !sendable.has(event['type'])) {
    const known = [...sendable].join(', ');
    const message = `a page cannot send this event; use one of ${known}`;
    throw argumentsError(message);
  }
  // `troupe.send` validates its other fields.
  troupe.send(event as unknown as HostEvent);
  return { sent: String(event['type']) };
}
