import { environmentOf } from '../../../actors/processes/environment.ts';
import { readSettings } from '../../../actors/settings/last-good-settings.ts';
import { environmentProxy } from '../../../actors/transports/http/environment-proxy.ts';
import { parseProxy } from '../../../actors/transports/http/proxy.ts';
import { authorityVariables } from '../../../actors/transports/http/proxy-and-tls.ts';
import { findExecutable } from '../../../actors/values/executable-path.ts';
import type { RemoteSpec, ServerSpec } from '../../domain/server-spec.ts';
import type { SettingsReport } from '../../domain/settings.ts';
import { referencesIn, type Variables } from '../../policies/expand-variables.ts';
import { proxyVariables } from '../../policies/proxy-variables.ts';
import { isLoopback } from '../../policies/secure-url.ts';
import { specTexts } from '../../policies/spec-texts.ts';
import { isPem } from '../../policies/text/pem.ts';
import { settingsReportOf } from '../../settings/settings-report.ts';
import { settingsPortsOf } from '../options/settings-ports.ts';
import type { TroupeOptions } from '../troupe.ts';

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
  readonly proxies: readonly NeededProxy[];
  readonly certificates: readonly NeededFile[];
}

/** A proxy, which may be used by no server if the environment names it. */
export interface NeededProxy {
  /** The variable or the key of settings that names it. */
  readonly named: string;
  /** Its address without user and password; undefined if it is not known, null if it is none. */
  readonly url: URL | null | undefined;
  readonly servers: readonly string[];
  /** Whether only entries of a folder name it, which may not cause connections. */
  readonly isForeign: boolean;
}

/** A file of certificates or keys. */
export interface NeededFile {
  readonly named: string;
  readonly file: string;
  /** Empty: every remote server uses it. */
  readonly servers: readonly string[];
}

/** Reads the settings of a troupe with these options. Starts nothing, connects to nothing and resolves no value. */
export async function machineNeedsOf(options: TroupeOptions): Promise<MachineNeeds> {
  const { env = process.env } = options;
  const ports = settingsPortsOf(options);
  const { settings, specs, files } = await readSettings(ports);
  const needed = settings.servers.flatMap(({ name, generation, enabled, invalid, gated }) => {
    const spec = enabled && invalid === undefined ? specs.get(generation) : undefined;
    return spec === undefined ? [] : [{ name, spec, isForeign: gated }];
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
    proxies: proxiesOf(needed, env),
    certificates: [
      ...authorityVariables(env).map(({ name, file }) => ({ named: name, file, servers: [] })),
      ...needed.flatMap(filesOf),
    ],
  };
}

interface NeededServer {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly isForeign: boolean;
}

function proxiesOf(needed: readonly NeededServer[], env: Variables): readonly NeededProxy[] {
  const ofEnvironment = proxyVariables(env).map((variable) => ({
    named: variable,
    address: env[variable],
    servers: [],
    isForeign: false,
  }));
  const ofServers = needed.flatMap(({ name, spec, isForeign }) => {
    const found = proxyOf(spec, env);
    return found === undefined ? [] : [{ ...found, servers: [name], isForeign }];
  });
  const proxies = new Map<string, NeededProxy>();
  for (const { named, address, servers, isForeign } of [...ofEnvironment, ...ofServers]) {
    const url = address === undefined ? undefined : (parseProxy(address, named)?.url ?? null);
    const key = `${named} ${url?.href}`;
    const known = proxies.get(key);
    proxies.set(key, {
      named,
      url,
      servers: [...(known?.servers ?? []), ...servers],
      isForeign: isForeign && (known?.isForeign ?? true),
    });
  }
  return [...proxies.values()];
}

/** An address with references is not known here. */
function proxyOf(
  spec: ServerSpec,
  env: Variables,
): { readonly named: string; readonly address: string | undefined } | undefined {
  if (spec.type === 'stdio' || spec.type === 'memory' || spec.proxy === false) return undefined;
  const named = '"proxy"';
  if (spec.values?.commands?.some(({ key }) => key === 'proxy'))
    return { named, address: undefined };
  if (spec.proxy !== undefined) return { named, address: plainText(spec, spec.proxy) };
  const url = plainText(spec, spec.url);
  const found = url !== undefined && URL.canParse(url) && environmentProxy(new URL(url), env);
  return found ? { named: found.variable, address: found.address } : undefined;
}

/** Files of a folder's entries are not looked at before approval. */
function filesOf({ name, spec, isForeign }: NeededServer): readonly NeededFile[] {
  if (isForeign || spec.type === 'stdio' || spec.type === 'memory') return [];
  return (['ca', 'cert', 'key'] as const).flatMap((key) => {
    const text = spec.tls?.[key];
    const file = text === undefined || isPem(text) ? undefined : plainText(spec, text);
    return file === undefined ? [] : [{ named: `"tls.${key}"`, file, servers: [name] }];
  });
}

function plainText({ values }: RemoteSpec, text: string): string | undefined {
  return values?.literal === true || referencesIn(text).length === 0 ? text : undefined;
}

function namesBy<Key>(
  servers: readonly NeededServer[],
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
  const url = new URL(spec.url);
  if (!isLoopback(url)) return undefined;
  const { port, protocol } = url;
  return port === '' ? (/^(?:https|wss):$/u.test(protocol) ? 443 : 80) : Number(port);
}

function usesKeychain(spec: ServerSpec): boolean {
  if (spec.type === 'memory' || spec.values?.literal === true) return false;
  return specTexts(spec).some(([, text]) =>
    referencesIn(text).some(({ kind }) => kind === 'keychain'),
  );
}
