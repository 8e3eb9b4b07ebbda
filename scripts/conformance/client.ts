/**
 * The client for the conformance suite, which knows little about its scenarios. Through the public
 * interface it lists everything, calls each tool with arguments built from its schema, reads each
 * resource, gets each prompt and accepts every form unchanged. Two scenarios need special arguments.
 *
 * The suite starts a program for each scenario, all at once. That program only relays to this
 * process, where the library is loaded once.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';

import {
  createTroupe,
  type ExposedTool,
  type ServerState,
  type Troupe,
  TroupeError,
  type TroupeEventName,
} from '../../src/index.ts';
import { root } from './suite.ts';

interface Scenario {
  readonly scenario: string;
  readonly url: string;
  /** A date. */
  readonly revision: string;
  /** The suite's input for a client, as JSON. */
  readonly context?: string;
}

/** Starts the HTTP server that the relays call. */
export async function startClientHost() {
  /** Why the client failed, by scenario. */
  const troubles = new Map<string, string>();
  const server = createServer((request, response) => {
    void (async () => {
      const scenario = JSON.parse(await text(request)) as Scenario;
      try {
        await beClient(scenario);
        response.end();
      } catch (error) {
        const trouble = error instanceof Error ? error.message : String(error);
        troubles.set(scenario.scenario, trouble);
        response.writeHead(500).end(`${trouble}\n`);
      }
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    /** Started by the suite, which cannot handle a path with a space. */
    command: `${process.execPath} ${path.join(root, 'scripts', 'conformance-relay.mjs')}`,
    env: { CONFORMANCE_HOST: `http://127.0.0.1:${port}` },
    troubles,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface WantedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

// All scenarios run at the same time, which is slow on a busy machine; the suite's own limit is longer.
const limit = { timeoutMs: 60_000 };
// No scenario that checks lists needs longer.
const sideListMs = 5_000;

/** A server in one of these states becomes ready only after user action. */
const resting: ReadonlySet<ServerState> = new Set(['authRequired', 'blocked', 'failed']);

/** @throws when the server does not become ready, or a call gets no answer */
async function beClient({ url, revision, context = '{}' }: Scenario): Promise<void> {
  const { toolCalls } = JSON.parse(context) as { readonly toolCalls?: readonly WantedCall[] };
  // Some of the suite's servers do not answer the era probe.
  const era = revision < '2026-07-28' ? 'legacy' : 'modern';
  const troupe = createTroupe({
    bare: true,
    settings: { mcpServers: { server: { url, era } } },
    onQuestion: ({ kind }) =>
      kind === 'form' ? { action: 'accept', content: {} } : { action: 'decline' },
  });
  const sideLists = {
    resources: happens(troupe, 'resources.changed'),
    prompts: happens(troupe, 'prompts.changed'),
  };
  try {
    await isReady(troupe);
    const { capabilities = {} } = troupe.profile('server') ?? {};
    // A ready server has listed its tools; the other lists follow.
    if ('resources' in capabilities) await sideLists.resources;
    if ('prompts' in capabilities) await sideLists.prompts;
    await useAll(troupe, toolCalls);
  } finally {
    await troupe.stop();
  }
}

async function isReady(troupe: Troupe): Promise<void> {
  const rest = new AbortController();
  troupe.on('status.changed', ({ status: { state, lastError } }) => {
    if (resting.has(state)) rest.abort(new Error(`${state}: ${lastError?.message ?? 'no reason'}`));
  });
  await troupe.waitFor('server', 'ready', { ...limit, signal: rest.signal }).catch((error) => {
    throw rest.signal.aborted ? rest.signal.reason : error;
  });
}

function happens(troupe: Troupe, name: TroupeEventName): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, sideListMs).unref();
    troupe.on(name, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function useAll(troupe: Troupe, wanted?: readonly WantedCall[]): Promise<void> {
  for (const { name, arguments: args } of wanted ?? callsOf(troupe.tools()))
    await tryOut(troupe.callServerTool('server', name, args, limit));
  for (const { uri } of troupe.resources()) await tryOut(troupe.readResource('server', uri, limit));
  for (const { name } of troupe.prompts())
    await tryOut(troupe.getPrompt('server', name, {}, limit));
}

/** An error from the server is a valid answer. */
async function tryOut(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof TroupeError) || error.rpcCode === undefined) throw error;
  }
}

function callsOf(tools: readonly ExposedTool[]): readonly WantedCall[] {
  const focal = tools.find(({ tool }) => tool === 'json_schema_2020_12_tool');
  return tools.map(({ tool, inputSchema }) => ({
    name: tool,
    arguments:
      // The scenario checks a schema that passed through the client.
      tool === 'json_schema_echo' && focal !== undefined
        ? { schema: focal.inputSchema }
        : argumentsFor(inputSchema),
  }));
}

const examples: Readonly<Record<string, unknown>> = {
  string: 'text',
  number: 2,
  integer: 2,
  boolean: true,
  array: [],
  object: {},
};

/** An example value for each required argument. */
function argumentsFor({ properties = {}, required = [] }: ExposedTool['inputSchema']) {
  const types = properties as Readonly<Record<string, { readonly type?: string }>>;
  const names = required as readonly string[];
  return Object.fromEntries(names.map((name) => [name, examples[types[name]?.type ?? 'string']]));
}
