/**
 * The client for the conformance suite, which knows little about its scenarios. Through the public
 * interface it lists everything, calls each tool with arguments built from its schema, reads each
 * resource, gets each prompt and accepts every form unchanged. Two scenarios need special arguments.
 */

import {
  createTroupe,
  type ExposedTool,
  type ServerState,
  type Troupe,
  TroupeError,
  type TroupeEventName,
} from '../../src/index.ts';

export interface Scenario {
  readonly url: string;
  /** A date, as revisions are. */
  readonly revision: string;
  /** JSON; what the suite wants a client to know. */
  readonly context?: string;
}

interface WantedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

// All scenarios run at once, which takes a busy machine long; the suite's own limit is longer.
const limit = { timeoutMs: 60_000 };
// No scenario that checks lists needs longer.
const sideListMs = 5_000;

/** A server in one of these states becomes ready only after user action. */
const resting: ReadonlySet<ServerState> = new Set(['authRequired', 'blocked', 'failed']);

/** @throws when the server did not become ready, or a call had no answer */
export async function beClient({ url, revision, context = '{}' }: Scenario): Promise<void> {
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
