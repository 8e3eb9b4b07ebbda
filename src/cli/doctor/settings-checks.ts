/** What the settings need of this machine besides the network: programs and the keychain. */

import { printableLine } from '../../domain/data/printable.ts';
import type { MachineNeeds } from '../../runtime/previews/machine-needs.ts';
import { counted } from '../show/counted.ts';
import { type Finding, failure, ok, serversText, warning } from './finding.ts';

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
  if (places.length === 0) return [warning(check, 'no settings file was found', whatIfNone)];
  return places.map((place) => {
    const own = problems.filter(({ file }) => file === place);
    const errors = own.filter(({ severity }) => severity === 'error').length;
    const servers = files.find(({ file }) => file === place)?.servers ?? 0;
    const shown = `${place}: ${counted(servers, 'server')}`;
    if (own.length === 0) return ok(check, shown);
    const faults = [counted(errors, 'error'), counted(own.length - errors, 'warning')];
    const message = `${shown}, ${faults.filter((text) => !text.startsWith('0 ')).join(', ')}`;
    return (errors > 0 ? failure : warning)(check, message, 'troupe check');
  });
}

export function programFindings({ commands }: MachineNeeds): readonly Finding[] {
  return commands.map(({ command, file, servers }) => {
    const shown = printableLine(command, longestName);
    if (file !== undefined) return ok('program', `${shown} is ${printableLine(file, 500)}`);
    const message = `${shown} is not on PATH; needed by ${serversText(servers)}`;
    const next = installs[command] ?? 'install it, or write its path as "command"';
    return failure('program', message, next);
  });
}

export async function keychainFindings({ keychain }: MachineNeeds): Promise<readonly Finding[]> {
  if (keychain.length === 0) return [];
  try {
    await import('@napi-rs/keyring');
    return [ok('keychain', 'the package @napi-rs/keyring can be loaded')];
  } catch {
    const message = `the package @napi-rs/keyring is not installed; needed by ${serversText(keychain)}`;
    const next = 'install it beside mcp-troupe: npm install @napi-rs/keyring';
    return [failure('keychain', message, next)];
  }
}
