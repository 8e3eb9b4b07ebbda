/** What the settings need of the network: ports of this machine, proxies and files of certificates. */

import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { ConnectionLimits } from '../../../actors/host/connection-limits.ts';
import { socketListener } from '../../../actors/host/listener.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { MachineNeeds, NeededProxy } from '../../runtime/previews/machine-needs.ts';
import { type Finding, failure, ok, serversText, warning } from './finding.ts';

export async function portFindings({ ports }: MachineNeeds): Promise<readonly Finding[]> {
  return Promise.all(
    ports.map(async ({ port, servers }) => {
      if (await isTaken(port)) return ok('port', `a program listens on port ${port}`);
      const message = `nothing listens on port ${port}, which ${serversText(servers)} needs`;
      return warning('port', message, 'start that server, or fix the port in "url"');
    }),
  );
}

/** Binds the port briefly, which contacts no other process. A port that this user may not bind counts as taken. */
async function isTaken(port: number): Promise<boolean> {
  const taken = await Promise.all(['127.0.0.1', '::1'].map((host) => isTakenOn(host, port)));
  return taken.includes(true);
}

async function isTakenOn(host: string, port: number): Promise<boolean> {
  const nobody = new ConnectionLimits({ strangers: 0, known: 0 });
  try {
    const listener = await socketListener(nobody, () => undefined).listen({ host, port });
    listener.close();
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && takenCodes.has(error.code);
  }
}

const takenCodes: ReadonlySet<unknown> = new Set(['EADDRINUSE', 'EACCES']);

// A proxy on the same network answers in milliseconds.
const proxyMs = 3_000;

/** Contacts each proxy, but none that only a folder's entry names. Prints no user or password. */
export async function proxyFindings({ proxies }: MachineNeeds): Promise<readonly Finding[]> {
  if (proxies.length === 0) return [ok('proxy', 'no proxy is set')];
  return Promise.all(proxies.map(proxyFinding));
}

async function proxyFinding({ named, url, servers, isForeign }: NeededProxy): Promise<Finding> {
  const check = 'proxy';
  const users = servers.length === 0 ? 'no server uses it' : `used by ${serversText(servers)}`;
  const fault = servers.length === 0 ? warning : failure;
  if (url === null) {
    const message = `${named} holds no http: or https: address; ${users}`;
    return fault(check, message, `write http://host:port into ${named}`);
  }
  if (url === undefined) return ok(check, `${named} is known when its server connects; ${users}`);
  const shown = `${url.origin} (${named})`;
  if (isForeign)
    return ok(check, `${shown} was not contacted, because a project names it; ${users}`);
  const why = await connectionFault(url);
  if (why === undefined) return ok(check, `${shown} can be reached; ${users}`);
  const message = `${shown} cannot be reached (${why}); ${users}`;
  return fault(check, message, `start it, or fix ${named}`);
}

/** Opens a connection and closes it, without sending anything. */
function connectionFault({ hostname, port, protocol }: URL): Promise<string | undefined> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/gu, '');
    const socket = connect({ host, port: Number(port || (protocol === 'https:' ? 443 : 80)) });
    const end = (fault?: string): void => {
      socket.destroy();
      resolve(fault);
    };
    socket.setTimeout(proxyMs, () => end(`no answer within ${proxyMs / 1_000} s`));
    socket.once('connect', () => end());
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

/** Looks for files of certificates; whether they fit shows when a server connects. */
export function certificateFindings({ certificates }: MachineNeeds): readonly Finding[] {
  return certificates.map(({ named, file, servers }): Finding => {
    const check = 'tls';
    const shown = printableLine(file, 500);
    const users = servers.length === 0 ? 'remote servers' : serversText(servers);
    if (existsSync(file)) return ok(check, `${named} is ${shown}`);
    // As in Node, a missing file of the environment adds nothing.
    const fault = servers.length === 0 ? warning : failure;
    const message = `${named} is ${shown}, which does not exist; needed by ${users}`;
    return fault(check, message, `create it, or fix ${named}`);
  });
}
