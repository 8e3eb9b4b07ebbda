/** How the gateway identifies itself to clients. */

import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/server';
import type { ExposedInstructions } from '../domain/catalog.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { printableLine, printableText } from '../domain/data/printable.ts';
import type { ServerProfile } from '../domain/session.ts';
import { version } from '../domain/version.ts';
import { extensionKeys } from '../protocol/meta.ts';
import type { Troupe } from '../runtime/troupe.ts';

export interface GatewayIdentity {
  readonly info: Implementation;
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
}

// The limit for one server's instructions, and for all of them together.
const instructionsCharacters = 16_384;

/** All capabilities, whatever the current servers support: others may be added. */
const everything: ServerCapabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const introductionTo = (named: string): string =>
  `Several MCP servers behind one. ${named} are named {server}__{name}; resource URIs ` +
  'begin with troupe://{server}/. A result with isError that begins with "MCP error:" ' +
  'is not the result of a tool: it says what happened to the call and what to do next.';

/** @param view - the name of the view that is shown; undefined for all servers */
export function identityOfAll(
  servers: readonly ExposedInstructions[],
  view: string | undefined,
): GatewayIdentity {
  // A view names its tools as its settings say.
  const introduction = introductionTo(view === undefined ? 'Tools and prompts' : 'Prompts');
  const title = view === undefined ? 'mcp-troupe' : `mcp-troupe: ${view}`;
  const parts = servers.map(({ server, text }) => `# ${printableLine(server, 128)}\n\n${text}`);
  return {
    info: { name: 'mcp-troupe', title, version },
    capabilities: everything,
    instructions: printableText([introduction, ...parts].join('\n\n'), instructionsCharacters),
  };
}

/** The identity of the one server that is passed through. */
export function identityOfOne(
  troupe: Pick<Troupe, 'instructions'>,
  server: string,
  { capabilities, ...info }: ServerProfile,
): GatewayIdentity {
  const instructions = troupe.instructions().find((each) => each.server === server)?.text;
  const { tools, resources, prompts, completions, logging, experimental } = capabilities;
  const extensions = extensionsOf(capabilities);
  return {
    info: info as Implementation,
    capabilities: {
      // Lists also change with the settings, whatever the server announces.
      ...(tools === undefined ? {} : { tools: { listChanged: true } }),
      ...(resources === undefined
        ? {}
        : {
            resources: {
              listChanged: true,
              subscribe: isRecord(resources) && resources['subscribe'] === true,
            },
          }),
      ...(prompts === undefined ? {} : { prompts: { listChanged: true } }),
      ...(completions === undefined ? {} : { completions: {} }),
      ...(logging === undefined ? {} : { logging: {} }),
      ...(isRecord(experimental) && { experimental }),
      ...(extensions && { extensions }),
    } as ServerCapabilities,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** The server's extensions, but for tasks, whose requests the gateway does not know. */
function extensionsOf({ extensions: offered }: ServerProfile['capabilities']) {
  if (!isRecord(offered)) return undefined;
  const { [extensionKeys.tasks]: _tasks, ...others } = offered;
  return others;
}

/** For a server that is not connected yet; undefined for one that a view leaves out. */
export function unknownIdentity(server = 'mcp-troupe'): GatewayIdentity {
  return {
    info: { name: printableLine(server, 128), version },
    capabilities: everything,
  };
}
