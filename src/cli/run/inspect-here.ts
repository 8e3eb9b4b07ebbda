/**
 * Joins the inspector with the troupe of this process: begins to record and to listen when
 * somebody asks for an address, and does what its page asks as if it came over the socket.
 */

import type { HostEvent } from '../../domain/host/event.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { InspectorServer } from '../../inspector/inspector-server.ts';
import { isRecord } from '../../policies/is-record.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { controlHandler } from '../control/commands.ts';
import type { Identity } from '../control/protocol.ts';
import type { ControlArgs, ControlCommand } from '../control/schemas.ts';
import type { ControlHandler } from '../control/server.ts';
import { writeAddressFile } from './address-file.ts';

export interface InspectHere {
  /** What answers on the socket, addresses of the inspector included. */
  readonly handler: ControlHandler;
  /** An address that lets one browser in, once. */
  address(): Promise<string>;
  close(): void;
}

/** @param port - where to listen; by default wherever it is free */
export function inspectHere(troupe: Troupe, identity: Identity, port = 0): InspectHere {
  let starting: Promise<InspectorServer> | undefined;
  let isOver = false;
  const running = async (): Promise<InspectorServer> => {
    if (isOver) throw new TroupeError('SHUTTING_DOWN', 'the troupe is stopping; start it again');
    starting ??= start(troupe, handler, identity.projectRoot, port).catch((error: unknown) => {
      // The next one to ask may be luckier.
      starting = undefined;
      throw error;
    });
    return starting;
  };
  const address = async (): Promise<string> => (await running()).newAddress();
  const inspect = async ({ open = false }: ControlArgs['inspect']) => {
    const inspector = await running();
    const url = inspector.newAddress();
    if (!open) return { url };
    return { url, file: await writeAddressFile(inspector, url, identity.stateFolder) };
  };
  const answer = controlHandler(troupe, identity);
  const handler: ControlHandler = async (command, args, context) =>
    command === 'inspect'
      ? inspect(args as ControlArgs['inspect'])
      : answer(command, args, context);
  return {
    handler,
    address,
    close() {
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
  // Late, so that whoever never looks does not pay for it.
  const [{ startInspector }, { possibleActs }] = await Promise.all([
    import('../../inspector/inspector-server.ts'),
    import('../../inspector/possible-acts.ts'),
  ]);
  troupe.inspection.start();
  return startInspector(
    {
      source: troupe.inspection,
      mode: 'live',
      title,
      acts: (server) => possibleActs(troupe, server),
      command: (name, args, signal) =>
        name === 'send' ? send(troupe, args) : run(handler, name, args, signal),
    },
    { port },
  );
}

/** A page may ask for these. What it would change in settings, it could make run. */
const welcome: ReadonlySet<string> = new Set<ControlCommand>([
  'status',
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
  'reload',
]);

/** Events of a host that are no commands. */
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
  if (!welcome.has(name)) {
    const known = [...welcome, 'send'].join(', ');
    throw new TroupeError('INVALID_ARGUMENTS', `a page cannot ask for that; use one of ${known}`);
  }
  // Late: it loads Zod.
  const { checkedCommand } = await import('../control/checked-command.ts');
  const checked = checkedCommand(name, args);
  return handler(checked.command, checked.args, { signal, emit: () => undefined });
}

async function send(troupe: Troupe, args: unknown): Promise<{ readonly sent: string }> {
  const event = isRecord(args) ? args['event'] : undefined;
  if (!isRecord(event) || !sendable.has(event['type'])) {
    const known = [...sendable].join(', ');
    const message = `that event is not sent by a page; use one of ${known}`;
    throw new TroupeError('INVALID_ARGUMENTS', message);
  }
  // Its other fields are checked where every event of a host is.
  troupe.send(event as unknown as HostEvent);
  return { sent: String(event['type']) };
}
