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
  type ServerStatus,
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

interface ScenarioContext {
  readonly toolCalls?: readonly WantedCall[];
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly issuer?: string;
  readonly idp_client_id?: string;
  readonly idp_id_token?: string;
  readonly idp_issuer?: string;
  readonly valid_jwt?: string;
}

/** What a user would write into the settings for a scenario. */
function loginSettings(scenario: string, given: ScenarioContext) {
  const { client_id: clientId, client_secret: clientSecret, valid_jwt: assertion } = given;
  if (scenario === 'auth/basic-cimd') return { clientMetadataUrl };
  if (clientId === undefined) return undefined;
  const client = {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(given.issuer !== undefined && { issuer: given.issuer }),
  };
  if (assertion !== undefined) return { ...client, grant: 'workload', assertion };
  if (given.private_key_pem !== undefined)
    return {
      ...client,
      grant: 'client_credentials',
      privateKey: given.private_key_pem,
      algorithm: given.signing_algorithm,
    };
  if (given.idp_issuer !== undefined) {
    const { idp_issuer: issuer, idp_client_id: idpClient, idp_id_token: idToken } = given;
    return { ...client, grant: 'enterprise', identity: { issuer, clientId: idpClient, idToken } };
  }
  return scenario.includes('client-credentials')
    ? { ...client, grant: 'client_credentials' }
    : client;
}

// The suite's issuers accept this one.
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
// As many as the scenario about repeated demands may see.
const maxLogins = 3;

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
async function beClient({ scenario, url, revision, context = '{}' }: Scenario): Promise<void> {
  const given = JSON.parse(context) as ScenarioContext;
  const { toolCalls } = given;
  // Some of the suite's servers do not answer the era probe.
  const era = revision < '2026-07-28' ? 'legacy' : 'modern';
  const troupe = createTroupe({
    bare: true,
    settings: { mcpServers: { server: { url, era, oauth: loginSettings(scenario, given) } } },
    onQuestion: ({ kind }) =>
      kind === 'form' ? { action: 'accept', content: {} } : { action: 'decline' },
  });
  troupe.on('auth.started', ({ url: address }) => void consent(address));
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
  } catch (error) {
    // The user sees the reason; the suite judges whether the refusal is right.
    if (!(error instanceof TroupeError) || error.code !== 'AUTH_REQUIRED') throw error;
  } finally {
    await troupe.stop();
  }
}

async function isReady(troupe: Troupe): Promise<void> {
  await troupe.ready();
  const { state, lastError } = await settled(troupe);
  if (state === 'authRequired') return loggedIn(troupe);
  if (resting.has(state)) throw new Error(`${state}: ${lastError?.message ?? 'no reason'}`);
}

async function settled(troupe: Troupe): Promise<ServerStatus> {
  return new Promise((resolve) => {
    const check = (): void => {
      const status = troupe.status('server');
      if (status !== undefined && (resting.has(status.state) || isUsable(status))) resolve(status);
    };
    troupe.on('status.changed', check);
    check();
  });
}

const isUsable = ({ state }: ServerStatus): boolean => state === 'ready' || state === 'degraded';

/** Logs in as often as the server demands it. */
async function loggedIn(troupe: Troupe): Promise<void> {
  for (let logins = 0; logins < maxLogins; logins += 1) {
    const status = await troupe.login('server', limit);
    if (isUsable(status)) return;
  }
  throw new TroupeError('AUTH_REQUIRED', 'the server demands one login after another');
}

/** A user who consents to everything, without a browser. */
async function consent(address: string): Promise<void> {
  const answer = await fetch(address, { redirect: 'manual' });
  const back = answer.headers.get('location');
  if (back !== null) await fetch(back);
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
    await tryOut(callLoggedIn(troupe, name, args));
  for (const { uri } of troupe.resources()) await tryOut(troupe.readResource('server', uri, limit));
  for (const { name } of troupe.prompts())
    await tryOut(troupe.getPrompt('server', name, {}, limit));
}

/** Calls a tool, once more after a login that the call needs. */
async function callLoggedIn(
  troupe: Troupe,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  try {
    return await troupe.callServerTool('server', name, args, limit);
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'AUTH_REQUIRED') throw error;
    await loggedIn(troupe);
    return troupe.callServerTool('server', name, args, limit);
  }
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
