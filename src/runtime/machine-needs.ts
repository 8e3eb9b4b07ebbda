import { environmentOf } from '../../actors/processes/environment.ts';
import { readSettings } from '../../actors/settings/last-good-settings.ts';
import { findExecutable } from '../../actors/values/executable-path.ts';
import { settingsReportOf } from '../config/settings-report.ts';
import type { ServerSpec } from '../domain/server-spec.ts';
import type { SettingsReport } from '../domain/settings.ts';
import { reachTextsOf } from '../policies/approvals/values.ts';
import { referencesIn } from '../policies/expand-variables.ts';
import { settingsPortsOf } from './options/settings-ports.ts';
import type { TroupeOptions } from './troupe.ts';

/** What the enabled servers need of this machine, with the names of the servers. */
export interface MachineNeeds {
  readonly report: SettingsReport;
  /** Commands without a folder, each with where PATH leads. */
  readonly commands: readonly {
    readonly command: string;
    readonly file: string | undefined;
    readonly servers: readonly string[];
  }[];
  /** Ports of this machine that addresses name. */
  readonly ports: readonly { readonly port: number; readonly servers: readonly string[] }[];
  readonly keychain: readonly string[];
  readonly remote: readonly string[];
}

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/u;

/** Reads the settings of a troupe with these options. Starts nothing, connects to nothing and resolves no value. */
export async function machineNeedsOf(options: TroupeOptions): Promise<MachineNeeds> {
  const { env = process.env } = options;
  const ports = settingsPortsOf(options);
  const { settings, specs, files } = await readSettings(ports);
  const needed = settings.servers.flatMap(({ name, generation, enabled, invalid }) => {
    const spec = enabled && invalid === undefined ? specs.get(generation) : undefined;
    return spec === undefined ? [] : [{ name, spec }];
  });
  const cwd = ports.projectRoot;
  const path = environmentOf(env, {}, process.platform);
  const commands = [...namesBy(needed, commandOf)].map(async ([command, servers]) => {
    // A relative part of PATH must not lead out of the project folder.
    const found = await findExecutable({ command, cwd, env: path }, cwd);
    return { command, file: found?.file, servers };
  });
  return {
    report: settingsReportOf(settings, files),
    commands: await Promise.all(commands),
    ports: [...namesBy(needed, portOf)].map(([port, servers]) => ({ port, servers })),
    keychain: needed.filter(({ spec }) => usesKeychain(spec)).map(({ name }) => name),
    remote: needed
      .filter(({ spec }) => spec.type !== 'stdio' && spec.type !== 'memory')
      .filter(({ spec }) => portOf(spec) === undefined)
      .map(({ name }) => name),
  };
}

function namesBy<Key>(
  servers: readonly { readonly name: string; readonly spec: ServerSpec }[],
  keyOf: (spec: ServerSpec) => Key | undefined,
): ReadonlyMap<Key, readonly string[]> {
  const names = new Map<Key, readonly string[]>();
  for (const { name, spec } of servers) {
    const key = keyOf(spec);
    if (key !== undefined) names.set(key, [...(names.get(key) ?? []), name]);
  }
  return names;
}

function commandOf(spec: ServerSpec): string | undefined {
  if (spec.type !== 'stdio' || /[\\/]/u.test(spec.command)) return undefined;
  return referencesIn(spec.command).length > 0 ? undefined : spec.command;
}

/** The port of an address on this machine; undefined for other addresses and those with references. */
function portOf(spec: ServerSpec): number | undefined {
  if (spec.type === 'stdio' || spec.type === 'memory' || !URL.canParse(spec.url)) return undefined;
  const { hostname, port, protocol } = new URL(spec.url);
  if (!loopback.test(hostname)) return undefined;
  return port === '' ? (/^(?:https|wss):$/u.test(protocol) ? 443 : 80) : Number(port);
}

function usesKeychain(spec: ServerSpec): boolean {
  if (spec.type === 'memory' || spec.values?.literal === true) return false;
  const texts =
    spec.type === 'stdio'
      ? [spec.command, spec.cwd, ...spec.args, ...Object.values(spec.env)]
      : [spec.url, ...Object.values(spec.headers), ...reachTextsOf(spec).map(([, text]) => text)];
  return texts.some((text) => referencesIn(text).some(({ kind }) => kind === 'keychain'));
}
