/**
 * Maps between the servers' items and what clients of the gateway see: all servers with prefixed names, or one
 * server under its own names.
 */

import type {
  CompletionRequest,
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
} from '../domain/catalog.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { closestName } from '../policies/text/closest-name.ts';
import { printableLine } from '../policies/text/printable.ts';
import type { Troupe } from '../runtime/troupe.ts';
import { exposedNames, readingsOf } from './exposed-names.ts';

type Item = Readonly<Record<string, unknown>>;

/** A server and its own name for an item. */
export interface Meant {
  readonly server: string;
  readonly name: string;
}

export interface View {
  tools(): readonly Item[];
  prompts(): readonly Item[];
  resources(): readonly Item[];
  resourceTemplates(): readonly Item[];
  /** @throws TroupeError when no server can be meant. */
  toolNamed(name: string): Meant;
  /** @throws TroupeError when no server can be meant. */
  promptNamed(name: string): Meant;
  /** @throws TroupeError when no server can be meant. */
  resourceAt(address: string): Meant;
  /** The URI of a server's resource as clients see it. */
  addressOf(server: string, uri: string): string;
  /** Blocks of content, or contents of a resource, with URIs as clients see them. */
  blocks(server: string, blocks: readonly Item[]): readonly Item[];
  contents(server: string, contents: readonly Item[]): readonly Item[];
}

/** All servers, with prefixed names. */
export function viewOfAll(troupe: Troupe): View {
  const tools = derived(
    () => troupe.tools(),
    (list) => exposedNames(list.map((tool) => ({ server: tool.server, name: tool.tool, tool }))),
  );
  const prompts = derived(
    () => troupe.prompts(),
    (list) => exposedNames(list),
  );
  const servers = (): readonly string[] => troupe.snapshot().servers.map(({ name }) => name);
  const shownTools = derived(tools, (named) =>
    [...named].map(([name, { tool }]) => toolItem(name, tool)),
  );
  const shownPrompts = derived(prompts, (named) =>
    [...named].map(([name, prompt]) => offerItem(prompt, { name })),
  );
  const shownResources = derived(
    () => troupe.resources(),
    (list) => list.map((each) => offerItem(each, { uri: addressFor(each.server, each.uri) })),
  );
  const shownTemplates = derived(
    () => troupe.resourceTemplates(),
    (list) =>
      list.map((each) =>
        offerItem(each, { uriTemplate: addressFor(each.server, each.uriTemplate) }),
      ),
  );
  return {
    tools: shownTools,
    prompts: shownPrompts,
    resources: shownResources,
    resourceTemplates: shownTemplates,
    toolNamed: (name) => tools().get(name) ?? guess('tool', name, servers(), [...tools().keys()]),
    promptNamed: (name) =>
      prompts().get(name) ?? guess('prompt', name, servers(), [...prompts().keys()]),
    resourceAt(address) {
      const read = readAddress(address);
      if (read !== undefined) return { server: read.server, name: read.uri };
      throw new TroupeError(
        'SERVER_UNKNOWN',
        `No server has the resource ${printableLine(address, 128)}. URIs begin with troupe://SERVER/; see resources/list.`,
      );
    },
    addressOf: addressFor,
    blocks: (server, blocks) => blocks.map((block) => withAddress(server, block)),
    contents: (server, contents) =>
      contents.map((each) =>
        typeof each['uri'] === 'string' ? { ...each, uri: addressFor(server, each['uri']) } : each,
      ),
  };
}

/** One server, under its own names. */
export function viewOfOne(troupe: Troupe, server: string): View {
  const own = <Listed extends { readonly server: string }>(list: readonly Listed[]) =>
    list.filter((each) => each.server === server);
  const meant = (name: string): Meant => ({ server, name });
  return {
    tools: derived(
      () => troupe.tools(),
      (list) => own(list).map((tool) => toolItem(tool.tool, tool)),
    ),
    prompts: derived(
      () => troupe.prompts(),
      (list) => own(list).map((each) => offerItem(each)),
    ),
    resources: derived(
      () => troupe.resources(),
      (list) => own(list).map((each) => offerItem(each)),
    ),
    resourceTemplates: derived(
      () => troupe.resourceTemplates(),
      (list) => own(list).map((each) => offerItem(each)),
    ),
    toolNamed: meant,
    promptNamed: meant,
    resourceAt: meant,
    addressOf: (_server, uri) => uri,
    blocks: (_server, blocks) => blocks,
    contents: (_server, contents) => contents,
  };
}

/** The reference of a completion, with the server's own names. */
export function refOf(view: View, ref: CompletionRequest['ref']): Meant & CompletionRequestRef {
  if (ref.type === 'ref/prompt') {
    const meant = view.promptNamed(ref.name);
    return { ...meant, ref: { type: 'ref/prompt', name: meant.name } };
  }
  const meant = view.resourceAt(ref.uri);
  return { ...meant, ref: { type: 'ref/resource', uri: meant.name } };
}

type CompletionRequestRef = Pick<CompletionRequest, 'ref'>;

/** A server's result, with URIs as clients see them. */
export function shownResult(view: View, server: string, result: ToolResult): Item {
  return { ...result, content: view.blocks(server, result.content) };
}

function toolItem(name: string, tool: ExposedTool): Item {
  const { title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

type Offered = ExposedPrompt | ExposedResource | ExposedResourceTemplate;

/** What the server announced, without our additions. */
function offerItem(listed: Offered, own: Item = {}): Item {
  const { server: _server, catalog: _catalog, ...item } = listed;
  return { ...item, ...own };
}

/** Guesses the server of an unknown name, which may belong to a server that is still starting. */
function guess(
  kind: 'tool' | 'prompt',
  name: string,
  servers: readonly string[],
  known: readonly string[],
): Meant {
  const [reading] = readingsOf(name, servers);
  if (reading !== undefined) return reading;
  const separator = name.indexOf('__');
  // Perhaps of a removed server; the runtime then reports that.
  if (separator > 0 && separator < name.length - 2)
    return { server: name.slice(0, separator), name: name.slice(separator + 2) };
  throw unknownName(kind, name, known);
}

/** The error for an unknown name. */
export function unknownName(
  kind: 'tool' | 'prompt',
  name: string,
  known: readonly string[],
): TroupeError {
  const closest = closestName(name, known);
  const hint = closest === undefined ? `See ${kind}s/list.` : `Did you mean ${closest}?`;
  const shown = printableLine(name, 128);
  return new TroupeError('TOOL_UNKNOWN', `There is no ${kind} ${shown}. ${hint}`, {
    ...(kind === 'tool' ? { tool: shown } : {}),
  });
}

/** Caches a value until its source is a different object. */
function derived<Source extends object, Value>(
  source: () => Source,
  make: (present: Source) => Value,
): () => Value {
  let last: { readonly source: Source; readonly value: Value } | undefined;
  return () => {
    const present = source();
    if (last?.source !== present) last = { source: present, value: make(present) };
    return last.value;
  };
}

// Servers may use the same URI for different things, so clients see `troupe://db/note://all`. A template remains
// a template, because the prefix contains no braces.
const scheme = 'troupe://';

interface ResourceAddress {
  readonly server: string;
  /** The server's own URI. */
  readonly uri: string;
}

function addressFor(server: string, uri: string): string {
  return `${scheme}${encodeURIComponent(server)}/${uri}`;
}

/** Undefined for a URI that no gateway made. */
function readAddress(address: string): ResourceAddress | undefined {
  if (!address.startsWith(scheme)) return undefined;
  const end = address.indexOf('/', scheme.length);
  const uri = address.slice(end + 1);
  if (end === -1 || uri === '') return undefined;
  try {
    return { server: decodeURIComponent(address.slice(scheme.length, end)), uri };
  } catch {
    return undefined;
  }
}

/** A block of content with its URI, if it has one, as clients see it. */
function withAddress(server: string, block: Item): Item {
  const { type, uri, resource } = block;
  if (type === 'resource_link' && typeof uri === 'string')
    return { ...block, uri: addressFor(server, uri) };
  if (type === 'resource' && isRecord(resource) && typeof resource['uri'] === 'string')
    return { ...block, resource: { ...resource, uri: addressFor(server, resource['uri']) } };
  return block;
}
