/** Resolves a process's variables, working folder and environment. */

import { stat } from 'node:fs/promises';
import { defined } from '../../src/domain/data/defined.ts';
import {
  type RemoteSpec,
  type ServerSpec,
  type StdioSpec,
  tlsKeys,
} from '../../src/domain/server-spec.ts';
import {
  expandVariables,
  type FoundValues,
  type Variables,
} from '../../src/policies/expand-variables.ts';
import { givenVariable, proxySecrets, proxyVariables } from '../../src/policies/proxy-variables.ts';
import { isSecretField } from '../../src/policies/spec-texts.ts';
import {
  looksSecret,
  secretsInArgs,
  secretsInText,
  secretsOf,
} from '../../src/policies/text/redact.ts';
import { environmentOf } from '../processes/environment.ts';
import type { StdioLaunch } from '../processes/system.ts';
import { type ResolvedOAuth, resolveOAuth } from './oauth.ts';
import { SettingError, unexpandable } from './setting-error.ts';

export interface HttpEndpoint {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: directly, with Node's certificates. */
  readonly reach?: ReachSettings;
  /** How to log in; false: never. Absent: as the server's metadata says. */
  readonly oauth?: ResolvedOAuth | false;
  /** The user's account at the server; absent for the only one. */
  readonly account?: string;
  /**
   * Resolves with the headers to send now. Values that are about to expire are fetched again first;
   * if that fails, those at hand are used. Absent if no value can change while the session is open.
   */
  readonly currentHeaders?: () => Promise<Readonly<Record<string, string>>>;
  /**
   * Fetches the values of the headers again, after a 401 or 403, and resolves with the new headers.
   * Concurrent calls share one run. Absent if no value can change while the session is open.
   *
   * Rejects with a SettingError that names the missing value.
   */
  readonly refreshHeaders?: () => Promise<Readonly<Record<string, string>>>;
  /**
   * Reads the values of the login again, because an assertion or an identity token expires long
   * before the session ends. Absent if no value can change.
   *
   * Rejects with a SettingError that names the missing value.
   */
  readonly readOAuth?: () => Promise<ResolvedOAuth | undefined>;
}

/** How a remote server is reached, with everything resolved except the content of files. */
export interface ReachSettings {
  /** Address of the proxy; false: none. Absent: the environment decides. */
  readonly proxy?: string | false;
  readonly tls?: {
    readonly values?: Partial<Record<(typeof tlsKeys)[number], TlsValue>>;
    readonly within?: string | undefined;
  };
  readonly variables: Variables;
}

interface TlsValue {
  readonly value: string;
  /** As in the settings, to be shown. */
  readonly written: string;
}

export type Resolved = { readonly secrets: readonly string[] } & (
  | { readonly type: 'stdio'; readonly launch: StdioLaunch }
  | { readonly type: RemoteSpec['type']; readonly endpoint: HttpEndpoint }
  | { readonly type: 'memory'; readonly server: string }
);

/** Values that are found before the spec is resolved. */
export interface SpecValues {
  /** Values from inputs and the keychain. */
  readonly references: FoundValues;
  /** Command output, by the key of its value. */
  readonly commands: ReadonlyMap<string, string>;
  /** Variables from the file. */
  readonly fileEnv: Readonly<Record<string, string>>;
  /** Headers from `headersCommand` and from the host. */
  readonly headers: Readonly<Record<string, string>>;
  /** The text of files with values, by key. */
  readonly files: ReadonlyMap<string, string>;
}

export const noValues: SpecValues = {
  references: new Map(),
  commands: new Map(),
  fileEnv: {},
  headers: {},
  files: new Map(),
};

/**
 * Resolves a spec's variables, references and commands.
 *
 * @param values - values found beforehand. Default: none
 * @param projectRoot - absolute path that a local server gets as `MCP_TROUPE_PROJECT`. Default: none
 * @param onMissing - called for each missing variable, whose reference is then kept. Default: throws
 * @throws SettingError
 */
export function resolveSpec(
  spec: ServerSpec,
  variables: Variables,
  {
    values = noValues,
    projectRoot,
    onMissing,
  }: {
    readonly values?: SpecValues;
    readonly projectRoot?: string | undefined;
    readonly onMissing?: ((variable: string, key: string) => void) | undefined;
  } = {},
): Resolved {
  if (spec.type === 'memory') return { type: 'memory', server: spec.server, secrets: [] };
  const secrets = [
    ...values.commands.values(),
    ...Object.values(values.fileEnv),
    ...Object.values(values.headers),
    ...values.files.values(),
  ];
  const { literal } = spec.values ?? {};
  const rules = { found: values.references, keepMissing: onMissing !== undefined, literal };
  const expand = (key: string, text: string): string => {
    const expansion = expandVariables(text, variables, rules);
    if (!('value' in expansion)) throw unexpandable(expansion, key);
    for (const name of expansion.kept ?? []) onMissing?.(name, key);
    secrets.push(...expansion.used, ...secretsInText(expansion.value));
    if (looksSecret(key) || isSecretField(key)) secrets.push(expansion.value);
    return expansion.value;
  };
  const resolved =
    spec.type === 'stdio'
      ? resolveStdio(spec, { variables, projectRoot, expand, secrets, values })
      : resolveRemote(spec, { variables, expand, secrets, values });
  return { ...resolved, secrets: secretsOf(secrets) };
}

interface Resolving {
  readonly expand: (key: string, text: string) => string;
  /** Collects the secrets that are found. */
  readonly secrets: string[];
  readonly values: SpecValues;
}

// Its own folder tells a server nothing about the project: a user's server starts in their home.
const projectVariable = 'MCP_TROUPE_PROJECT';

function resolveStdio(
  spec: StdioSpec,
  {
    variables,
    projectRoot,
    expand,
    secrets,
    values,
  }: Resolving & { readonly variables: Variables; readonly projectRoot: string | undefined },
) {
  const launch: StdioLaunch = {
    command: expand('command', spec.command),
    args: spec.args.map((arg, index) => expand(`args[${index}]`, arg)),
    // The entry's own variables take precedence over the file's.
    env: environmentOf(
      variables,
      {
        ...defined({ [projectVariable]: projectRoot }),
        ...values.fileEnv,
        ...namedValues('env', spec.env, { expand, values }),
      },
      process.platform,
    ),
    cwd: expand('cwd', spec.cwd),
  };
  secrets.push(...secretsInArgs(launch.args));
  return { type: 'stdio', launch } as const;
}

const schemes: Readonly<Record<RemoteSpec['type'], 'http' | 'ws'>> = {
  http: 'http',
  sse: 'http',
  ws: 'ws',
};

function resolveRemote(
  spec: RemoteSpec,
  { variables, expand, secrets, values }: Resolving & { readonly variables: Variables },
) {
  const text = expand('url', spec.url);
  if (!URL.canParse(text)) throw new SettingError('The "url" is not a valid URL.');
  const url = new URL(text);
  if (url.password !== '') secrets.push(url.password, decodeURIComponent(url.password));
  for (const [key, value] of url.searchParams) if (looksSecret(key)) secrets.push(value);
  const scheme = schemes[spec.type];
  if (url.protocol !== `${scheme}:` && url.protocol !== `${scheme}s:`) {
    throw new SettingError(
      `The "url" must begin with ${scheme}:// or ${scheme}s://, not ${url.protocol}//.`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw new SettingError(
      'The "url" must not hold a user name or password; use an Authorization header.',
    );
  }
  const headers = withHeaders(
    namedValues('headers', spec.headers, { expand, values }),
    values.headers,
  );
  for (const [name, value] of Object.entries(headers)) assertHeader(name, value);
  const { oauth, account } = spec;
  const logIn = oauth && resolveOAuth(oauth, { expand, secrets, values });
  const reach = reachOf(spec, variables, { expand, secrets, values });
  const endpoint: HttpEndpoint = { url, headers, ...defined({ reach, oauth: logIn, account }) };
  return { type: spec.type, endpoint } as const;
}

/** Returns undefined when neither the entry nor the environment says anything, as is usual. */
function reachOf(
  spec: RemoteSpec,
  variables: Variables,
  { expand, secrets, values: { commands } }: Resolving,
): ReachSettings | undefined {
  const proxy = commands.get('proxy') ?? (spec.proxy ? expand('proxy', spec.proxy) : spec.proxy);
  const tls = tlsKeys.flatMap((key) => {
    const text = spec.tls?.[key];
    const output = commands.get(`tls.${key}`);
    if (output !== undefined) return [[key, { value: output, written: 'output of a command' }]];
    return text === undefined ? [] : [[key, { value: expand(`tls.${key}`, text), written: text }]];
  });
  const named = proxyVariables(variables);
  const isNamed =
    named.length > 0 ||
    ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'].some((name) => givenVariable(name, variables));
  if (proxy === undefined && tls.length === 0 && !isNamed) return undefined;
  for (const address of [proxy || '', ...named.map((name) => variables[name] ?? '')])
    secrets.push(...proxySecrets(address));
  return {
    variables,
    ...(proxy !== undefined && { proxy }),
    ...(tls.length > 0 && {
      tls: { values: Object.fromEntries(tls), within: spec.tls?.within },
    }),
  };
}

/** Replaces headers by others of the same names, in whatever case. */
export function withHeaders(
  headers: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const replaced = new Set(Object.keys(others).map((name) => name.toLowerCase()));
  const kept = Object.entries(headers).filter(([name]) => !replaced.has(name.toLowerCase()));
  return { ...Object.fromEntries(kept), ...others };
}

function assertHeader(name: string, value: string): void {
  try {
    new Headers().set(name, value);
  } catch {
    // The exception's message would reveal the value.
    throw new SettingError(`The header "${name}" has a name or value that HTTP does not allow.`);
  }
}

/** Returns the values of `env` or `headers`, including those from commands. */
function namedValues(
  group: 'env' | 'headers',
  texts: Readonly<Record<string, string>>,
  { expand, values: { commands } }: Pick<Resolving, 'expand' | 'values'>,
): Record<string, string> {
  const prefix = `${group}.`;
  return Object.fromEntries([
    ...Object.entries(texts).map(([name, text]) => [name, expand(`${prefix}${name}`, text)]),
    ...[...commands].flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value]] : [],
    ),
  ]);
}

/**
 * Checks the working folder of a process that could not be started, because Node reports a missing
 * folder as a missing command.
 */
export async function assertFolder(cwd: string): Promise<void> {
  let isFolder = false;
  try {
    isFolder = (await stat(cwd)).isDirectory();
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === 'EACCES' ? 'cannot be read' : 'does not exist';
    throw new SettingError(`The working folder "${cwd}" ${why}.`, { cause: error });
  }
  if (!isFolder) throw new SettingError(`The working folder "${cwd}" is not a folder.`);
}

/** Explains a failed start by naming the command, which Node's own messages do not do clearly. */
export function explainSpawn(error: unknown, launch: StdioLaunch): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const { command } = launch;
  if (code === 'ENOENT') {
    const why = /[/\\]/u.test(command) ? 'does not exist' : 'was not found on PATH';
    return new SettingError(`The command "${command}" ${why}.`, {
      cause: error,
      missing: { what: 'command', name: command },
    });
  }
  const why = spawnReasons[String(code)];
  if (why === undefined) return error;
  return new SettingError(`The command "${command}" ${why}.`, { cause: error });
}

const spawnReasons: Readonly<Record<string, string>> = {
  EACCES: 'is not executable; if it is a program, make it so with chmod +x',
  UNSAFE_ARGUMENT:
    'is a script for cmd.exe, to which an argument cannot be passed safely: it holds "%", a line break, or a quotation mark beside one of & | < > ^ ( ); start the program itself, such as node with the path of its file, or put the value into "env"',
  ERR_INVALID_ARG_VALUE:
    'cannot be started: the command is empty, or it, an argument or the environment holds a null character',
  E2BIG: 'cannot be started: its arguments and environment are too large',
  EMFILE: 'cannot be started: too many files are open',
  ENFILE: 'cannot be started: too many files are open on this machine',
  EAGAIN: 'cannot be started: too many processes are running',
};
