/**
 * The server that `mcp.dockerGateway` adds: Docker's own MCP gateway, which serves
 * all servers of Docker's catalogue. It is a source of settings like any other.
 */

import type { StdioSpec } from '../domain/server-spec.ts';
import type { SourceRef } from '../domain/settings.ts';
import { fingerprintOf } from '../policies/fingerprint.ts';
import { defaultPolicy } from '../policies/presets/default-policy.ts';
import { isPrivileged, type ParsedServer, withPolicy } from './entry/server-entry.ts';
import { placeOfKey } from './limits.ts';
import type { ParsedDocument, ParsedSettings } from './parse-settings.ts';

/** The name that Docker itself gives the gateway in the settings of its clients. */
const dockerGatewayName = 'MCP_DOCKER';

/** The result of querying Docker: the gateway is available, or what is missing. */
export type DockerFinding =
  | { readonly isThere: true }
  | {
      readonly isThere: false;
      readonly lack: keyof typeof lacks;
      /** The query that failed, or Docker's own message; may be empty. */
      readonly said: string;
    };

/** The setting that counts, and its place. */
interface DockerGatewayChoice {
  readonly wish: true | 'auto';
  readonly file: string;
  readonly source: SourceRef;
}

// The original stops its gateway after five idle minutes, which frees the containers it holds.
const idleStopMs = 300_000;

/**
 * Deadline of one query to Docker. Three seconds: a healthy daemon answers in a
 * fraction of one, and a hanging daemon never answers.
 */
export const dockerAnswerMs = 3_000;

/**
 * Finds the setting that requests the gateway; undefined without one, or when the
 * user's own settings have a server of that name, which then wins.
 *
 * @param documents - lowest precedence first; a folder's settings may not request it
 */
export function dockerGatewayChoice(
  documents: readonly ParsedDocument[],
): DockerGatewayChoice | undefined {
  const own = documents.filter(({ scope }) => isPrivileged(scope));
  const last = own.findLast(({ mcp }) => mcp.dockerGateway !== undefined);
  const wish = last?.mcp.dockerGateway ?? false;
  if (last === undefined || wish === false) return undefined;
  const isTaken = own.some(({ servers }) =>
    servers.some((it) => it.desired.name === dockerGatewayName && it.isMisnamed !== true),
  );
  if (isTaken) return undefined;
  return { wish, file: last.file, source: placeOfKey(last, 'dockerGateway') };
}

/**
 * Returns the gateway as a source with one server, or with the problem that prevents it.
 * Until Docker has answered, the gateway counts as available. `variables` are the names of the
 * variables that the `docker` program needs.
 */
export function dockerGatewaySource(
  { wish, file, source }: DockerGatewayChoice,
  {
    projectRoot,
    variables,
    finding,
  }: {
    readonly projectRoot: string;
    readonly variables: readonly string[];
    readonly finding: DockerFinding | undefined;
  },
): ParsedSettings {
  if (finding?.isThere === false) {
    const { lack, said } = finding;
    if (wish === 'auto' && (lack === 'program' || lack === 'command')) return { problems: [] };
    const [why, next] = lacks[lack](said);
    const { key, line } = source;
    const server = dockerGatewayName;
    const message = `server ${server} is not available: ${why}; ${next}, then run troupe reload`;
    // It depends on the machine.
    const severity = 'warning';
    const place = { file, ...(line !== undefined && { line }), key, server };
    return { problems: [{ ...place, message, severity }] };
  }
  const spec = dockerGatewaySpec(projectRoot, variables);
  return {
    document: { file, scope: source.scope, servers: [serverOf(spec, source)], mcp: {} },
    problems: [],
  };
}

/** The gateway's command. Queries to Docker use the same environment, so that both reach the same Docker. */
export function dockerGatewaySpec(projectRoot: string, variables: readonly string[]): StdioSpec {
  return {
    type: 'stdio',
    command: 'docker',
    args: ['mcp', 'gateway', 'run'],
    env: Object.fromEntries(variables.map((name) => [name, `\${${name}}`])),
    cwd: projectRoot,
    era: 'auto',
  };
}

function serverOf(spec: StdioSpec, source: SourceRef): ParsedServer {
  const policy: ParsedServer['policy'] = {
    // Lazy whatever the troupe's policy: a gateway that starts eagerly would start containers.
    overrides: { startup: { mode: 'lazy', required: false }, idle: { stopMs: idleStopMs } },
  };
  return {
    spec,
    policy,
    problems: [],
    desired: withPolicy(defaultPolicy, policy, {
      name: dockerGatewayName,
      generation: fingerprintOf(spec),
      transport: 'stdio',
      enabled: true,
      trust: false,
      tools: { include: ['*'], exclude: [] },
      description: 'The MCP gateway of Docker, with the servers that are enabled there.',
      source,
      gated: false,
    }),
  };
}

/** What is missing, and the next step. */
const lacks = {
  program: (said: string) => [
    `the program "docker" ${said}`,
    'install Docker, or add its folder to PATH',
  ],
  command: (said: string) => [
    `Docker has no command "docker mcp"${inBrackets(said)}`,
    "install Docker's MCP plugin",
  ],
  daemon: (said: string) => [`Docker's daemon does not answer${inBrackets(said)}`, 'start Docker'],
  time: (said: string) => [
    `"${said}" did not end within ${dockerAnswerMs / 1_000} seconds`,
    'run it yourself to see what it waits for',
  ],
  sense: (said: string) => [
    `"${said}" printed something unexpected`,
    'check which "docker" comes first on PATH',
  ],
} as const;

function inBrackets(said: string): string {
  return said === '' ? '' : ` (${said})`;
}
