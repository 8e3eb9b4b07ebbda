/**
 * The server that the setting `mcp.dockerGateway` stands for: Docker's own MCP
 * gateway, which speaks for all servers of Docker's catalogue. It is a source
 * among the others, so that nothing but this file knows it as something special.
 */

import type { StdioSpec } from '../domain/server-spec.ts';
import type { Problem, SourceRef } from '../domain/settings.ts';
import { fingerprintOf } from '../policies/fingerprint.ts';
import { defaultPolicy } from '../policies/presets/default-policy.ts';
import { isPrivileged, type ParsedServer, withPolicy } from './entry/server-entry.ts';
import { placeOfKey } from './limits.ts';
import type { ParsedDocument, ParsedSettings } from './parse-settings.ts';

/** The name that Docker itself gives the gateway in the settings of its clients. */
const dockerGatewayName = 'MCP_DOCKER';

/** What came of asking Docker. */
export type DockerFinding =
  | { readonly isThere: true }
  | {
      readonly isThere: false;
      readonly lack: DockerLack;
      /** The question that was answered badly or not, or Docker's own words; may be empty. */
      readonly said: string;
    };

/** What is missing: the program, its command `mcp`, the daemon, an answer in time, one that makes sense. */
export type DockerLack = 'program' | 'command' | 'daemon' | 'time' | 'sense';

/** The wish that counts, and where it stands. */
export interface DockerGatewayChoice {
  readonly wish: true | 'auto';
  readonly file: string;
  readonly source: SourceRef;
}

export interface DockerGatewayFacts {
  readonly projectRoot: string;
  /** Names of variables that the `docker` program wants to see. */
  readonly variables: readonly string[];
  /** Absent while Docker has not answered yet: until then the gateway counts as there. */
  readonly finding: DockerFinding | undefined;
}

// As the model of this mode has it: a gateway holds containers, which a pause of five minutes frees.
const idleStopMs = 300_000;

/**
 * How long one question to Docker may take. Three seconds: both answers take a
 * fraction of one where all is well, and a daemon that hangs never gives one.
 */
export const dockerAnswerMs = 3_000;

/**
 * Says who asks for the gateway; undefined when nobody does, or when settings
 * of the user's own have a server of that name, which then wins.
 *
 * @param documents - lowest precedence first; what a folder brings may not ask for it
 */
export function dockerGatewayChoice(
  documents: readonly ParsedDocument[],
): DockerGatewayChoice | undefined {
  const own = documents.filter(({ scope }) => isPrivileged(scope));
  const isTaken = own.some(({ servers }) =>
    servers.some((it) => it.desired.name === dockerGatewayName && it.isMisnamed !== true),
  );
  const last = own.findLast(({ mcp }) => mcp.dockerGateway !== undefined);
  const wish = last?.mcp.dockerGateway ?? false;
  if (isTaken || last === undefined || wish === false) return undefined;
  return { wish, file: last.file, source: placeOfKey(last, 'dockerGateway') };
}

/** The gateway as a source with one server, or with the reason why it has none. */
export function dockerGatewaySource(
  { wish, file, source }: DockerGatewayChoice,
  { projectRoot, variables, finding }: DockerGatewayFacts,
): ParsedSettings {
  if (finding?.isThere === false) {
    const isNews = wish === true || (finding.lack !== 'program' && finding.lack !== 'command');
    return { problems: isNews ? [problemOf(file, source, finding)] : [] };
  }
  const spec = dockerGatewaySpec(projectRoot, variables);
  return {
    document: { file, scope: source.scope, servers: [serverOf(spec, source)], mcp: {} },
    problems: [],
  };
}

/** How the gateway is started. Docker is asked with the same environment, so that both see one Docker. */
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
    // Whatever the troupe's policy says of others: this server is lazy by its nature.
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

function problemOf(
  file: string,
  { key, line }: SourceRef,
  { lack, said }: Extract<DockerFinding, { readonly isThere: false }>,
): Problem {
  const { why, next } = lacks[lack](said);
  const message = `there is no server ${dockerGatewayName}, because ${why}; ${next}, then reload: troupe reload`;
  return { file, ...(line === undefined ? {} : { line }), key, server: dockerGatewayName, message };
}

const lacks: Readonly<Record<DockerLack, (said: string) => { why: string; next: string }>> = {
  program: (said) => ({
    why: `the program "docker" ${said}`,
    next: 'install Docker or add its folder to PATH',
  }),
  command: (said) => ({
    why: `Docker has no command "docker mcp"${inBrackets(said)}`,
    next: "install Docker's MCP plugin",
  }),
  daemon: (said) => ({
    why: `the daemon of Docker does not answer${inBrackets(said)}`,
    next: 'start Docker',
  }),
  time: (said) => ({
    why: `"${said}" did not end within ${dockerAnswerMs / 1_000} seconds`,
    next: 'see what keeps it by running it yourself',
  }),
  sense: (said) => ({
    why: `"${said}" gave an answer that is not Docker's`,
    next: 'see which "docker" comes first on PATH',
  }),
};

function inBrackets(said: string): string {
  return said === '' ? '' : ` (${said})`;
}
