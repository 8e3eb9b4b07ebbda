/** What the settings need of this machine: programs, ports and the keychain. */

import { createServer } from 'node:net';
import { printableLine } from '../../policies/text/printable.ts';
import type { MachineNeeds } from '../../runtime/machine-needs.ts';
import { counted } from '../show/counted.ts';
import { type Finding, serversText } from './finding.ts';

const longestName = 100;

/** How to get the usual programs of servers. */
const installs: Readonly<Record<string, string>> = {
  node: 'install Node from https://nodejs.org',
  npx: 'install Node with npm from https://nodejs.org',
  uvx: 'install uv from https://docs.astral.sh/uv',
  uv: 'install uv from https://docs.astral.sh/uv',
  docker: 'install Docker from https://docs.docker.com',
};

export function settingsFindings(
  { files, problems }: MachineNeeds['report'],
  whatIfNone: string,
): readonly Finding[] {
  const check = 'settings';
  const places = [...new Set([...files.map(({ file }) => file), ...problems.map((it) => it.file)])];
  if (places.length === 0)
    return [{ check, verdict: 'warn', message: 'no settings file was found', next: whatIfNone }];
  return places.map((place) => {
    const own = problems.filter(({ file }) => file === place);
    const errors = own.filter(({ severity }) => severity === 'error').length;
    const servers = files.find(({ file }) => file === place)?.servers ?? 0;
    const shown = `${place}: ${counted(servers, 'server')}`;
    if (own.length === 0) return { check, verdict: 'ok', message: shown };
    const faults = [counted(errors, 'error'), counted(own.length - errors, 'warning')];
    const message = `${shown}, ${faults.filter((text) => !text.startsWith('0 ')).join(', ')}`;
    return { check, verdict: errors > 0 ? 'fail' : 'warn', message, next: 'troupe check' };
  });
}

export function programFindings({ commands }: MachineNeeds): readonly Finding[] {
  return commands.map(({ command, file, servers }) => {
    const shown = printableLine(command, longestName);
    if (file !== undefined)
      return {
        check: 'program',
        verdict: 'ok',
        message: `${shown} is ${printableLine(file, 500)}`,
      };
    return {
      check: 'program',
      verdict: 'fail',
      message: `${shown} is not on PATH; needed by ${serversText(servers)}`,
      next: installs[command] ?? 'install it, or write its path as "command"',
    };
  });
}

export async function portFindings({ ports }: MachineNeeds): Promise<readonly Finding[]> {
  return Promise.all(
    ports.map(async ({ port, servers }): Promise<Finding> => {
      if (await isTaken(port))
        return { check: 'port', verdict: 'ok', message: `a program listens on port ${port}` };
      return {
        check: 'port',
        verdict: 'warn',
        message: `nothing listens on port ${port}, which ${serversText(servers)} needs`,
        next: 'start that server, or fix the port in "url"',
      };
    }),
  );
}

/** Binds the port briefly, which contacts no other process. A port that this user may not bind counts as taken. */
async function isTaken(port: number): Promise<boolean> {
  const taken = await Promise.all(['127.0.0.1', '::1'].map((host) => isTakenOn(host, port)));
  return taken.includes(true);
}

function isTakenOn(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'EADDRINUSE' || error.code === 'EACCES'),
    );
    server.listen({ host, port }, () => server.close(() => resolve(false)));
  });
}

export async function keychainFindings({ keychain }: MachineNeeds): Promise<readonly Finding[]> {
  if (keychain.length === 0) return [];
  const check = 'keychain';
  try {
    await import('@napi-rs/keyring');
    return [{ check, verdict: 'ok', message: 'the package @napi-rs/keyring can be loaded' }];
  } catch {
    return [
      {
        check,
        verdict: 'fail',
        message: `the package @napi-rs/keyring is not installed; needed by ${serversText(keychain)}`,
        next: 'install it beside mcp-troupe: npm install @napi-rs/keyring',
      },
    ];
  }
}

const proxyNames = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'];

/** Names variables and never their values, which may hold a password. */
export function proxyFindings(
  { remote }: MachineNeeds,
  env: Readonly<Record<string, string | undefined>>,
): readonly Finding[] {
  const set = [...proxyNames, ...proxyNames.map((name) => name.toLowerCase())].filter(
    (name) => (env[name] ?? '') !== '',
  );
  const check = 'proxy';
  if (set.length === 0) return [{ check, verdict: 'ok', message: 'no proxy is set' }];
  const names = set.join(', ');
  const unreached = remote.length === 0 ? 'remote servers' : serversText(remote);
  return [
    {
      check,
      verdict: 'warn',
      message: `${names} is set, but this version does not use proxies; ${unreached} must be reachable directly`,
      next: 'let this machine reach them without the proxy',
    },
  ];
}
